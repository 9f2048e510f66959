package agents_test

import (
	"os"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/config"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
)

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		given                  any
		timesteps, parts, want int
	}{
		{"auto", 1000, 10, 100}, {"AUTO", 1000, 100, 10}, {"auto", 5, 100, 1}, {"auto", 0, 100, 0},
		{7, 1000, 10, 7}, {7.0, 1000, 10, 7}, {0, 1000, 10, 0}, {"7", 1000, 10, 7},
		{-1, 0, 0, 3}, {2.5, 0, 0, 3}, {"often", 0, 0, 3}, {true, 0, 0, 3}, {nil, 0, 0, 3}, // refused
	} {
		i := agents.Interval{Steps: 3}
		err := i.SetConfig(test.given)
		if got := i.Of(test.timesteps, test.parts); got != test.want || (err == nil) == (got == 3) {
			t.Errorf("%v of %d steps: %d, %v; want %d", test.given, test.timesteps, got, err, test.want)
		}
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
		check.RefusedAs(ppo.FromDict(map[string]any{key: value}, sp))(t, key, "that is a setting of AMP")
	}
}

// TestMain fails if a test leaves tensors alive.
func TestMain(m *testing.M) { os.Exit(tensortest.Run(m)) }
