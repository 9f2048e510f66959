package trainers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/joint"
	"github.com/gorl-dev/gorl/spaces"
)

// Group is several agents that learn at the same time in one vector environment, each on its own consecutive rows
// (skrl: simultaneous agents with scopes). It is an [agents.Agent], so trainers take it like any other. The agents act
// and learn on goroutines of their own, with the same results as one after the other.
//
//	group, err := trainers.NewGroup([]agents.Agent{first, second}, []int{32, 16}) // of 48 environments
//	// ...
//	trainer, err := trainers.New(env, group, trainers.Config{Timesteps: 25_000})
//
// Tracked values are prefixed by "Agent <i> / ", hyperparameters are keyed "<i>.learning_rate" and so on, i counting
// agents from 0 in the order given. [Trainer.Metrics] has each agent's episodes as "agent_<i>.episode.return" and so
// on, in addition to those of all. If an agent lacks an optional interface of package agents, the group's method skips
// that agent. Snapshot and Restore return an error that names it.
type Group struct {
	joined
	scopes []int // the number of environments of each agent; nil before Bind, unless they were given
	starts []int // the first environment of each agent
	spaces spaces.Set
	action []float32 // (N, A), what Act returns
}

// joined has the methods of a Group that do not divide rows.
type joined = joint.Agents

var (
	_ joint.Whole       = (*Group)(nil)
	_ agents.Composite  = (*Group)(nil)
	_ agents.Terminator = (*Group)(nil)
)

// NewGroup joins agents of the same observations, states and actions. scopes has the number of environments of each
// agent. If scopes is nil, the environments are divided into equal parts, and the last part takes the remainder. The
// group owns the agents, unless an error is returned.
func NewGroup(list []agents.Agent, scopes []int) (*Group, error) {
	if len(list) == 0 {
		return nil, errors.New("trainers: a group needs at least one agent")
	}
	g := &Group{joined: joined{List: slices.Clone(list), Package: "trainers", Kind: groupName,
		Tag: func(i int, tag string) string { return fmt.Sprintf("Agent %d / %s", i, tag) }}}
	for i, a := range list {
		g.Names = append(g.Names, fmt.Sprintf("agent %d", i))
		g.Keys = append(g.Keys, strconv.Itoa(i))
		if a == nil {
			return nil, fmt.Errorf("trainers: agent %d of the group is missing", i)
		}
		if j := slices.Index(list, a); j != i {
			return nil, fmt.Errorf("trainers: agents %d and %d of the group are the same", j, i)
		}
		if err := g.admit(i, a.Spaces()); err != nil {
			return nil, err
		}
	}
	if scopes == nil { // Bind cuts equal parts, once the number of environments is known
		return g, nil
	}
	if len(scopes) != len(list) {
		return nil, fmt.Errorf("trainers: the group has %d agents and %d scopes; give one number of environments an "+
			"agent", len(list), len(scopes))
	}
	if err := g.cut(scopes); err != nil {
		return nil, err
	}
	return g, nil
}

// admit returns an error if the spaces of agent i differ from those of the agents before it. Only AMP agents have an
// AMP observation space. The group has that of its first AMP agent, which later ones must equal.
func (g *Group) admit(i int, sp spaces.Set) error {
	if err := sp.RefuseSeats("trainers: a group of agents for separate environments"); err != nil {
		return err
	}
	if i == 0 {
		g.spaces = sp
		return nil
	}
	switch {
	case sp.AMPObservation.Kind == spaces.None:
		sp.AMPObservation = g.spaces.AMPObservation
	case g.spaces.AMPObservation.Kind == spaces.None:
		g.spaces.AMPObservation = sp.AMPObservation
	}
	if name, got, want := sp.Difference(g.spaces); name != "" {
		return fmt.Errorf("trainers: agent %d of the group was made for the %s %s; the agents before it for %s", i,
			name, got, want)
	}
	return nil
}

