package agenttest

import (
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/spaces"
)

// Agent is an agent with everything that gorl's own can do.
type Agent interface {
	agents.Agent
	agents.Binder
	agents.Tracker
	agents.Tunable
	agents.Snapshotter
	agents.Reseeder
	agents.Stochastic
}

// Suite is what every agent must hold, whatever the algorithm.
type Suite struct {
	Spaces spaces.Set
	// New makes an agent with a seed, of settings over those of the suite.
	New func(t testing.TB, seed int64, settings map[string]any) Agent
}

const rows = 3

func (x Suite) make(t testing.TB, seed int64, settings map[string]any) Agent {
	t.Helper()
	a := x.New(t, seed, settings)
	must(t, a.Bind(rows))
	Close(t, a)
	return a
}

func (x Suite) world(seed int64) *World { return NewWorld(x.Spaces, Seeds(seed, rows)...) }

// Run runs every test of the suite.
func (x Suite) Run(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"seeds", x.seeds}, {"goroutines", x.goroutines}, {"leaks", x.leaks}, {"resume", x.resume}, {"foreign snapshots", x.foreign},
		{"hyperparameters", x.hyperparameters}, {"scheduled", x.scheduled}, {"divergence", x.divergence}, {"cancellation", x.cancellation},
		{"evaluation", x.evaluation}, {"misuse", x.misuse}, {"shaping", x.shaping}, {"first steps", x.firstSteps}, {"reseed", x.reseed},
	} {
		t.Run(test.name, func(t *testing.T) {
			CheckLive(t)
			test.run(t)
		})
	}
}
