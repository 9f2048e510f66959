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

// seatedExchange is the memory of one game of three agents without a writer.
func seatedExchange() (*exchange, *child) {
	x := &exchange{set: spaces.NewSeats(spaces.Space{}, seat("a"), seat("b"), seat("c"))}
	x.shared = arrays{rewards: make([]float64, 3), seats: make([]uint8, 3)}
	x.own = envs.Step{Seats: x.set.MakeSeatStep(1), Rewards: make([]float32, 1), Terminated: make([]bool, 1),
		Truncated: make([]bool, 1)}
	x.exact, x.out = make([]float64, 1), make([]bool, 3)
	return x, &child{}
}

func seat(name string) spaces.Seat {
	return spaces.Seat{Name: name, Observation: spaces.Unbounded(1), Action: spaces.NewDiscrete(2)}
}

// What a child writes of seats is checked against what they were before. Children are user code.
func TestSeatFlags(t *testing.T) {
	const ends, cut, acts = flagTerminated, flagTruncated, flagActive
	for i, c := range []struct {
		out   []bool
		flags []uint8
		over  bool
		want  string // of the error; "" where the flags are right
	}{
		{[]bool{false, false, false}, []uint8{acts, acts, acts}, false, ""},
		{[]bool{false, false, false}, []uint8{ends, cut, acts}, false, ""},
		{[]bool{true, false, false}, []uint8{0, ends | cut, acts}, false, ""},
		{[]bool{true, false, false}, []uint8{acts, ends | acts, cut | acts}, true, ""},
		{[]bool{true, false, false}, []uint8{ends, acts, acts}, false, "agent a ends twice in a game"},
		{[]bool{true, false, false}, []uint8{acts, acts, acts}, false, "or acts after its end"},
		{[]bool{true, false, false}, []uint8{ends | acts, ends, ends}, true, "agent a ends twice in a game"},
		{[]bool{false, false, false}, []uint8{0, ends | acts, acts}, false, "agent b ends twice in a game, or acts"},
		{[]bool{false, false, false}, []uint8{ends, ends | acts, 0}, true, "the game has ended, and agent c has not"},
		{[]bool{false, false, false}, []uint8{0, ends, 0}, false, "the game goes on, and no agent acts"},
		{[]bool{false, false, false}, []uint8{acts, 8, 0}, false, "the flags of agent b are 0x8"},
	} {
		x, child := seatedExchange()
		copy(x.out, c.out)
		copy(x.shared.seats, c.flags)
		x.own.Terminated[0] = c.over
		err := x.copySeats(child, 0, commandStep)
		if c.want != "" {
			faulted(t, err, FaultProtocol, c.want)
			continue
		}
		must.Do(t, err)
		x.settleSeats()
		for j, flags := range c.flags {
			if out := !c.over && (c.out[j] || flags&(ends|cut) != 0); x.out[j] != out ||
				x.own.Seats.Terminated[j] != (flags&ends != 0) || x.own.Seats.Truncated[j] != (flags&cut != 0) ||
				x.own.Seats.Active[j] != (flags&acts != 0) {
				t.Errorf("%d: agent %d is out: %t, %+v", i, j, x.out[j], x.own.Seats)
			}
		}
	}
	x, child := seatedExchange()
	copy(x.shared.seats, []uint8{acts, ends, acts})
	must.Refuse(t, x.copySeats(child, 0, commandReset), "")
}

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
