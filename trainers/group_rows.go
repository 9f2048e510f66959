package trainers

import (
	"errors"
	"slices"

	"github.com/gorl-dev/gorl/agents"
)

// The environments of a group are the N rows of one batch, a flat slice (N × width), row by row. Agent i has scopes[i]
// consecutive rows from starts[i] on. Its inputs are therefore slices of the batch, and only actions are copied.

// slice returns agent i's rows of a batch (N × width). The result shares the batch's memory. An empty batch, which has
// no rows at this step, gives nil.
func slice[T any](g *Group, i int, rows []T, width int) []T {
	if len(rows) == 0 {
		return nil
	}
	return rows[g.starts[i]*width : (g.starts[i]+g.scopes[i])*width]
}

// Act implements [agents.Agent]: every agent acts on its own rows. Without scopes the first Act divides the
// environments. The result (N, A) is the group's and overwritten by the next Act.
func (g *Group) Act(in agents.Observation) ([]float32, error) {
	o, s, w := g.spaces.Observation.Width(), g.spaces.State.Width(), g.spaces.Action.Width()
	k := g.spaces.ActionMask.Width()
	// The number of environments follows from the first batch, for programs that do not call Bind.
	if g.scopes == nil {
		if err := g.Bind(len(in.Observations) / o); err != nil {
			return nil, err
		}
	}
	if err := g.CheckObservation(in, g.NumEnvs(), g.spaces); err != nil {
		return nil, err
	}
	return g.action, g.Each(func(i int, a agents.Agent) error {
		actions, err := a.Act(agents.Observation{Observations: slice(g, i, in.Observations, o),
			States: slice(g, i, in.States, s), ActionMasks: slice(g, i, in.ActionMasks, k)})
		if err != nil {
			return err
		}
		copy(slice(g, i, g.action, w), actions) // the agent's own slice is overwritten by its next Act
		return nil
	})
}

// Terminates implements [agents.Terminator]: it reports whether any agent ends episodes.
func (g *Group) Terminates() bool {
	return slices.ContainsFunc(g.List, func(a agents.Agent) bool {
		t, ok := agents.As[agents.Terminator](a)
		return ok && t.Terminates()
	})
}

// Terminations implements [agents.Terminator]. It joins the agents' masks into one of all environments, (N), or nil if
// no agent ends an episode.
func (g *Group) Terminations() []bool {
	var ends []bool
	for i, a := range g.List {
		t, ok := agents.As[agents.Terminator](a)
		if !ok {
			continue
		}
		// Most steps end no episode: the mask is made only if one does.
		if own := t.Terminations(); own != nil {
			if ends == nil {
				ends = make([]bool, g.NumEnvs())
			}
			copy(slice(g, i, ends, 1), own)
		}
	}
	return ends
}

// Record implements [agents.Agent]: every agent records its own rows. Record checks all widths before any agent
// records, so that agents never hold different numbers of steps. In evaluation the agents only clear the hidden states
// of environments whose episodes have ended.
func (g *Group) Record(t agents.Transition) error {
	if g.scopes == nil {
		return errors.New("trainers: Record without an Act before it")
	}
	if err := g.CheckTransition(t, g.NumEnvs(), g.spaces); err != nil {
		return err
	}
	o, s := g.spaces.Observation.Width(), g.spaces.State.Width()
	// Agents get slices of the batch, without copies. An agent without a discriminator gets no AMP observations.
	return g.Each(func(i int, a agents.Agent) error {
		return a.Record(agents.Transition{
			Rewards: slice(g, i, t.Rewards, 1), Terminated: slice(g, i, t.Terminated, 1), Truncated: slice(g, i,
				t.Truncated, 1),
			NextObservations: slice(g, i, t.NextObservations, o), NextStates: slice(g, i, t.NextStates, s),
			FinalObservations: slice(g, i, t.FinalObservations, o), FinalStates: slice(g, i, t.FinalStates, s),
			FinalUnknown: slice(g, i, t.FinalUnknown, 1), Invalid: slice(g, i, t.Invalid, 1),
			Idle: slice(g, i, t.Idle, 1), NextIdle: slice(g, i, t.NextIdle, 1),
			AMPObservations: slice(g, i, t.AMPObservations, a.Spaces().AMPObservation.Width()),
		})
	})
}
