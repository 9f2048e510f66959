package spaces

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Seat is the place of one agent in an environment in which several agents act (PettingZoo: a possible agent).
type Seat struct {
	// Name is unique in the environment, such as "adversary_0".
	Name string
	// Team is the common name of seats that win and lose together. It is empty if the environment has no teams.
	Team string
	// Observation, Action and ActionMask are the spaces of this seat, as in [Set].
	Observation, Action, ActionMask Space
}

// NewSeats returns the spaces of an environment with several agents. A row of observations, actions or action masks is
// the seats' rows one after another, in the order of the seats. Seats without action masks have no columns in the
// masks. state is the space of the state that all seats share, zero if there is none.
func NewSeats(state Space, seats ...Seat) Set {
	set := Set{State: state, Seats: seats}
	observations, actions, masks := make([]Space, len(seats)), make([]Space, len(seats)), 0
	for i, seat := range seats {
		observations[i], actions[i] = seat.Observation, seat.Action
		masks += seat.ActionMask.Width()
	}
	set.Observation, set.Action = NewTuple(observations...), NewTuple(actions...)
	if masks > 0 {
		set.ActionMask = NewBox(0, 1, masks)
		set.ActionMask.DType = Uint8
	}
	return set
}

// Seat returns the spaces of seat i alone, with the state that all seats share.
func (s Set) Seat(i int) Set {
	seat := s.Seats[i]
	return Set{Observation: seat.Observation, State: s.State, Action: seat.Action, ActionMask: seat.ActionMask}
}

// SeatNames lists the seats in their order, with their teams, and says which have action masks: "red_0 (team red),
// blue_0 (team blue, action masks)". It is empty without seats.
func (s Set) SeatNames() string {
	names := make([]string, len(s.Seats))
	for i, seat := range s.Seats {
		var more []string
		if seat.Team != "" {
			more = append(more, "team "+seat.Team)
		}
		if seat.ActionMask.Kind != None {
			more = append(more, "action masks")
		}
		if names[i] = seat.Name; more != nil {
			names[i] += " (" + strings.Join(more, ", ") + ")"
		}
	}
	return strings.Join(names, ", ")
}

// RefuseSeats returns an error if the set has seats. The error begins with who, the name of what needs an environment
// with one agent.
func (s Set) RefuseSeats(who string) error {
	if len(s.Seats) == 0 {
		return nil
	}
	return fmt.Errorf("%s is for one agent, and the environment has seats for %d (%s)", who, len(s.Seats),
		s.SeatNames())
}

// SeatStep is the result of one step for the K seats of N environments. Each slice is (N, K), environment by
// environment, or nil in environments without seats. In an envs.Row each slice is (K), of one environment.
//
// The episode of a seat runs from the environment's reset to the seat's own end. A seat that has ended is out until
// the environment's episode ends. A seat that is neither active nor out waits for its turn.
type SeatStep struct {
	// Rewards are the rewards of the step, also of seats that waited.
	Rewards []float32
	// Terminated and Truncated are set in the step that ends the seat's episode, and in no later step of the
	// environment's episode. When the environment's episode ends, every seat that is not out ends, too.
	Terminated, Truncated []bool
	// Active reports which seats act next. The actions of other seats have no effect, but must be valid (for example
	// 0). The action mask of a seat that is not active allows every choice.
	Active []bool
}

// MakeSeatStep returns a SeatStep for n environments of the set, all zeros and false. Its slices are nil if the set has
// no seats.
func (s Set) MakeSeatStep(n int) SeatStep {
	k := n * len(s.Seats)
	if k == 0 {
		return SeatStep{}
	}
	return SeatStep{make([]float32, k), make([]bool, k), make([]bool, k), make([]bool, k)}
}

// Row returns environment i's part of a SeatStep, (k), in environments with k seats. It shares the memory.
func (s SeatStep) Row(i, k int) SeatStep {
	if k == 0 {
		return SeatStep{}
	}
	from, to := i*k, (i+1)*k
	return SeatStep{s.Rewards[from:to:to], s.Terminated[from:to:to], s.Truncated[from:to:to], s.Active[from:to:to]}
}

// CheckSeats returns an error unless the masks (n, K) of seats that are not active allow every choice. active is (n,
// number of seats).
func (s Set) CheckSeats(masks []float32, active []bool) error {
	if s.ActionMask.Width() == 0 || len(s.Seats) == 0 {
		return nil
	}
	at := 0
	return s.eachRow(len(active)/len(s.Seats), nil, masks, func(_ Set, _, mask []float32) error {
		if at++; slices.Contains(mask, 0) && !active[at-1] {
			return errors.New("its action mask forbids choices, though it is not active; all must be 1")
		}
		return nil
	})
}

// Check returns an error unless the step has the lengths of n environments with k seats, and finite rewards.
func (s SeatStep) Check(n, k int) error {
	if len(s.Rewards) != n*k || len(s.Terminated) != n*k || len(s.Truncated) != n*k || len(s.Active) != n*k {
		return fmt.Errorf("spaces: Rewards, Terminated, Truncated and Active of the seats have %d, %d, %d and %d "+
			"values; each must have %d (%d environments × %d seats)",
			len(s.Rewards), len(s.Terminated), len(s.Truncated), len(s.Active), n*k, n, k)
	}
	for i, r := range s.Rewards {
		if r-r != 0 {
			return fmt.Errorf("spaces: the reward of seat %d of environment %d is %g; it must be finite", i%k, i/k, r)
		}
	}
	return nil
}

// validateSeats returns an error unless every seat has a unique name and valid spaces, and the set has the spaces that
// NewSeats makes of the seats.
func (s Set) validateSeats() error {
	names := map[string]bool{}
	for i, seat := range s.Seats {
		if seat.Name == "" || names[seat.Name] {
			return fmt.Errorf("seat %d: spaces: the name is %q; each seat needs a name of its own", i, seat.Name)
		}
		names[seat.Name] = true
		if err := s.Seat(i).Validate(); err != nil {
			return fmt.Errorf("seat %s: %w", seat.Name, err)
		}
	}
	if name, got, want := s.Difference(NewSeats(s.State, s.Seats...)); name != "" {
		return fmt.Errorf("%s: spaces: %s is not that of the seats, %s; use NewSeats", name, got, want)
	}
	return nil
}

// eachSeat calls f for each seat, with its part of one environment's rows of actions and masks. A set without seats is
// one. actions may be nil.
func (s Set) eachSeat(actions, masks []float32, f func(seat Set, actions, masks []float32) error) error {
	if len(s.Seats) == 0 {
		return f(s, actions, masks)
	}
	for i := range s.Seats {
		seat := s.Seat(i)
		a, m := seat.Action.Width(), seat.ActionMask.Width()
		var own []float32
		if actions != nil {
			own, actions = actions[:a], actions[a:]
		}
		if err := f(seat, own, masks[:m]); err != nil {
			return fmt.Errorf("seat %s: %w", s.Seats[i].Name, err)
		}
		masks = masks[m:]
	}
	return nil
}

// eachRow calls eachSeat for each of n environments.
func (s Set) eachRow(n int, actions, masks []float32, f func(seat Set, actions, masks []float32) error) error {
	w, k := s.Action.Width(), s.ActionMask.Width()
	for i := range n {
		var own []float32
		if actions != nil {
			own = actions[i*w : (i+1)*w]
		}
		if err := s.eachSeat(own, masks[i*k:(i+1)*k], f); err != nil {
			return fmt.Errorf("spaces: environment %d: %w", i, err)
		}
	}
	return nil
}
