package docgen_test

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/docgen"
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

var update = flag.Bool("update", false, "write the tables of settings in docs anew")

// tables are the generated parts of the reference, by page and marker. Those of the presets' keys, whose structs are not
// exported, are in package preset's tests.
var tables = []struct {
	page, name     string
	defaults, base any // with a base, only what differs from it
}{
	{"reference/ppo.md", "ppo settings", ppo.DefaultConfig(), nil},
	{"reference/ppo.md", "gaussian settings", models.DefaultGaussianConfig(), nil},
	{"reference/ppo.md", "scaler settings", preprocessors.DefaultScalerConfig(), nil},
	{"reference/ppo.md", "kl settings", klAdaptive(), nil},
	{"reference/ppo.md", "linear settings", linear(), nil},
	{"reference/ppo.md", "cosine settings", schedulers.CosineConfig{Limits: limits}, nil},
	{"reference/ppo.md", "step settings", schedulers.StepConfig{Gamma: 0.1, Limits: limits}, nil},
	{"reference/ppo.md", "exponential settings", schedulers.ExponentialConfig{Limits: limits}, nil},
	{"reference/ppo.md", "constant settings", schedulers.ConstantConfig{Factor: 1, Limits: limits}, nil},
	{"reference/amp.md", "amp settings", amp.DefaultConfig(), ppo.DefaultConfig()},
	{"reference/amp.md", "mean abs settings", preprocessors.DefaultMeanAbsConfig(), nil},
	{"reference/training.md", "trainer settings", trainers.DefaultConfig(), nil},
	{"reference/training.md", "distributed settings", distributed.DefaultConfig(), nil},
	{"reference/training.md", "wandb settings", trackers.DefaultWandB(), nil},
	{"reference/training.md", "mlflow settings", trackers.DefaultMLflow(), nil},
	{"reference/pbt-cluster.md", "launcher settings", launch.DefaultConfig(), nil},
	{"reference/pbt-cluster.md", "toleration settings", launch.Toleration{}, nil},
}

// limits are what schedulers.New begins with, where a dictionary says nothing.
var limits = schedulers.Limits{Warmup: schedulers.Warmup{Factor: schedulers.DefaultWarmupFactor}}

func klAdaptive() schedulers.KLAdaptiveConfig {
	c := schedulers.DefaultKLAdaptive()
	c.Warmup = limits.Warmup
	return c
}

func linear() schedulers.LinearConfig {
	c := schedulers.DefaultLinear()
	c.Limits = limits
	return c
}

// TestScheduleDefaults holds the defaults above to what schedulers.New does without a word.
func TestScheduleDefaults(t *testing.T) {
	const base = 1e-3
	for name, kwargs := range map[string]map[string]any{
		"KLAdaptiveLR": {"warmup_steps": 10}, "LinearLR": {"warmup_steps": 10}, "CosineLR": {"warmup_steps": 10, "T_max": 5},
		"StepLR": {"warmup_steps": 10, "step_size": 5}, "ExponentialLR": {"warmup_steps": 10, "gamma": 0.9}, "ConstantLR": {"warmup_steps": 10},
	} {
		s, err := schedulers.New(name, base, kwargs)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.LearningRate(); math.Abs(got/base-limits.Factor) > 1e-9 {
			t.Errorf("%s begins a warm-up at %g, the guide says %g times the base rate", name, got/base, limits.Factor)
		}
	}
}

func TestTablesMatchTheCode(t *testing.T) {
	for _, x := range tables {
		t.Run(x.name, func(t *testing.T) {
			list, err := docgen.Settings(root, module, x.defaults)
			if err != nil {
				t.Fatal(err)
			}
			if x.base != nil {
				base, err := docgen.Settings(root, module, x.base)
				if err != nil {
					t.Fatal(err)
				}
				list = docgen.Differing(list, base)
			}
			holds(t, x.page, x.name, docgen.Table(list))
		})
	}
}

// TestFormulasNameSettings checks that what the guides say of an update names every setting that takes part in it.
func TestFormulasNameSettings(t *testing.T) {
	elsewhere := regexp.MustCompile(`^(experiment\..*|.*_kwargs|compatibility|device|cuda_graphs|mixed_precision|mixed_precision_dtype)$`)
	for _, x := range tables {
		if x.name != "ppo settings" && x.name != "amp settings" {
			continue
		}
		_, section, _ := strings.Cut(read(t, filepath.Join(root, "docs", filepath.Base(x.page))), "\n## What an update computes\n")
		section, _, _ = strings.Cut(section, "\n## ")
		list, err := docgen.Settings(root, module, x.defaults)
		if err != nil {
			t.Fatal(err)
		}
		if x.base != nil {
			base, err := docgen.Settings(root, module, x.base)
			if err != nil {
				t.Fatal(err)
			}
			list = docgen.Differing(list, base)
		}
		for _, s := range list {
			if !elsewhere.MatchString(s.Key) && !regexp.MustCompile(`\b`+s.Key+`\b`).MatchString(section) {
				t.Errorf("%s: the formulas do not say what %s does", filepath.Base(x.page), s.Key)
			}
		}
	}
}

