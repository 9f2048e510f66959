package agents_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// failing are the methods that return an error, called as correctly as is possible without knowing the agent.
func failing(a onpolicy.Algorithm, w *agenttest.World) map[string]func() error {
	calls := map[string]func() error{
		"Act":                func() error { _, err := a.Act(w.Now()); return err },
		"Record":             func() error { return a.Record(agents.Transition{}) },
		"Update":             func() error { return a.Update(context.Background()) },
		"Wait":               func() error { return a.Wait(context.Background()) },
		"Bind":               func() error { return a.Bind(rows) },
		"Reseed":             func() error { return a.Reseed(1) },
		"SetHyperparameters": func() error { return a.SetHyperparameters(map[string]float64{"learning_rate": 0.5}) },
		"Snapshot":           func() error { _, err := a.Snapshot(agents.SnapshotOptions{}); return err },
		"Restore":            func() error { return a.Restore(checkpoint.NewSnapshot()) },
	}
	if a, ok := a.(*amp.Agent); ok {
		row := make([]float32, a.Spaces().AMPObservation.Width())
		calls["StyleRewards"] = func() error { _, err := a.StyleRewards(row); return err }
		calls["Encode"] = func() error { _, err := a.Encode(row); return err }
		calls["Latents"] = func() error { _, err := a.Latents(); return err }
	}
	return calls
}

// harmless calls the methods that return no error.
func harmless(a onpolicy.Algorithm) {
	a.SetTraining(false)
	a.SetTraining(true)
	a.SetStochastic(true)
	a.SetStochastic(false)
	a.ResetHidden(1)
	a.Plan(100)
	a.Ready()
	a.Tracked(func(string, float64) {})
	a.LearningRate()
	a.Hyperparameters()
	a.Architectures()
	if a, ok := a.(*amp.Agent); ok {
		a.Terminations()
	}
}

// closed closes an agent in mid-rollout. Every method that can return an error does so, and the others are harmless.
func (x suite) closed(t *testing.T) {
	a := x.make(t, 1, nil)
	w := x.world(2)
	must(t, agenttest.Advance(a, w, 11))
	rate, settings := a.LearningRate(), a.Hyperparameters()
	must(t, a.Close())
	for name, call := range failing(a, w) {
		check.RefuseAs(t, name, call(), a.Name()+" agent with seed 1: "+name+" was called after Close")
	}
	harmless(a)
	check.Is(t, a.LearningRate(), rate, "the learning rate after Close")
	check.Equal(t, "settings after Close", settings, a.Hyperparameters())
}

// blocking is a policy whose next Sample waits.
type blocking struct {
	models.Policy
	entered, release chan struct{}
}

func (b *blocking) Sample(s *tensor.Scope, in models.Inputs, gen *tensor.Generator) models.Action {
	b.entered <- struct{}{}
	<-b.release
	return b.Policy.Sample(s, in, gen)
}

// While one goroutine is in Act, every other method is refused, Close closes nothing, and nothing changes.
func TestRefusesOverlap(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewDiscrete(3)}
	policy, value, err := ppoMLPs(sp).Make(1)
	must(t, err)
	b := &blocking{policy, make(chan struct{}), make(chan struct{})}
	a, err := ppo.New(ppo.Options{Spaces: sp, NumEnvs: rows, Models: ppo.Models{Policy: b, Value: value}, Seed: 7})
	must(t, err)
	agenttest.Close(t, a)
	w := agenttest.NewWorld(sp, agenttest.Seeds(1, rows)...)
	done := make(chan error)
	act := func() {
		_, err := a.Act(w.Now())
		done <- err
	}
	go act()
	<-b.entered
	calls := failing(a, w)
	calls["Close"] = a.Close
	refused := func(what string, err error, words ...string) {
		t.Helper()
		check.Not(t, !errors.Is(err, exclusive.ErrOverlap), "%s: %v", what, err)
		check.RefuseAs(t, what, err, words...)
	}
	for name, call := range calls {
		refused(name, call(), "ppo: the PPO agent with seed 7: "+name+" was called while Act is running", "lock")
	}
	check.Is(t, a.LearningRate(), 1e-3, "what is shown while Act runs")
	a.SetTraining(false) // cannot return its error
	close(b.release)
	must(t, <-done)
	refused("Record", a.Record(agents.Transition{}), "SetTraining was called while Act")
	check.Is(t, a.SetTraining(true), true, "a SetTraining that was refused has not changed the mode")
	go func() { <-b.entered }()
	must(t, agenttest.Step(a, w))
}

// Goroutines that call everything at once, and Close in the middle, see errors and no crash.
func TestManyGoroutines(t *testing.T) {
	for _, x := range conformance() {
		switch x.name {
		case "PPO/box", "PPO/overlap", "AMP/overlap", "AMP/skills", "PPO/gru":
		default:
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			a := x.make(t, 1, nil)
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					w := x.world(int64(i))
					calls := failing(a, w)
					delete(calls, "Restore")
					names := slices.Sorted(maps.Keys(calls))
					rng := rand.New(rand.NewPCG(uint64(i), 1))
					for range 300 {
						_ = calls[names[rng.IntN(len(names))]]()
						harmless(a)
						_ = agenttest.Advance(a, w, 1)
					}
				})
			}
			all.Wait()
			must(t, a.Close())
		})
	}
}
