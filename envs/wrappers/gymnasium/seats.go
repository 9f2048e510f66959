package gymnasium

import (
	"fmt"

	"github.com/gorl-dev/gorl/spaces"
)

// seatJSON is the seat of an agent as a child describes it. Its spaces are entries of the observation and action
// spaces, which are Tuples.
type seatJSON struct {
	Name string `json:"name"`
	// Masks reports whether the agent has action masks.
	Masks bool `json:"masks"`
}

// seated returns the spaces of a game with the seats that a child described. joint has the seats' spaces as Tuples.
func seated(joint spaces.Set, seats []seatJSON) (spaces.Set, error) {
	k := len(seats)
	if len(joint.Observation.Entries) != k || len(joint.Action.Entries) != k {
		return joint, fmt.Errorf("%d agents have %d observation spaces and %d action spaces", k,
			len(joint.Observation.Entries), len(joint.Action.Entries))
	}
	all := make([]spaces.Seat, k)
	for i, seat := range seats {
		all[i] = spaces.Seat{Name: seat.Name, Observation: joint.Observation.Entries[i].Space,
			Action: joint.Action.Entries[i].Space}
		if len(all[i].Action.Entries) > 0 {
			return joint, fmt.Errorf("the action space of agent %s is a %v; it must be Box, Discrete or MultiDiscrete",
				seat.Name, all[i].Action.Kind)
		}
		all[i].Action.DType = spaces.Float32 // the child converts actions to the space's type
		if seat.Masks {
			all[i].ActionMask = spaces.NewActionMask(all[i].Action)
		}
	}
	return spaces.NewSeats(joint.State, all...), nil
}

// flagActive is the third bit of a seat's flags, after flagTerminated and flagTruncated: the seat acts next.
const flagActive = flagUnknown

// copySeats copies the seats' flags of environment i from the shared memory, and checks the copy: each seat ends once
// in a game, all seats end with the game, and at least one seat acts next.
func (x *exchange) copySeats(c *child, i int, what command) error {
	k := len(x.set.Seats)
	to, over, acts := x.own.Seats.Row(i, k), x.own.Ended(i), false
	for j := range k {
		flags, out, name := x.shared.seats[i*k+j], x.out[i*k+j], x.set.Seats[j].Name
		ended := flags&(flagTerminated|flagTruncated) != 0
		to.Active[j] = flags&flagActive != 0
		acts = acts || to.Active[j]
		switch {
		case flags > flagTerminated|flagTruncated|flagActive, what == commandReset && ended:
			return c.fault(FaultProtocol, nil, "environment %d: the flags of agent %s are %#x", i, name, flags)
		case what == commandReset:
			continue
		case out && ended, !over && (out || ended) && to.Active[j]:
			return c.fault(FaultProtocol, nil, "environment %d: agent %s ends twice in a game, or acts after its end",
				i, name)
		case over && !out && !ended:
			return c.fault(FaultProtocol, nil, "environment %d: the game has ended, and agent %s has not", i, name)
		}
		to.Terminated[j], to.Truncated[j] = flags&flagTerminated != 0, flags&flagTruncated != 0
	}
	if !acts {
		return c.fault(FaultProtocol, nil, "environment %d: the game goes on, and no agent acts", i)
	}
	return nil
}

// copyRewards copies the reward of environment i. With seats it copies the reward of each, and sums them.
func (x *exchange) copyRewards(c *child, i int) error {
	seats := x.own.Seats.Row(i, len(x.set.Seats)).Rewards
	k := max(1, len(seats))
	x.exact[i] = 0
	for j, r := range x.shared.rewards[i*k : (i+1)*k] {
		x.exact[i] += r
		if seats == nil {
			continue
		}
		if seats[j] = float32(r); seats[j]-seats[j] != 0 {
			return c.fault(FaultData, nil, "environment %d: the reward of agent %s is %g; it must be finite", i,
				x.set.Seats[j].Name, r)
		}
	}
	x.own.Rewards[i] = float32(x.exact[i])
	if r := x.own.Rewards[i]; r-r != 0 {
		return c.fault(FaultData, nil, "environment %d: the reward is %g; it must be finite", i, x.exact[i])
	}
	return nil
}

// truncateSeats ends the seats of environment i after its child was replaced in this step: all seats that were not out
// are truncated, with reward 0. Active already belongs to the new game.
func (x *exchange) truncateSeats(i int) {
	seats := x.own.Seats.Row(i, len(x.set.Seats))
	clear(seats.Rewards)
	clear(seats.Terminated)
	for j := range seats.Truncated {
		seats.Truncated[j] = !x.out[i*len(seats.Truncated)+j]
	}
}

// settleSeats records which seats are out, after all children have completed the step.
func (x *exchange) settleSeats() {
	for at := range x.out {
		seats := x.own.Seats
		x.out[at] = !x.own.Ended(at/len(x.set.Seats)) && (x.out[at] || seats.Terminated[at] || seats.Truncated[at])
	}
}
