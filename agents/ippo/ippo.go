// Package ippo is independent PPO (IPPO; de Witt et al. 2020) and multi-agent PPO (MAPPO; Yu et al. 2022), for
// environments in which several agents act (spaces.Set.Seats).
//
// An [Agent] consists of PPO agents, one for each group of seats that share parameters ("parameter_sharing"). In IPPO
// the value networks read what the group's seats observe. In MAPPO they read the shared state, and policies do not.
// Without a state, MAPPO's value networks read the observations of all seats and which of them act.
//
// A row of a group's agent is a seat of a game: a group of k seats has N·k rows in N games. Nothing learns from rows
// whose seats do not act. Rewards and ends that a seat gets while it waits for its turn belong to its last action.
package ippo

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/joint"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Options are the arguments of [New].
type Options struct {
	// Spaces describes one environment, with its seats. NumEnvs is the number of environments (games) that step
	// together. With 0 the trainer sets it.
	Spaces  spaces.Set
	NumEnvs int
	// Centralised makes the agent MAPPO: value networks read the shared state. Otherwise it is IPPO.
	Centralised bool
	// Models returns the networks of each group, for instance [MLPs].
	Models func(g Group) ppo.Models
	// Dict holds settings by the keys of skrl's documentation, see [Groups]. nil keeps all defaults.
	Dict map[string]any
	// Seed starts every random sequence of the agent. Equal seeds reproduce a run bit for bit on the same machine.
	Seed int64
	// Group connects the processes that train the agent together, see ppo.Options. nil is one process.
	Group *distributed.Group
}

// Agent is an IPPO or MAPPO agent, made by [New]. It implements [agents.Agent] and every optional interface of package
// agents but [agents.Terminator].
//
// Tags of tracked values end in the group's name ("Loss / Policy loss (chaser)"). Names of hyperparameters and
// architectures begin with it ("chaser.learning_rate", "chaser.policy"). In snapshots the groups are the agents
// "agent_0", "agent_1" and so on. The groups act and learn on goroutines of their own; the results are those of one
// group after the other. Like a PPO agent, an Agent serves one goroutine at a time.
type Agent struct {
	joined
	name   string
	spaces spaces.Set
	groups []*rows
	shared *state // nil unless centralised
	ranks  *distributed.Group

	games  int       // N, 0 before Bind
	action []float32 // (N, A), what Act returns
	active []bool    // (N, K), the seats that acted in the last Act
	acted  bool      // whether Record may be called
}

// joined has the methods of an Agent that need not divide rows among the groups.
type joined = joint.Agents

var (
	_ joint.Whole        = (*Agent)(nil)
	_ agents.Distributed = (*Agent)(nil)
)

