package ippo

import (
	"errors"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/joint"
	"github.com/gorl-dev/gorl/spaces"
)

// A joint row has the seats' rows of a game one after another. A group's batch has one row for each of its seats in
// each game: row game·k + i belongs to the group's i-th seat. This file converts between the two forms.

// columns says where the values of a group's seats are in a joint row, for one kind of values, such as observations.
type columns struct {
	joint, own int   // the widths of a joint row and of a seat's
	at         []int // the first column of each of the group's seats
}

func columnsOf(g Group, set spaces.Set, of func(spaces.Seat) spaces.Space) columns {
	c := columns{own: of(set.Seats[g.seats[0]]).Width()}
	for i, seat := range set.Seats {
		if slices.Contains(g.seats, i) {
			c.at = append(c.at, c.joint)
		}
		c.joint += of(seat).Width()
	}
	return c
}

// take copies the seats' values of game from a joint batch into a group's batch.
func take[T any](c columns, game int, batch, joint []T) {
	for i, at := range c.at {
		copy(batch[(game*len(c.at)+i)*c.own:][:c.own], joint[game*c.joint+at:])
	}
}

// give copies all values of a group's batch into a joint batch.
func give(c columns, joint, batch []float32) {
	for game := range len(batch) / max(1, c.own*len(c.at)) {
		for i, at := range c.at {
			copy(joint[game*c.joint+at:][:c.own], batch[(game*len(c.at)+i)*c.own:])
		}
	}
}

// rows are a group's batches: what its agent acts on and records.
type rows struct {
	Group
	observation, action, mask, flag columns

	now                   agents.Observation
	next                  agents.Transition
	final, finalState     []float32
	rewards               []float32
	terminated, truncated []bool
	finalUnknown, invalid []bool
	idle, nextIdle        []bool
}

func newRows(g Group, set spaces.Set) *rows {
	return &rows{Group: g,
		observation: columnsOf(g, set, func(s spaces.Seat) spaces.Space { return s.Observation }),
		action:      columnsOf(g, set, func(s spaces.Seat) spaces.Space { return s.Action }),
		mask:        columnsOf(g, set, func(s spaces.Seat) spaces.Space { return s.ActionMask }),
		flag:        columnsOf(g, set, func(spaces.Seat) spaces.Space { return spaces.NewBox(0, 1, 1) })}
}

// allocate makes the batches for n games.
func (g *rows) allocate(n int) {
	n *= len(g.seats)
	sp := g.Spaces
	g.now = agents.Observation{Observations: sp.Observation.Rows(n), States: sp.State.Rows(n),
		ActionMasks: sp.ActionMask.Rows(n)}
	g.final, g.finalState = sp.Observation.Rows(n), sp.State.Rows(n)
	g.rewards = make([]float32, n)
	for _, flags := range []*[]bool{&g.terminated, &g.truncated, &g.finalUnknown, &g.invalid, &g.idle, &g.nextIdle} {
		*flags = make([]bool, n)
	}
	g.next = agents.Transition{Rewards: g.rewards, Terminated: g.terminated, Truncated: g.truncated,
		NextObservations: sp.Observation.Rows(n), NextStates: sp.State.Rows(n), FinalUnknown: g.finalUnknown,
		Invalid: g.invalid, Idle: g.idle, NextIdle: g.nextIdle}
}

// repeat copies the shared state of game from states (N, S) into the rows of all seats in batch.
func (g *rows) repeat(game int, batch, states []float32) {
	w, k := g.Spaces.State.Width(), len(g.seats)
	for i := range k {
		copy(batch[(game*k+i)*w:][:w], states[game*w:])
	}
}

// observe returns the group's rows of an observation of n games. states is (N, S), or nil if no value network reads it.
func (g *rows) observe(n int, in agents.Observation, states []float32) agents.Observation {
	for game := range n {
		take(g.observation, game, g.now.Observations, in.Observations)
		take(g.mask, game, g.now.ActionMasks, in.ActionMasks)
		g.repeat(game, g.now.States, states)
	}
	return g.now
}

// record returns the group's rows of a transition of n games. active (N, K) reports which seats acted. next and final
// (N, S) are the states that follow, and the last states of episodes that have ended.
//
// If a game ends, all its rows end. The last observation of a seat that ends earlier is among the next observations. If
// that seat is active next, that observation belongs to a new episode, and the last one is unknown.
func (g *rows) record(n int, t agents.Transition, active []bool, next, final []float32) agents.Transition {
	k, ended, missing := len(g.seats), false, false
	for game := range n {
		take(g.observation, game, g.next.NextObservations, t.NextObservations)
		g.repeat(game, g.next.NextStates, next)
		take(g.flag, game, g.rewards, t.Seats.Rewards)
		take(g.flag, game, g.terminated, t.Seats.Terminated)
		take(g.flag, game, g.truncated, t.Seats.Truncated)
		take(g.flag, game, g.idle, active)
		take(g.flag, game, g.nextIdle, t.Seats.Active)
		over := t.Terminated[game] || t.Truncated[game]
		for row := game * k; row < (game+1)*k; row++ {
			g.idle[row], g.nextIdle[row] = !g.idle[row], !g.nextIdle[row]
			g.invalid[row] = len(t.Invalid) > 0 && t.Invalid[game]
			if over && !g.terminated[row] && !g.truncated[row] { // it was out
				g.terminated[row], g.truncated[row] = t.Terminated[game], t.Truncated[game]
			}
			own := g.terminated[row] || g.truncated[row]
			ended = ended || own
			g.finalUnknown[row] = over && len(t.FinalUnknown) > 0 && t.FinalUnknown[game] ||
				own && !over && !g.nextIdle[row]
		}
		source := t.NextObservations
		if over {
			source = t.FinalObservations
			missing = missing || len(source) == 0 && !(len(t.FinalUnknown) > 0 && t.FinalUnknown[game])
		}
		if len(source) > 0 {
			take(g.observation, game, g.final, source)
			g.repeat(game, g.finalState, final)
		}
	}
	g.next.FinalObservations, g.next.FinalStates = nil, nil
	if ended && !missing { // PPO says what is missing if it needs it
		g.next.FinalObservations, g.next.FinalStates = g.final, g.finalState
	}
	return g.next
}

