package cli

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/pbt/explore"
)

// bilinear are the settings of a registered network: two linear layers, one after the other.
type bilinear struct {
	// Width is that of the first.
	Width int `yaml:"width" config:"min=1"`
}

func init() {
	models.Register("Bilinear", bilinear{Width: 8}, func(s bilinear, r models.Role) (models.Network, error) {
		return models.NewMLP(models.MLPConfig{Inputs: r.Spaces.Observation.Width(), Outputs: r.Outputs,
			Hidden: []int{s.Width}}, r.Seed)
	})
	if err := explore.RegisterRule(explore.NewRule("to_one",
		func(float64, explore.RuleInput) float64 { return 1 })); err != nil {
		panic(err)
	}
}

// TestList checks that registered environments, models and rules stand in the list beside gorl's own, with their
// settings.
func TestList(t *testing.T) {
	all, _ := gorl(t, 0, "list")
	for _, want := range []string{
		`(?m)^Stopping +at +0$`, `(?m)^CartPole +max_episode_steps +0$`, `(?m)^ +render ` +
			`+\{"height":320,"title":"","width":320\}$`, `(?m)^ +start_timeout +2m0s$`,
		`(?m)^normalize_reward +discount +0$`, `(?m)^clip_action +high +null$`, `(?m)^rescale_action *$`,
		`(?m)^Gaussian +clip_actions +false$`, `(?m)^Bilinear +width +8$`, `(?m)^to_one *$`, `(?m)^mutate_float *$`,
	} {
		matches(t, all, want)
	}
	if models, _ := gorl(t, 0, "list", "models"); !strings.Contains(models, "Bilinear") ||
		strings.Contains(models, "CartPole") || !strings.Contains(all, models) {
		t.Errorf("the models are\n%s", models)
	}
	if _, stderr := gorl(t, commandline.WrongUse, "list", "model"); !strings.Contains(stderr, `did you mean "models"`) {
		t.Error(stderr)
	}
}

// TestRegisteredModel trains with a registered network, whose settings are checked and stand in run.yaml.
func TestRegisteredModel(t *testing.T) {
	here(t, "short.yaml", strings.Replace(short, "{mlp: [16], activation: tanh}",
		"{policy: {class: Bilinear, width: 4}, value: {class: Bilinear}}", 1))
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--seed", "2")
	c, err := readConfiguration("runs/pole/run.yaml", nil)
	if err != nil || lookup(c, "models.policy.width") != 4 || lookup(c, "models.value.width") != 8 {
		t.Errorf("%v, the models are %v", err, c["models"])
	}
	if shape := loaded(t, "runs/pole/checkpoints/agent_96.safetensors")["policy/net.0.weight"].Shape; len(shape) != 2 ||
		shape[0] != 4 {
		t.Errorf("the policy's first layer has the shape %v", shape)
	}
	gorl(t, 0, "train", "-c", "runs/pole/run.yaml", "-q")
	gorl(t, 0, "eval", "runs/pole", "-e", "2")
	for set, words := range map[string]string{
		"models.policy.width=0": `models.policy.width is 0`, "models.policy.with=3": `mean "models.policy.width"`,
		"models.policy.class=Bilinaer": `did you mean "Bilinear"`, "models.separate=false": "has no trunk to share",
	} {
		if _, said := gorl(t, commandline.WrongUse, "train", "-c", "short.yaml", "--check", "--set",
			set); !strings.Contains(said, words) {
			t.Errorf("%s: %s", set, said)
		}
	}
}
