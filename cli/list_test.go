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

// TestList checks the overview, and that registered environments, models and rules stand beside gorl's own with keys,
// defaults, limits and meanings.
func TestList(t *testing.T) {
	for call, patterns := range map[string][]string{
		"list": {`(?m)^environments +environment.id +Acrobot, .*CartPole, CartPolePixels`,
			`(?m)^agents +agent.class +AMP, IPPO, MAPPO, PPO$`, `Bilinear`,
			`(?m)^pbt +preset +isaacgymenvs, isaaclab,`, "gorl list KIND"},
		"list environments": {`(?m)^Stopping `, `(?m) at +0 `,
			`(?m)^CartPole +num_envs +1 +integer in \[1, 1048576\] +the number of`,
			`(?m)^ +render.height +320 `, `(?m)^ +start_timeout +2m0s +duration`, `(?m)^gymnasium:<id> +num_envs`},
		"list wrappers": {`(?m)^clip_action +low +null`, `(?m)^rescale_action$`,
			`(?m)^normalize_reward +discount +0 +number in \[0, 1\] +the agent's discount_factor; required.$`},
		"list models": {`(?m)^Gaussian +class`, `(?m)^ +clip_actions +false`, `(?m)^Bilinear +width +8 +integer ≥ 1`},
		"list rules":  {`(?m)^to_one$`, `(?m)^mutate_float$`},
		"list agents ppo": {`(?m)^PPO +rollouts +16 +integer ≥ 1 +the number of timesteps between updates, T.$`,
			`(?m)^ +optimizer +"adam" +"adam", "adamw", "sgd"`},
		"list trainer": {`(?m)^trainer +timesteps +100000 `,
			`(?m) checkpoint_interval +"auto" +"auto", integer ≥ 0`},
		"list pbt isaaclab":      {`(?m)^ +threshold_std +0.1 +number ≥ 0 +the margin around the mean`},
		"list environments brax": {`(?m)^brax:<id> +num_envs`},
	} {
		stdout, _ := gorl(t, 0, strings.Fields(call)...)
		matches(t, stdout, patterns...)
	}
	refuses(t, commandline.WrongUse, [][2]string{
		{"list model", `did you mean "models"`}, {"list agents PP", `did you mean "PPO"`}})
}
