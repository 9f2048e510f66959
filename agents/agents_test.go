package agents_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

func ExampleDefaultOnPolicy() {
	c := agents.DefaultOnPolicy()
	fmt.Println(c.Rollouts, c.DiscountFactor, c.GAELambda, c.RatioClip, c.TimeLimitBootstrap)
	// Output: 16 0.99 0.95 0.2 true
}

// The learning rate of a mutated copy is its own.
func ExampleAssign() {
	c := agents.DefaultOnPolicy()
	c.LearningRate = []float64{1e-3}
	err := agents.Assign("ppo", c.Tunable(), map[string]float64{"learning_rate": 2e-3})
	fmt.Println(c.LearningRate, err)
	err = agents.Assign("ppo", c.Tunable(), map[string]float64{"learning_rates": 3e-3})
	fmt.Println(c.LearningRate, strings.HasPrefix(err.Error(), `ppo: "learning_rates" cannot change while training: did you mean "learning_rate"?`))
	// Output:
	// [0.002] <nil>
	// [0.002] true
}

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		given            any
		timesteps, parts int
		want             int
	}{
		{"auto", 1000, 10, 100}, {"AUTO", 1000, 100, 10}, {"auto", 5, 100, 1}, {"auto", 0, 100, 0},
		{7, 1000, 10, 7}, {7.0, 1000, 10, 7}, {0, 1000, 10, 0}, {"7", 1000, 10, 7}, {int64(7), 1000, 10, 7},
	} {
		var i agents.Interval
		if err := i.SetConfig(test.given); err != nil {
			t.Errorf("%v: %v", test.given, err)
		}
		if got := i.Of(test.timesteps, test.parts); got != test.want {
			t.Errorf("%v of %d steps: %d, want %d", test.given, test.timesteps, got, test.want)
		}
	}
	for _, bad := range []any{-1, 2.5, "often", true, nil, []any{1}} {
		i := agents.Interval{Steps: 3}
		if err := i.SetConfig(bad); err == nil || i.Steps != 3 {
			t.Errorf("%v: %v, %+v", bad, err, i)
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	c := agents.DefaultOnPolicy()
	c.LearningRate = []float64{1, 2}
	d := c.Clone()
	if !reflect.DeepEqual(c, d) {
		t.Errorf("%+v, %+v", c, d)
	}
	d.LearningRate[1], d.GradNormClip[0] = 9, 9
	if c.LearningRate[1] != 2 || c.GradNormClip[0] != 0.5 {
		t.Error("a clone's slices are the original's")
	}
}

func TestRescale(t *testing.T) {
	for _, test := range []struct {
		list   []float64
		before float64
		want   []float64
	}{{[]float64{2, 3, 5}, 1, []float64{2, 6, 10}}, {[]float64{2}, 1, []float64{2}}, {[]float64{2, 3}, 0, []float64{2, 3}}} {
		agents.Rescale(test.list, test.before)
		if !reflect.DeepEqual(test.list, test.want) {
			t.Errorf("%v, want %v", test.list, test.want)
		}
	}
}

func TestRename(t *testing.T) {
	plain := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewDiscrete(2)}
	given := map[string]any{"lambda": 0.9, "clip_predicted_values": false, "state_preprocessor": "x"}
	got, err := agents.Rename("ppo", given, plain)
	if want := (map[string]any{"gae_lambda": 0.9, "value_clip": 0.0, "observation_preprocessor": "x"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if len(given) != 3 || given["lambda"] != 0.9 {
		t.Errorf("the dictionary became %v", given)
	}
	// Where both are given, state_preprocessor is that of privileged states.
	both := map[string]any{"state_preprocessor": "x", "observation_preprocessor": "y"}
	if got, err := agents.Rename("ppo", both, plain); err != nil || !reflect.DeepEqual(got, both) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []map[string]any{{"lambda": 0.9, "gae_lambda": 0.8}, {"clip_predicted_values": "perhaps"}, {"shared_state_preprocessor": "x", "state_preprocessor": "y", "observation_preprocessor": "z"}} {
		if _, err := agents.Rename("ppo", bad, plain); err == nil {
			t.Errorf("%v: accepted", bad)
		}
	}
}

func TestScalerConfig(t *testing.T) {
	cfg, err := agents.ScalerConfig("ppo", map[string]any{"size": 3, "device": "cuda:0", "epsilon": 1e-5}, 3, true)
	if err != nil || cfg.Epsilon != 1e-5 || !cfg.Unbiased || cfg.ClipThreshold != 5 {
		t.Errorf("%+v, %v", cfg, err)
	}
	for _, bad := range []map[string]any{{"size": 4}, {"epsilon": -1}, {"clip": 3}} {
		if _, err := agents.ScalerConfig("ppo", bad, 3, false); err == nil || !strings.HasPrefix(err.Error(), "ppo") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestDivergedError(t *testing.T) {
	err := &agents.DivergedError{Agent: "PPO", Detail: "the loss is NaN"}
	if got := err.Error(); !strings.HasPrefix(got, "PPO diverged: the loss is NaN; lower the learning rate") {
		t.Error(got)
	}
}

// plain is an agent with nothing optional; named adds a wrapper around it.
type plain struct{ agents.Agent }

type named struct {
	plain
	inner agents.Agent
}

func (n named) Unwrap() agents.Agent { return n.inner }

type tuned struct{ plain }

func (tuned) Hyperparameters() map[string]float64           { return map[string]float64{"depth": 1} }
func (tuned) SetHyperparameters(_ map[string]float64) error { return nil }
func (tuned) Tracked(_ func(tag string, value float64))     {}

// As finds what an agent can do, also through wrappers, outermost first.
func TestAs(t *testing.T) {
	inner := tuned{}
	wrapped := named{inner: named{inner: inner}}
	if _, ok := agents.As[agents.Tunable](wrapped); !ok {
		t.Error("two wrappers hide that the agent is Tunable")
	}
	if got, ok := agents.As[tuned](wrapped); !ok || got != inner {
		t.Errorf("the concrete type is found as %v, %v", got, ok)
	}
	if got, ok := agents.As[named](wrapped); !ok || got.inner != wrapped.inner {
		t.Errorf("the outermost wrapper is found as %v, %v", got, ok)
	}
	if _, ok := agents.As[agents.Snapshotter](wrapped); ok {
		t.Error("an agent that cannot be saved is a Snapshotter")
	}
	if _, ok := agents.As[agents.Tunable](plain{}); ok {
		t.Error("an agent without settings is Tunable")
	}
	if _, ok := agents.As[agents.Tunable](nil); ok {
		t.Error("no agent is Tunable")
	}
}

// PPO says of every key that only AMP has whose it is.
func TestPPONamesKeysOfAMP(t *testing.T) {
	own := config.Dict(ppo.DefaultConfig())
	sp := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.Unbounded(1)}
	for key, value := range config.Dict(amp.DefaultConfig()) {
		if _, shared := own[key]; shared {
			continue
		}
		if _, err := ppo.FromDict(map[string]any{key: value}, sp); err == nil || !strings.Contains(err.Error(), "that is a setting of AMP") {
			t.Errorf("PPO says of %s: %v; add new keys of AMP to ampKeys", key, err)
		}
	}
}

// Names of other libraries are answered with gorl's.
func TestHints(t *testing.T) {
	hints := agents.Hints()
	for name, want := range map[string]string{
		"num_minibatches":  `that of CleanRL is "mini_batches" here`,
		"gamma":            `that of CleanRL, Stable-Baselines3, rsl_rl, rl_games is "discount_factor" here`,
		"vf_coef":          `that of CleanRL is "value_loss_scale" here (half the number); that of Stable-Baselines3 is "value_loss_scale" here (the same number)`,
		"bounds_loss_coef": `that of rl_games is "bounds_loss_scale" here (the same number)`,
		"use_sde":          "that of Stable-Baselines3 is not in gorl: noise is drawn anew at every step",
		"lr":               `that of PyTorch is "learning_rate" here`,
	} {
		if hints[name] != want {
			t.Errorf("%s: %q, want %q", name, hints[name], want)
		}
	}
}
