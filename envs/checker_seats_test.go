package envs_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// table is a game of three seats: red and blue act in turn, and green acts in every step until it is out, after its
// third. The episode ends after the sixth step.
type table struct {
	steps int
	total float32
	peeks bool // the actions of seats that are not active have an effect
}

func (*table) Spaces() spaces.Set {
	action := spaces.NewDiscrete(2)
	seat := func(name string) spaces.Seat {
		return spaces.Seat{Name: name, Observation: spaces.Unbounded(1), Action: action}
	}
	red, blue := seat("red"), seat("blue")
	red.ActionMask, blue.ActionMask = spaces.NewActionMask(action), spaces.NewActionMask(action)
	return spaces.NewSeats(spaces.Space{}, red, blue, seat("green"))
}

func (g *table) active() []bool { return []bool{g.steps%2 == 0, g.steps%2 == 1, g.steps < 3} }

func (g *table) show(out envs.Row) {
	copy(out.Observation, []float32{float32(g.steps), g.total, float32(max(0, 3-g.steps))})
	copy(out.Seats.Active, g.active())
	copy(out.ActionMask, [][]float32{{1, 0, 1, 1}, {1, 1, 0, 1}}[g.steps%2])
}

func (g *table) Reset(_ *rand.Rand, out envs.Row) error {
	g.steps, g.total = 0, 0
	g.show(out)
	return nil
}

func (g *table) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	for k, acts := range g.active() {
		if out.Seats.Rewards[k] = 0; acts || g.peeks && k < 2 {
			out.Seats.Rewards[k] = action[k]
			reward += float64(action[k])
		}
	}
	g.total += float32(reward)
	g.steps++
	over := g.steps == 6
	copy(out.Seats.Terminated, []bool{over, false, g.steps == 3})
	copy(out.Seats.Truncated, []bool{false, over, false})
	g.show(out)
	return reward, over, false, nil
}

func (*table) Close() error { return nil }

func (g *table) MarshalState() ([]byte, error) {
	return binary.LittleEndian.AppendUint32([]byte{byte(g.steps)}, math.Float32bits(g.total)), nil
}

func (g *table) RestoreState(b []byte) error {
	g.steps, g.total = int(b[0]), math.Float32frombits(binary.LittleEndian.Uint32(b[1:]))
	return nil
}

func tables(t *testing.T, hurt func(*envs.Step)) *batch {
	return two(t, hurt, func(int) envs.Single { return &table{} })
}

// Check accepts turns, seats that are out and seats that end with the episode, and finds every breach of their rules.
func TestCheckSeats(t *testing.T) {
	must.Do(t, envs.Check(tables(t, nil), 40, 4))
	late := func(f func(*envs.Step)) func(*envs.Step) { // green is out, and the episode goes on
		return func(s *envs.Step) {
			if s.Observations[0] > 3 {
				f(s)
			}
		}
	}
	for _, c := range []struct {
		env  *batch
		want string
	}{
		{tables(t, func(s *envs.Step) { s.Seats.Active = nil }), "seats have 6, 6, 6 and 0 values"},
		{tables(t, func(s *envs.Step) { s.Rewards[1]++ }), "Rewards: environment 1 has "},
		{tables(t, func(s *envs.Step) { copy(s.Seats.Active, []bool{false, false, false}) }),
			"no seat of environment 0 acts next"},
		{tables(t, late(func(s *envs.Step) { s.Seats.Active[2] = true })),
			"Seats.Active: seat green of environment 0 has ended, and is active"},
		{tables(t, late(func(s *envs.Step) { s.Seats.Truncated[2] = true })),
			"seat green of environment 0 ends a second time"},
		{tables(t, late(func(s *envs.Step) { s.Seats.Rewards[2], s.Rewards[0] = 1, s.Rewards[0]+1 })),
			"seat green of environment 0 has ended before, and has the reward 1"},
		{tables(t, func(s *envs.Step) { s.Seats.Truncated[4] = false }),
			"the episode of environment 1 has ended, and seat blue of environment 1 is neither"},
		{tables(t, func(s *envs.Step) { s.ActionMasks[2], s.ActionMasks[3] = 0, 1 }),
			"environment 0: seat blue: its action mask forbids choices, though it is not active"},
		{two(t, nil, func(int) envs.Single { return &table{peeks: true} }),
			"other actions of seats that are not active change "},
	} {
		must.Refuse(t, envs.Check(c.env, 40, 4), c.want)
	}
}