// cut gives every agent its consecutive environments, and fixes their number for good. scopes has one element per
// agent. If a scope is wrong, cut returns an error before it binds an agent, because binding cannot be undone.
func (g *Group) cut(scopes []int) error {
	// All scopes are checked before the first agent is bound.
	for i, a := range g.List {
		if scopes[i] <= 0 {
			return fmt.Errorf("trainers: the scope of agent %d is %d environments; it must be positive", i, scopes[i])
		}
		b, ok := agents.As[agents.Binder](a)
		if !ok {
			continue
		}
		if n := b.NumEnvs(); n != 0 && n != scopes[i] {
			return fmt.Errorf("trainers: agent %d acts in %d environments, its scope is %d", i, n, scopes[i])
		}
	}
	// Every agent's rows begin where those of the agent before it end.
	starts, start := make([]int, len(scopes)), 0
	for i, a := range g.List {
		if err := bind(a, scopes[i]); err != nil {
			return fmt.Errorf("trainers: agent %d: %w", i, err)
		}
		starts[i] = start
		start += scopes[i]
	}
	g.scopes, g.starts = slices.Clone(scopes), starts
	g.action = make([]float32, start*g.spaces.Action.Width())
	return nil
}

// AgentOf implements [agents.Composite]: it returns the index of the agent that acts in environment env.
func (g *Group) AgentOf(env int) int {
	i, _ := slices.BinarySearch(g.starts, env+1) // the first agent that starts after env
	return i - 1
}

// Agents returns the agents, in order.
func (g *Group) Agents() []agents.Agent { return slices.Clone(g.List) }

// Scopes returns the number of environments of each agent, or nil before these are known.
func (g *Group) Scopes() []int { return slices.Clone(g.scopes) }

// groupName is the name of every group. Snapshots have it, by which Restore recognises a group.
const groupName = "Group"

// Name implements [agents.Agent]: "Group".
func (g *Group) Name() string { return groupName }

// Spaces implements [agents.Agent]. The spaces are common to all agents, apart from the AMP observations (admit).
func (g *Group) Spaces() spaces.Set { return g.spaces }

// NumEnvs implements [agents.Binder]: it returns the sum of the scopes, or 0 before they are known.
func (g *Group) NumEnvs() int {
	n := 0
	for _, k := range g.scopes {
		n += k
	}
	return n
}

// Bind implements [agents.Binder]. Without scopes it divides the environments into equal parts, and the last part takes
// the remainder. Scopes that were given must add up to numEnvs.
func (g *Group) Bind(numEnvs int) error {
	if g.scopes != nil {
		if n := g.NumEnvs(); n != numEnvs {
			return fmt.Errorf("trainers: the scopes %v of the group add up to %d, but there are %d environments",
				g.scopes, n, numEnvs)
		}
		return nil
	}
	k := len(g.List)
	if numEnvs < k {
		return fmt.Errorf("trainers: %d environments cannot be divided among %d agents", numEnvs, k)
	}
	// Equal parts, with the remainder in the last one, as skrl divides them.
	scopes := make([]int, k)
	for i := range scopes {
		scopes[i] = numEnvs / k
	}
	scopes[k-1] += numEnvs % k
	return g.cut(scopes)
}

// ResetHidden implements [agents.Recurrent]. Each agent gets its own environments, numbered from its first one. An
// agent with none of them is not called: without arguments it would reset all its environments.
func (g *Group) ResetHidden(environments ...int) {
	for i, a := range g.List {
		var own []int
		for _, e := range environments {
			if g.scopes != nil && e >= g.starts[i] && e < g.starts[i]+g.scopes[i] {
				own = append(own, e-g.starts[i])
			}
		}
		if r, ok := agents.As[agents.Recurrent](a); ok && (len(own) > 0 || len(environments) == 0) {
			r.ResetHidden(own...)
		}
	}
}

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
	if err := joint.CheckObservation(g.Package, in, g.NumEnvs(), g.spaces); err != nil {
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
	if err := joint.CheckTransition(g.Package, t, g.NumEnvs(), g.spaces); err != nil {
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
