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

// wrapped is an agent around another one.
type wrapped struct{ agents.Agent }

func (w wrapped) Unwrap() agents.Agent { return w.Agent }

type tuned struct{ agents.Agent }

func (tuned) Hyperparameters() map[string]float64           { return nil }
func (tuned) SetHyperparameters(_ map[string]float64) error { return nil }
func (tuned) Tracked(_ func(tag string, value float64))     {}

// As finds what an agent can do, also through wrappers.
func TestAs(t *testing.T) {
	two := wrapped{wrapped{tuned{}}}
	_, inside := agents.As[agents.Tunable](two)
	_, saved := agents.As[agents.Snapshotter](two)
	_, none := agents.As[agents.Tunable](nil)
	check.Not(t, !inside || saved || none, "Tunable %v, Snapshotter %v, nil Tunable %v", inside, saved, none)
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
