package agents_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
)

var nan = float32(math.NaN())

// invalid: what rows show that are no transition changes nothing, down to the last bit, where they are marked, and
// does where they are not; rewards and AMP observations may even be NaN. Each environment resets in a step of its own
// after an episode, as next-step autoreset does.
func (x suite) invalid(t *testing.T) {
	kept, other, learning := x.make(t, 4, nil), x.make(t, 4, nil), x.make(t, 4, nil)
	world, pending, met := x.world(3), make([]bool, rows), 0
	for range 3 * 8 {
		now := world.Now()
		// In environments that only reset now, the other agents see the row of the next environment.
		strange := agents.Observation{Observations: shown(now.Observations, pending), States: shown(now.States,
			pending)}
		strange.ActionMasks = agenttest.Masks(x.spaces, strange.Observations)
		actions := act(t, kept, now)
		for _, a := range []agents.Agent{other, learning} {
			seen := act(t, a, strange)
			for i := range rows {
				w := x.spaces.Action.Width()
				if a == other && !pending[i] {
					check.Same(t, seen[i*w:(i+1)*w], actions[i*w:(i+1)*w], "actions of environment %d", i)
				}
			}
		}
		tr := world.Step(actions)
		tr.Invalid = slices.Clone(pending)
		for i, on := range pending {
			if on {
				tr.Rewards[i], tr.Terminated[i], tr.Truncated[i] = 0, false, false
				met++
			}
		}
		must(t, kept.Record(tr))
		wrong, unset := tr, tr
		wrong.Rewards, wrong.AMPObservations = slices.Clone(tr.Rewards), shown(tr.AMPObservations, pending)
		wrong.Invalid = nil
		unset.Rewards, unset.AMPObservations = slices.Clone(tr.Rewards), slices.Clone(tr.AMPObservations)
		for i, on := range pending {
			if on {
				w := len(tr.AMPObservations) / rows
				wrong.Rewards[i], unset.Rewards[i] = 100, nan
				copy(unset.AMPObservations[i*w:(i+1)*w], slices.Repeat([]float32{nan}, w))
			}
			pending[i] = tr.Terminated[i] || tr.Truncated[i]
		}
		must(t, other.Record(unset))
		must(t, learning.Record(wrong))
		for _, a := range []agents.Agent{kept, other, learning} {
			if a.Ready() {
				must(t, a.Update(context.Background()))
			}
		}
	}
	check.Not(t, met < 5, "%d rows were invalid", met)
	agenttest.Same(t, kept, other)
	differ(t, kept, learning, "rows that are not marked taught nothing")
	// In the middle of a rollout the marks are part of a snapshot.
	resumed := x.make(t, 9, nil)
	must(t, agenttest.Advance(kept, world, 2))
	act(t, kept, world.Now())
	tr := world.Step(make([]float32, rows*x.spaces.Action.Width()))
	tr.Invalid = []bool{false, true, false}
	tr.Terminated[1], tr.Truncated[1] = false, false
	must(t, kept.Record(tr))
	must(t, resumed.Restore(agenttest.Through(t, agenttest.Snapshot(t, kept))))
	copied := world.Clone()
	agenttest.Learn(t, kept, world, 1)
	agenttest.Learn(t, resumed, copied, 1)
	agenttest.Same(t, kept, resumed)
}

// shown returns a copy of rows in which those that are pending show what stands in the next row.
func shown(rows []float32, pending []bool) []float32 {
	out, w := slices.Clone(rows), len(rows)/len(pending)
	for i, on := range pending {
		if on {
			copy(out[i*w:(i+1)*w], rows[(i+1)%len(pending)*w:][:w])
		}
	}
	return out
}

func act(t *testing.T, a agents.Agent, in agents.Observation) []float32 {
	t.Helper()
	return slices.Clone(check.Get(a.Act(in))(t))
}

// unknown: where the last observation of a truncated episode is not known, the one that was acted on stands in for it,
// whatever the final rows hold. A network with memory would see it twice, so this compares those without.
func (x suite) unknown(t *testing.T) {
	a, b := x.make(t, 4, nil), x.make(t, 4, nil)
	if c, ok := agents.As[interface{ HiddenSizes() map[string]int }](a); !ok || len(c.HiddenSizes()) > 0 {
		t.Skip("the networks have memory")
	}
	world, met := x.world(5), 0
	for range 3 * 8 {
		now := world.Now()
		before := agents.Observation{Observations: slices.Clone(now.Observations), States: slices.Clone(now.States),
			ActionMasks: now.ActionMasks}
		actions := act(t, a, before)
		check.Same(t, act(t, b, before), actions, "actions")
		tr := world.Step(actions)
		known := tr
		if tr.FinalObservations != nil {
			known.FinalObservations, known.FinalStates = before.Observations, before.States
			tr.FinalUnknown = make([]bool, rows)
			for i := range rows {
				tr.FinalUnknown[i] = tr.Terminated[i] || tr.Truncated[i]
				if tr.Truncated[i] && !tr.Terminated[i] {
					met++
				}
			}
			tr.FinalObservations = slices.Repeat([]float32{float32(math.NaN())}, len(tr.FinalObservations))
			tr.FinalStates = nil
		}
		must(t, b.Record(known))
		must(t, a.Record(tr))
		for _, agent := range []agents.Agent{a, b} {
			if agent.Ready() {
				must(t, agent.Update(context.Background()))
			}
		}
	}
	check.Not(t, met < 2, "%d episodes were truncated", met)
	agenttest.Same(t, a, b)
}

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
		check.RefuseAs(t, what, err, want)
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
			in := v.Now()
			bad, at := spoil(in.Observations, k)
			in.Observations = bad
			_, err := a.Act(in)
			refused("observations", o, at, err)
			if s > 0 {
				in = v.Now()
				bad, at = spoil(in.States, k)
				in.States = bad
				_, err = a.Act(in)
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