// New makes an agent. It returns an error, before anything changes, if spaces, models or settings are wrong.
func New(o Options) (*Agent, error) {
	if o.Models == nil {
		return nil, errors.New("ippo: Options.Models is missing; ippo.MLPs makes networks for every group")
	}
	groups, err := Groups(o.Dict, o.Spaces, o.Centralised)
	if err != nil {
		return nil, err
	}
	a := &Agent{name: nameOf(o.Centralised), spaces: o.Spaces, ranks: o.Group}
	a.joined = joined{Package: "ippo", Kind: a.name, Ordered: o.Group.Several(),
		Tag: func(i int, tag string) string { return fmt.Sprintf("%s (%s)", tag, groups[i].Name) }}
	if o.Centralised {
		a.shared = newState(o.Spaces)
	}
	for i, g := range groups {
		member, err := ppo.New(ppo.Options{Spaces: g.Spaces, Models: o.Models(g), Dict: g.Dict,
			Seed: joint.Seed(o.Seed, i), Group: o.Group})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("ippo: group %s: %w", g.Name, err), a.Close())
		}
		a.List, a.Names, a.Keys = append(a.List, member), append(a.Names, g.Name), append(a.Keys, g.Name)
		a.groups = append(a.groups, newRows(g, o.Spaces))
	}
	if o.NumEnvs != 0 {
		if err := a.Bind(o.NumEnvs); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

func nameOf(centralised bool) string {
	if centralised {
		return "MAPPO"
	}
	return "IPPO"
}

// MLPs returns the models of [ppo.MLPs] for every group: perceptrons with the given hidden layers and, optionally,
// initial weights.
func MLPs(hidden []int, activation string, initialization ...models.Initialization) func(g Group) ppo.Models {
	return func(g Group) ppo.Models { return ppo.MLPs(g.Spaces, hidden, activation, initialization...) }
}

// Evolvable returns the models of [ppo.Evolvable] for every group. networks has the architectures by group and network
// ("speaker.policy", "speaker.value"), as [Agent.Architectures] and evolution.Architectures return them. Package
// pbt/evolution changes architectures. If a group has none, the error of [New] names the group.
func Evolvable(networks map[string]description.Architecture, gaussian models.GaussianConfig) func(g Group) ppo.Models {
	return func(g Group) ppo.Models {
		return ppo.Evolvable(g.Spaces, networks[g.Name+"."+layout.Policy], networks[g.Name+"."+layout.Value], gaussian)
	}
}

// Name implements [agents.Agent]: "IPPO" or "MAPPO".
func (a *Agent) Name() string { return a.name }

// Spaces implements [agents.Agent].
func (a *Agent) Spaces() spaces.Set { return a.spaces }

// Groups returns the groups of seats in order.
func (a *Agent) Groups() []Group {
	list := make([]Group, len(a.groups))
	for i, g := range a.groups {
		list[i] = g.Group
	}
	return list
}

// Agents returns the groups' agents in order. They are *ppo.Agent.
func (a *Agent) Agents() []agents.Agent { return slices.Clone(a.List) }

// Ranks implements [agents.Distributed].
func (a *Agent) Ranks() *distributed.Group { return a.ranks }

// NumEnvs implements [agents.Binder]: it returns the number of games.
func (a *Agent) NumEnvs() int { return a.games }

// Bind implements [agents.Binder].
func (a *Agent) Bind(numEnvs int) error {
	if numEnvs <= 0 || a.games != 0 && a.games != numEnvs {
		return fmt.Errorf("ippo: the number of environments is %d; want a positive number, and the same in every Bind "+
			"(the first had %d; 0 is none)", numEnvs, a.games)
	}
	for i, member := range a.List {
		if err := member.(agents.Binder).Bind(numEnvs * len(a.groups[i].seats)); err != nil {
			return fmt.Errorf("ippo: group %s: %w", a.Names[i], err)
		}
		a.groups[i].allocate(numEnvs)
	}
	a.games = numEnvs
	a.action = make([]float32, numEnvs*a.spaces.Action.Width())
	a.active = make([]bool, numEnvs*len(a.spaces.Seats))
	if a.shared != nil {
		a.shared.allocate(numEnvs)
	}
	return nil
}

// Snapshot implements [agents.Snapshotter]. It joins the snapshots of the groups' agents, and names the groups.
func (a *Agent) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	snap, err := a.joined.Snapshot(opt)
	if err == nil {
		names := make([]any, len(a.Names))
		for i, name := range a.Names {
			names[i] = name
		}
		snap.Values[layout.GroupNames] = names
	}
	return snap, err
}

// Restore implements [agents.Snapshotter]. It restores all groups or, on an error, none.
func (a *Agent) Restore(snap *checkpoint.Snapshot) error {
	if names, ok := snap.Values[layout.GroupNames]; ok && fmt.Sprint(names) != fmt.Sprint(a.Names) {
		return fmt.Errorf("ippo: the checkpoint is of the groups %v, and the agent's are %v: give the same seats and "+
			"parameter_sharing", names, a.Names)
	}
	return a.joined.Restore(snap)
}

// ResetHidden implements [agents.Recurrent]. environments are games.
func (a *Agent) ResetHidden(environments ...int) {
	for i, member := range a.List {
		k := len(a.groups[i].seats)
		own := make([]int, 0, len(environments)*k)
		for _, e := range environments {
			for j := range k {
				own = append(own, e*k+j)
			}
		}
		member.(agents.Recurrent).ResetHidden(own...)
	}
}