// state has what centralised value networks read, for N games.
type state struct {
	set              spaces.Set
	width            int
	now, next, final []float32 // (N, S)
}

// stateSpace returns the space of what centralised value networks read: the shared state, or the observations of all
// seats and which of them act.
func stateSpace(set spaces.Set) spaces.Space {
	if set.State.Kind != spaces.None {
		return set.State
	}
	parts := make([]spaces.Space, 0, len(set.Seats)+1)
	for _, seat := range set.Seats {
		parts = append(parts, seat.Observation)
	}
	return spaces.NewTuple(append(parts, spaces.NewBox(0, 1, len(set.Seats)))...)
}

func newState(set spaces.Set) *state { return &state{set: set, width: stateSpace(set).Width()} }

func (s *state) allocate(n int) {
	s.now, s.next, s.final = make([]float32, n*s.width), make([]float32, n*s.width), make([]float32, n*s.width)
}

// write writes the state of game into batch: its row of states or, without a state space, its observations and flags.
func (s *state) write(batch []float32, game int, states, observations []float32, active []bool) {
	row := batch[game*s.width:][:s.width]
	if s.set.State.Kind != spaces.None {
		copy(row, states[game*s.width:])
		return
	}
	w, k := s.set.Observation.Width(), len(s.set.Seats)
	copy(row, observations[game*w:][:w])
	for i, on := range active[game*k : (game+1)*k] {
		row[w+i] = 0
		if on {
			row[w+i] = 1
		}
	}
}

// observe returns the states of what n games show, nil for IPPO.
func (s *state) observe(n int, in agents.Observation) []float32 {
	if s == nil {
		return nil
	}
	for game := range n {
		s.write(s.now, game, in.States, in.Observations, in.Active)
	}
	return s.now
}

// record returns the states that follow a transition, and the last states of episodes that have ended. The flags of a
// last state are those of the last action, because no seat acts on a last state.
func (s *state) record(n int, t agents.Transition, active []bool) (next, final []float32) {
	if s == nil {
		return nil, nil
	}
	for game := range n {
		s.write(s.next, game, t.NextStates, t.NextObservations, t.Seats.Active)
		if !t.Terminated[game] && !t.Truncated[game] {
			s.write(s.final, game, t.NextStates, t.NextObservations, active)
		} else if len(t.FinalObservations) > 0 {
			s.write(s.final, game, t.FinalStates, t.FinalObservations, active)
		}
	}
	return s.next, s.final
}

// Act implements [agents.Agent]: every group acts on its own rows. The actions of seats that do not act have no
// meaning. The result (N, A) is overwritten by the next Act.
func (a *Agent) Act(in agents.Observation) ([]float32, error) {
	if a.games == 0 { // for programs that do not call Bind
		if err := a.Bind(len(in.Observations) / a.spaces.Observation.Width()); err != nil {
			return nil, err
		}
	}
	if err := joint.CheckObservation(a.Package, in, a.games, a.spaces); err != nil {
		return nil, err
	}
	states := a.shared.observe(a.games, in)
	err := a.Each(func(i int, member agents.Agent) error {
		g := a.groups[i]
		actions, err := member.Act(g.observe(a.games, in, states))
		if err == nil {
			give(g.action, a.action, actions)
		}
		return err
	})
	copy(a.active, in.Active)
	a.acted = err == nil
	return a.action, err
}

// Record implements [agents.Agent]: every group records its own rows.
func (a *Agent) Record(t agents.Transition) error {
	if !a.acted {
		return errors.New("ippo: Record without an Act before it")
	}
	if len(t.FinalStates) == 0 && a.shared != nil && a.spaces.State.Width() > 0 {
		t.FinalObservations = nil // PPO says that they are missing if it needs them
	}
	if err := errors.Join(t.Seats.Check(a.games, len(a.spaces.Seats)),
		joint.CheckTransition(a.Package, t, a.games, a.spaces)); err != nil {
		return err
	}
	next, final := a.shared.record(a.games, t, a.active)
	return a.Each(func(i int, member agents.Agent) error {
		return member.Record(a.groups[i].record(a.games, t, a.active, next, final))
	})
}
