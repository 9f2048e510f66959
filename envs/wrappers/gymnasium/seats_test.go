package gymnasium

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// A batch with several agents in each environment (DirectMARLEnv): every number. An agent that ends before the
// environment is reset is out until then, whatever the simulator goes on to say of it.
func TestPeersTeam(t *testing.T) {
	const n = 4
	team := func(simulator Simulator, kwargs map[string]any) Options {
		o := real(t, "bridge_batches:Team", n, 0)
		o.Simulator, o.Kwargs = simulator, kwargs
		return o
	}
	e := open(t, team(IsaacLab, nil))
	set := e.Spaces()
	want := spaces.NewSeats(spaces.Unbounded(3), spaces.Seat{Name: "cart", Observation: spaces.Unbounded(2),
		Action: spaces.NewBox(-1, 1, 1)}, spaces.Seat{Name: "pole", Observation: spaces.Unbounded(1),
		Action: spaces.NewDiscrete(3)})
	name, got, wanted := set.Difference(want)
	must.Not(t, name != "", "%s: %v, want %v", name, got, wanted)
	must.Do(t, envs.Check(e, 60, 3))
	s := envtest.Reset(t, e, 1)
	for k := 0; k < 60; k++ {
		for i := range n {
			// The step of the game, k % length, and what it has brought.
			length, odd := 4+i%3, i%2 == 1
			if odd {
				length = 3
			}
			now := k % length
			must.Is(t, fmt.Sprint(s.Observations[3*i:3*i+3], s.States[3*i:3*i+3], s.Seats.Active[2*i:2*i+2]),
				fmt.Sprint([]int{now, i, -now}, []int{now, i, -now}, []bool{true, !odd || now < 2}),
				"what environment %d shows in step %d", i, k)
			if k == 0 {
				continue
			}
			step := (k-1)%length + 1
			seats, over, pole := s.Seats.Row(i, 2), step == length, float32(20)
			if odd && step > 2 { // it has fallen
				pole = 0
			}
			must.Is(t, fmt.Sprint(seats.Rewards, seats.Terminated, seats.Truncated, s.Terminated[i], s.Truncated[i]),
				fmt.Sprint([]float32{float32(step) + 0.5, pole}, []bool{odd && over, odd && step == 2},
					[]bool{!odd && over, !odd && over}, odd && over, !odd && over),
				"what step %d brings environment %d", k, i)
			must.Not(t, over && !s.FinalUnknown[i],
				"step %d, environment %d: the last observation is lost and counts as known", k, i)
		}
		s = envtest.Step(t, e, slices.Repeat([]float32{0.5, 2}, n))
	}
	for want, o := range map[string]Options{
		"every agent of environment 1 has ended":                 team(IsaacLab, map[string]any{"forget": true}),
		"the observations of step of bridge_batches:Team are 'c": team(IsaacLab, map[string]any{"missing": true}),
		"(possible_agents) and the autoreset next_step":          team(Batch, map[string]any{"mode": "next_step"}),
	} {
		must.Refuse(t, attempt(t, o, 5, func(int) []float32 { return make([]float32, 2*n) }), want)
	}
}
