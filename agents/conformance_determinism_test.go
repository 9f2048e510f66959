package agents_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// seeds: the same seed gives the same agent, bit for bit, and another seed another one.
func (x suite) seeds(t *testing.T) {
	a, b, c := x.make(t, 7, nil), x.make(t, 7, nil), x.make(t, 8, nil)
	before := agenttest.Parameters(t, a)
	for _, agent := range []onpolicy.Algorithm{a, b, c} {
		agenttest.Learn(t, agent, x.world(1), 3)
	}
	agenttest.Same(t, a, b)
	other := agenttest.Parameters(t, c)
	for name, p := range agenttest.Parameters(t, a) {
		if slices.Equal(p, before[name]) {
			t.Errorf("%s has not learned", name)
		}
		if slices.Equal(p, other[name]) {
			t.Errorf("%s is the same with another seed", name)
		}
	}
}

// goroutines: two agents that train at once end like one after the other.
func (x suite) goroutines(t *testing.T) {
	settings := []map[string]any{nil, {"learning_rate": 2e-3, "kl_threshold": 0.05}}
	train := func(a onpolicy.Algorithm, i int) error { return agenttest.Advance(a, x.world(int64(10*i)), 40) }
	var alone, together [2]onpolicy.Algorithm
	for i := range alone {
		alone[i], together[i] = x.make(t, int64(i), settings[i]), x.make(t, int64(i), settings[i])
		must(t, train(alone[i], i))
	}
	var wait sync.WaitGroup
	var failed [2]error
	for i, a := range together {
		wait.Go(func() { failed[i] = train(a, i) })
	}
	wait.Wait()
	must(t, errors.Join(failed[:]...))
	for i := range alone {
		agenttest.Same(t, alone[i], together[i])
	}
}

// reseed: two copies of an agent go different ways after a reseed, and the same way after the same one.
func (x suite) reseed(t *testing.T) {
	a, b, c := x.make(t, 1, nil), x.make(t, 1, nil), x.make(t, 1, nil)
	must(t, errors.Join(b.Reseed(5), c.Reseed(5)))
	for _, agent := range []onpolicy.Algorithm{a, b, c} {
		agenttest.Learn(t, agent, x.world(2), 1)
	}
	agenttest.Same(t, b, c)
	if len(agenttest.Differences(agenttest.Snapshot(t, a), agenttest.Snapshot(t, b))) == 0 {
		t.Error("a reseeded agent learned the same")
	}
}
