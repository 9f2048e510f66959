package trainers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// The end of a run waits for an update in progress: its figures are tracked, and its error is that of the run.
func TestOverlapEnds(t *testing.T) {
	tr := overlapping[0].trained(t, trainers.Config{Timesteps: 24, Directory: t.TempDir(), Name: "run", Seed: 11,
		WriteInterval: every(1)})
	if n := len(scalars(t, tr.Dir())["Loss / Policy loss"]); n != 3 {
		t.Errorf("the losses of %d updates are tracked, want 3", n)
	}
	bad := overlapping[0].open(t, trainers.Config{Timesteps: 8, Seed: 11})
	must(t, bad.SetHyperparameters(map[string]float64{"learning_rate": 1e30, "grad_norm_clip": 0}))
	var diverged *agents.DivergedError
	if err := bad.Train(context.Background()); !errors.As(err, &diverged) ||
		!strings.Contains(err.Error(), "timestep 8") {
		t.Errorf("a run whose last update diverges: %v", err)
	}
}

// A member of a population has made all its updates when it is measured, whether or not it is evaluated in between.
func TestOverlapTrainee(t *testing.T) {
	train := func(evaluate bool) *trainers.Trainee {
		env, agent := overlapping[0].make(t)
		m := sequential(t, env, agent, trainers.Config{Seed: 11}).Trainee()
		t.Cleanup(func() { must(t, m.Close()) })
		for range 3 {
			must(t, m.Train(context.Background(), 8*4))
			if evaluate {
				value(m.EvaluateMetrics(context.Background(), 4, 3))(t)
			}
		}
		return m
	}
	a, b := train(false), train(true)
	if n := value(agenttest.Snapshot(t, a.Agent()).Int("updates"))(t); n != 3 {
		t.Errorf("%d updates, want 3", n)
	}
	agenttest.Same(t, a.Agent(), b.Agent())

	// The weights of another member act from the next step on.
	must(t, a.Restore(value(b.Snapshot())(t)))
	must(t, a.Reseed(77))
	snap := agenttest.Snapshot(t, a.Agent())
	for name, array := range snap.Arrays {
		if acting, ok := snap.Arrays["rollout/acting/"+name]; ok && string(acting.Data) != string(array.Data) {
			t.Errorf("%s is not what the member acts with", name)
		}
	}
}
