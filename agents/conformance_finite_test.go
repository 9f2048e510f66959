package agents_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// notFinite: NaN and infinities are refused where they enter, with the field, the environment, the dimension and
// the timestep, and the agent goes on from good values as if it had never seen them.
func (x suite) notFinite(t *testing.T) {
	a, b := x.make(t, 1, nil), x.make(t, 1, nil)
	v, w := x.world(2), x.world(2)
	must(t, agenttest.Advance(a, v, 9)) // the first rollout and one step
	must(t, agenttest.Advance(b, w, 9))
	before := agenttest.Snapshot(t, a)
	refused := func(what string, width, at int, err error) {
		t.Helper()
		want := fmt.Sprintf("at timestep 9: %s: environment %d, dimension %d is ", what, at/max(width, 1),
			at%max(width, 1))
		if what == "reward" {
			want = fmt.Sprintf("at timestep 9: the reward of environment %d is ", at)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
	}
	spoil := func(rows []float32, k int) (bad []float32, at int) {
		bad, at = slices.Clone(rows), len(rows)-1-k%2
		bad[at] = []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))}[k%3]
		return bad, at
	}
	o, s, m := x.spaces.Observation.Width(), x.spaces.State.Width(), x.spaces.AMPObservation.Width()
	if x.amp == nil {
		m = 0
	}
	acts := func() {
		t.Helper()
		for k := range 3 {
			bad, at := spoil(v.Now().Observations, k)
			_, err := a.Act(agents.Observation{Observations: bad, States: v.Now().States})
			refused("observations", o, at, err)
			if s > 0 {
				bad, at = spoil(v.Now().States, k)
				_, err = a.Act(agents.Observation{Observations: v.Now().Observations, States: bad})
				refused("states", s, at, err)
			}
		}
	}
	acts()
	unchanged(t, a, before, "after an Act that was refused")
	a.SetTraining(false)
	acts()
	a.SetTraining(true)

	actions := slices.Clone(act(t, a, v.Now()))
	before = agenttest.Snapshot(t, a)
	good := v.Step(actions)
	good.Terminated, good.Truncated = make([]bool, rows), slices.Repeat([]bool{true}, rows)
	good.FinalObservations, good.FinalStates = slices.Clone(good.NextObservations), slices.Clone(good.NextStates)
	for _, field := range []struct {
		what  string
		width int
		of    func(t *agents.Transition) *[]float32
	}{
		{"reward", 1, func(t *agents.Transition) *[]float32 { return &t.Rewards }},
		{"next observations", o, func(t *agents.Transition) *[]float32 { return &t.NextObservations }},
		{"next states", s, func(t *agents.Transition) *[]float32 { return &t.NextStates }},
		{"final observations", o, func(t *agents.Transition) *[]float32 { return &t.FinalObservations }},
		{"final states", s, func(t *agents.Transition) *[]float32 { return &t.FinalStates }},
		{"AMP observations", m, func(t *agents.Transition) *[]float32 { return &t.AMPObservations }},
	} {
		for k := range 3 {
			bad := good
			rows := field.of(&bad)
			if field.width == 0 || len(*rows) == 0 {
				continue
			}
			var at int
			*rows, at = spoil(*rows, k)
			refused(field.what, field.width, at, a.Record(bad))
		}
	}
	unchanged(t, a, before, "after a Record that was refused")
	act(t, b, w.Now())
	must(t, b.Record(good))
	must(t, a.Record(good))
	w.Step(actions)
	agenttest.Learn(t, a, v, 2)
	agenttest.Learn(t, b, w, 2)
	must(t, a.Wait(context.Background()))
	must(t, b.Wait(context.Background()))
	agenttest.Same(t, a, b)
}