// holds checks that a page has a table, or writes it.
func holds(t *testing.T, page, name, table string) {
	t.Helper()
	if err := docgen.Hold(filepath.Join(root, "docs", page), name, table, *update); err != nil {
		t.Fatal(err)
	}
}

func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("<!-- begin x -->\nold\n<!-- end x -->\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := docgen.Hold(path, "x", "new\n", false); err == nil || !strings.Contains(err.Error(), "-update") {
		t.Errorf("a page that has drifted gave %v", err)
	}
	for _, update := range []bool{true, false} {
		if err := docgen.Hold(path, "x", "new\n", update); err != nil {
			t.Error(err)
		}
	}
	if err := docgen.Hold(path, "y", "new\n", true); err == nil {
		t.Error("a page without the place gave no error")
	}
}

// settings is a configuration of every shape that the generator knows.
type settings struct {
	// Rate is the speed; see [Inner]. "Rate" stays.
	Rate float64 `yaml:"rate" config:"gt=0"`
	// First and Second are two of a kind.
	First  string `yaml:"first" config:"oneof=|a"`
	Second int    `yaml:"second"`
	// Inner is a section.
	Inner inner `yaml:"inner"`
	// Hidden is no setting.
	Hidden func() `yaml:"-"`
}

type inner struct {
	// List holds numbers below Rate.
	List []float64 `yaml:"list"`
}

func TestSettings(t *testing.T) {
	types := settings{Rate: 1e-3, Second: 4, Inner: inner{List: []float64{0.5}}}
	// This file is a test, which the generator does not read.
	if _, err := docgen.Settings(root, module, types); err == nil {
		t.Error("a struct without source gave no error")
	}
	dir := t.TempDir()
	source, err := os.ReadFile("tables_test.go")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "internal", "docgen_test")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "settings.go"), source, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := docgen.Settings(dir, module, types)
	if err != nil {
		t.Fatal(err)
	}
	want := []docgen.Setting{
		{Key: "rate", Default: "`0.001`", Allowed: "a number > 0", Meaning: "`rate` is the speed; see `Inner`. \"Rate\" stays."},
		{Key: "first", Default: "none", Allowed: "\"\" or \"a\"", Meaning: "`first` and `second` are two of a kind."},
		{Key: "second", Default: "`4`", Allowed: "an integer", Same: "first"},
		{Key: "inner.list", Default: "`0.5`", Allowed: "a list of numbers", Meaning: "`inner.list` holds numbers below `rate`."},
	}
	for i := range got {
		if i < len(want) {
			want[i].Allowed = got[i].Allowed // package config's own tests fix the words
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// TestDefaults fixes how defaults are shown.
func TestDefaults(t *testing.T) {
	type defaults struct {
		Time    time.Duration     `yaml:"time"`
		Long    time.Duration     `yaml:"long"`
		List    []float64         `yaml:"list"`
		Map     map[string]string `yaml:"map"`
		Nothing map[string]string `yaml:"nothing"`
		Pointer *float64          `yaml:"pointer"`
		Any     any               `yaml:"any"`
	}
	got := map[string]string{}
	for _, k := range config.Keys(defaults{Time: 10 * time.Minute, Long: 90 * time.Second, List: []float64{1.1, 2}, Map: map[string]string{"b": "2", "a": "1"}}) {
		got[k.Key] = docgen.Show(k.Default)
	}
	want := map[string]string{"time": "`10m`", "long": "`1m30s`", "list": "`[1.1, 2]`", "map": "`{a: 1, b: 2}`", "nothing": "none", "pointer": "none", "any": "none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestReplace(t *testing.T) {
	page := "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
	got, err := docgen.Replace(page, "x", "new\n")
	if want := "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"; err != nil || got != want {
		t.Errorf("Replace = %q, %v; want %q", got, err, want)
	}
	for _, broken := range []string{"a\n", "<!-- begin x -->\nno end\n"} {
		if _, err := docgen.Replace(broken, "x", ""); err == nil {
			t.Errorf("Replace(%q) gave no error", broken)
		}
	}
}
