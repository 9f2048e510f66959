package agents_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
)

// evaluation: actions are the distribution's mode, the same every time an evaluation begins, and nothing is recorded.
func (x suite) evaluation(t *testing.T) {
	a := x.make(t, 1, nil)
	w := x.world(2)
	must(t, agenttest.Advance(a, w, 5))
	before := agenttest.Snapshot(t, a)
	check.Not(t, !a.SetTraining(false) || a.Ready(), "an agent in evaluation trains")
	var last []float32
	for range 3 {
		a.SetTraining(false)
		actions := check.Get(a.Act(w.Now()))(t)
		check.Not(t, last != nil && !slices.Equal(last, actions), "actions %v, then %v", last, actions)
		last = slices.Clone(actions)
		must(t, a.Record(w.Clone().Step(actions)))
	}
	unchanged(t, a, before, "in evaluation")
	a.SetStochastic(true)
	sampled := false
	for range 20 { // masks may allow no other choice than the mode for some rows
		sampled = sampled || !slices.Equal(check.Get(a.Act(w.Now()))(t), last)
	}
	check.Not(t, !sampled, "sampled actions are the mode's")
	a.SetStochastic(false)
	check.Is(t, a.SetTraining(true), false, "an agent in evaluation was training")
	must(t, agenttest.Advance(a, w, 20))
}

// misuse: calls in the wrong order and rows of the wrong width are errors.
func (x suite) misuse(t *testing.T) {
	a := x.make(t, 1, nil)
	w := x.world(2)
	transition := w.Clone().Step(make([]float32, rows*x.spaces.Action.Width()))
	in := w.Now()
	in.Observations = in.Observations[1:]
	_, short := a.Act(in)
	for _, err := range []error{a.Update(context.Background()), a.Record(transition), a.Bind(rows + 1), a.Bind(0),
		short} {
		check.Not(t, err == nil, "a call in the wrong order or with rows of the wrong width is no error")
	}
	check.Get(a.Act(w.Now()))(t)
	before := agenttest.Snapshot(t, a)
	for name, spoil := range map[string]func(t *agents.Transition){
		"NaN reward":        func(t *agents.Transition) { t.Rewards = []float32{0, float32(math.NaN()), 0} },
		"terminated":        func(t *agents.Transition) { t.Terminated = nil },
		"next observations": func(t *agents.Transition) { t.NextObservations = nil },
		"missing final observations": func(t *agents.Transition) {
			t.Truncated, t.Terminated, t.FinalObservations = []bool{true, false, false}, make([]bool, rows), nil
		},
	} {
		bad := transition
		spoil(&bad)
		check.Not(t, a.Record(bad) == nil, "%s: accepted", name)
	}
	unchanged(t, a, before, "after calls that were refused")
	agenttest.Fill(t, a, w)
	_, full := a.Act(w.Now())
	check.Not(t, full == nil, "Act with a full rollout succeeded")
}
