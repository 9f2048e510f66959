package docgen_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/tracking/trackers"
	"github.com/gorl-dev/gorl/trainers"
)

const (
	root   = "../.."
	module = "github.com/gorl-dev/gorl"
)

var update = flag.Bool("update", false, "write the tables of settings in docs")

// Tables of structs that are not exported are in the tests of their packages.
func TestTablesMatchTheCode(t *testing.T) {
	kl, linear := schedulers.DefaultKLAdaptive(), schedulers.DefaultLinear()
	kl.Warmup, linear.Limits = limits.Warmup, limits
	for page, tables := range map[string][]docgen.Listed{
		"reference/ppo.md": {
			{Name: "ppo settings", Defaults: ppo.DefaultConfig()},
			{Name: "gaussian settings", Defaults: models.DefaultGaussianConfig()},
			{Name: "scaler settings", Defaults: preprocessors.DefaultScalerConfig()},
			{Name: "kl settings", Defaults: kl, Common: []any{limits.Warmup}},
			{Name: "curve settings", Defaults: limits},
			{Name: "linear settings", Defaults: linear, Common: []any{limits}},
			{Name: "cosine settings", Defaults: schedulers.CosineConfig{Limits: limits}, Common: []any{limits}},
			{Name: "step settings", Defaults: schedulers.StepConfig{Gamma: 0.1, Limits: limits}, Common: []any{limits}},
			{Name: "exponential settings", Defaults: schedulers.ExponentialConfig{Limits: limits},
				Common: []any{limits}},
			{Name: "constant settings", Defaults: schedulers.ConstantConfig{Factor: 1, Limits: limits},
				Common: []any{limits}},
		},
		"reference/amp.md": {
			{Name: "amp settings", Defaults: amp.DefaultConfig(), Common: []any{ppo.DefaultConfig()}},
			{Name: "mean abs settings", Defaults: preprocessors.DefaultMeanAbsConfig()},
		},
		"reference/training.md": {
			{Name: "trainer settings", Defaults: trainers.DefaultConfig()},
			{Name: "distributed settings", Defaults: distributed.DefaultConfig()},
			{Name: "wandb settings", Defaults: trackers.DefaultWandB()},
			{Name: "mlflow settings", Defaults: trackers.DefaultMLflow()},
		},
		"reference/pbt-cluster.md": {
			{Name: "launcher settings", Defaults: launch.DefaultConfig()},
			{Name: "toleration settings", Defaults: launch.Toleration{}},
		},
	} {
		docgen.HoldTables(t, root, page, *update, tables...)
	}
}

// limits are the defaults of schedulers.New.
var limits = schedulers.Limits{Warmup: schedulers.Warmup{Factor: schedulers.DefaultWarmupFactor}}

func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	must.Do(t, os.WriteFile(path, []byte("<!-- begin x -->\nold\n<!-- end x -->\n"), 0o644))
	must.Refuse(t, docgen.Hold(path, "x", "new\n", false), "-update")
	for _, update := range []bool{true, false} {
		must.Do(t, docgen.Hold(path, "x", "new\n", update))
	}
	must.Refuse(t, docgen.Hold(path, "y", "new\n", true), "has no lines")
}
