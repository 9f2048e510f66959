package agents_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
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
		check.Not(t, slices.Equal(p, before[name]), "%s has not learned", name)
		check.Not(t, slices.Equal(p, other[name]), "%s is the same with another seed", name)
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

// differ fails the test with what it says if two agents are the same.
func differ(t *testing.T, a, b agents.Agent, same string) {
	t.Helper()
	check.Not(t, len(agenttest.Differences(agenttest.Snapshot(t, a), agenttest.Snapshot(t, b))) == 0, "%s", same)
}

// reseed: two copies of an agent go different ways after a reseed, and the same way after the same one.
func (x suite) reseed(t *testing.T) {
	a, b, c := x.make(t, 1, nil), x.make(t, 1, nil), x.make(t, 1, nil)
	must(t, errors.Join(b.Reseed(5), c.Reseed(5)))
	for _, agent := range []onpolicy.Algorithm{a, b, c} {
		agenttest.Learn(t, agent, x.world(2), 1)
	}
	agenttest.Same(t, b, c)
	differ(t, a, b, "a reseeded agent learned the same")
}

// leaks: the number of tensors is the same after every update, and after Close that of before.
func (x suite) leaks(t *testing.T) {
	before := tensor.Live()
	a := x.unbound(t, 1, nil)
	must(t, a.Bind(rows))
	w := x.world(1)
	live := func() int64 { // with the temporaries of an evaluation's step, which are always as many
		a.SetTraining(false)
		defer a.SetTraining(true)
		check.Get(a.Act(w.Now()))(t)
		return tensor.Live()
	}
	agenttest.Learn(t, a, w, 2)
	first := live()
	for range 5 {
		agenttest.Learn(t, a, w, 1)
		check.Is(t, live(), first, "tensors alive after an update")
	}
	agenttest.Snapshot(t, a)
	check.Is(t, tensor.Live(), first, "tensors alive after a snapshot")
	must(t, errors.Join(a.Close(), a.Close()))
	check.Is(t, tensor.Live(), before, "tensors alive after Close")
}
