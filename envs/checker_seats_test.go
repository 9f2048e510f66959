package envs

import (
	"encoding/binary"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// table is two environments with three seats: red and blue act in turn, and green acts in every step until it is out,
// after its third. The episode ends after the sixth step. hurt spoils what Step returns.
type table struct {
	t     [2]int
	total [2]float32
	hurt  func(*Step)
	peeks bool // the actions of seats that are not active have an effect
}

func (*table) NumEnvs() int { return 2 }

func (*table) Spaces() spaces.Set {
	action := spaces.NewDiscrete(2)
	seat := func(name string) spaces.Seat {
		return spaces.Seat{Name: name, Observation: spaces.Unbounded(1), Action: action}
	}
	red, blue := seat("red"), seat("blue")
	red.ActionMask, blue.ActionMask = spaces.NewActionMask(action), spaces.NewActionMask(action)
	return spaces.NewSeats(spaces.Space{}, red, blue, seat("green"))
}

func (g *table) active(i int) []bool { return []bool{g.t[i]%2 == 0, g.t[i]%2 == 1, g.t[i] < 3} }

func (g *table) show(s *Step) {
	for i, t := range g.t {
		s.Observations = append(s.Observations, float32(t), g.total[i], float32(max(0, 3-t)))
		s.Seats.Active = append(s.Seats.Active, g.active(i)...)
		if t%2 == 0 {
			s.ActionMasks = append(s.ActionMasks, 1, 0, 1, 1)
		} else {
			s.ActionMasks = append(s.ActionMasks, 1, 1, 0, 1)
		}
	}
}

func (g *table) Reset(int64) (*Step, error) {
	g.t, g.total = [2]int{}, [2]float32{}
	s := &Step{}
	g.show(s)
	return s, nil
}

func (g *table) Step(actions []float32) (*Step, error) {
	if err := g.Spaces().Action.Check(actions, 2); err != nil {
		return nil, err
	}
	s := &Step{Rewards: make([]float32, 2), Terminated: make([]bool, 2), Truncated: make([]bool, 2),
		Seats: g.Spaces().MakeSeatStep(2)}
	s.Seats.Active = nil
	for i := range g.t {
		for k, acts := range g.active(i) {
			if a := actions[i*3+k]; acts || g.peeks && k < 2 {
				s.Seats.Rewards[i*3+k] += a
				s.Rewards[i] += a
			}
		}
		g.total[i] += s.Rewards[i]
		g.t[i]++
		s.Seats.Terminated[i*3+2] = g.t[i] == 3
		if g.t[i] < 6 {
			continue
		}
		s.Terminated[i], s.Seats.Terminated[i*3], s.Seats.Truncated[i*3+1] = true, true, true
		s.Episodes = append(s.Episodes, Episode{Env: i, Return: float64(g.total[i]), Length: 6})
		s.FinalObservations = make([]float32, 6)
		g.t[i], g.total[i] = 0, 0
	}
	g.show(s)
	if g.hurt != nil {
		g.hurt(s)
	}
	return s, nil
}

func (*table) Close() error { return nil }

func (g *table) MarshalState() ([]byte, error) {
	b := []byte{byte(g.t[0]), byte(g.t[1])}
	for _, x := range g.total {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b, nil
}

func (g *table) RestoreState(b []byte) error {
	g.t = [2]int{int(b[0]), int(b[1])}
	for i := range g.total {
		g.total[i] = float32(binary.LittleEndian.Uint32(b[2+4*i:]))
	}
	return nil
}

func (g *table) Observe() (*Step, error) {
	s := &Step{}
	g.show(s)
	return s, nil
}

// Check accepts turns, seats that are out and seats that end with the episode, and finds every breach of their rules.
func TestCheckSeats(t *testing.T) {
	must.Do(t, Check(&table{}, 40, 4))
	late := func(f func(*Step)) func(*Step) { // green is out, and the episode goes on
		return func(s *Step) {
			if s.Observations[0] > 3 {
				f(s)
			}
		}
	}
	for _, c := range []struct {
		env  *table
		want string
	}{
		{&table{hurt: func(s *Step) { s.Seats.Active = nil }}, "seats have 6, 6, 6 and 0 values"},
		{&table{hurt: func(s *Step) { s.Seats.Rewards = s.Seats.Rewards[:5] }}, "seats have 5, 6, 6 and 6 values"},
		{&table{hurt: func(s *Step) { s.Rewards[1]++ }}, "Rewards: environment 1 has "},
		{&table{hurt: func(s *Step) { copy(s.Seats.Active, []bool{false, false, false}) }},
			"no seat of environment 0 acts next"},
		{&table{hurt: late(func(s *Step) { s.Seats.Active[2] = true })},
			"Seats.Active: seat green of environment 0 has ended, and is active"},
		{&table{hurt: late(func(s *Step) { s.Seats.Truncated[2] = true })},
			"seat green of environment 0 ends a second time"},
		{&table{hurt: late(func(s *Step) { s.Seats.Rewards[2], s.Rewards[0] = 1, s.Rewards[0]+1 })},
			"seat green of environment 0 has ended before, and has the reward 1"},
		{&table{hurt: func(s *Step) { s.Seats.Truncated[4] = false }},
			"the episode of environment 1 has ended, and seat blue of environment 1 is neither"},
		{&table{hurt: func(s *Step) { s.ActionMasks[2], s.ActionMasks[3] = 0, 1 }},
			"environment 0: seat blue: its action mask forbids choices, though it is not active"},
		{&table{peeks: true}, "other actions of seats that are not active change "},
	} {
		must.Fail(t, Check(c.env, 40, 4), c.want)
	}
}

// A step of an environment without seats that has some all the same is refused.
func TestCheckSeatsOfNone(t *testing.T) {
	env := &counter{hurt: func(s *Step) { s.Seats.Active = []bool{true, true} }}
	must.Fail(t, Check(env, 20, 4), "0 (2 environments × 0 seats)")
	c := must.Get(Checked(&table{}))(t)
	s := must.Get(c.Reset(1))(t)
	must.Same(t, s.Seats.Active, []bool{true, false, true, true, false, true}, "active")
}
