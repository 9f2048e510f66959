// Package joint makes one agent of several. It is the common part of agents/ippo and trainers.Group.
package joint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/undo"
	"github.com/gorl-dev/gorl/models/description"
)

// Agents is a list of agents that together are one agent, the whole. A whole embeds Agents and adds the methods that
// divide rows: Act, Record, Bind and ResetHidden. The agents share no state, so results do not depend on their order.
// If an agent lacks an optional interface, the method skips the agent; Snapshot and Restore return an error.
type Agents struct {
	// List has the agents. Names has one name for each, such as "agent 0", with which notes and errors begin.
	List  []agents.Agent
	Names []string
	// Keys begin the names of the agents' hyperparameters: "0" in "0.learning_rate".
	Keys []string
	// Package begins errors, and Kind is the whole's name in snapshots and errors.
	Package, Kind string
	// Tag returns the whole's tag for a tracked value of agent i.
	Tag func(i int, tag string) string
	// Ordered makes the agents work one after the other, as several ranks need. Otherwise the agents work at the same
	// time.
	Ordered bool
}

// Whole is what every agent that embeds Agents can do, and every other agent of gorl.
type Whole interface {
	agents.Agent
	agents.Binder
	agents.Tracker
	agents.Noter
	agents.Tunable
	agents.Planner
	agents.Snapshotter
	agents.Reseeder
	agents.Stochastic
	agents.Evolvable
	agents.Recurrent
	agents.Overlapping
}

// Each calls f for every agent and joins the errors, each with the agent's name.
func (g *Agents) Each(f func(i int, a agents.Agent) error) error {
	failed := make([]error, len(g.List))
	var all sync.WaitGroup
	for i, a := range g.List {
		if i == 0 || g.Ordered {
			continue // on the caller's goroutine: with one agent there is nothing to wait for
		}
		all.Go(func() { failed[i] = f(i, a) })
	}
	for i, a := range g.List {
		if i == 0 || g.Ordered {
			failed[i] = f(i, a)
		}
	}
	all.Wait()
	for i, err := range failed {
		if err != nil {
			failed[i] = fmt.Errorf("%s: %w", g.Names[i], err)
		}
	}
	return errors.Join(failed...)
}

// Ready implements [agents.Agent]: it reports whether any agent is ready.
func (g *Agents) Ready() bool { return slices.ContainsFunc(g.List, agents.Agent.Ready) }

// Update implements [agents.Agent]: the agents that are ready learn. An agent that fails does not stop the others.
// After an error or a cancelled context, the agents that have not learned are still ready.
func (g *Agents) Update(ctx context.Context) error {
	if !g.Ready() {
		return fmt.Errorf("%s: Update of a %s in which no agent's rollout is complete; call it when Ready", g.Package,
			g.Kind)
	}
	// Agents with rollouts of different lengths are ready at different timesteps.
	return g.Each(func(_ int, a agents.Agent) error {
		if !a.Ready() {
			return nil
		}
		return a.Update(ctx)
	})
}

// Wait implements [agents.Overlapping]: it waits for the agents that implement it.
func (g *Agents) Wait(ctx context.Context) error {
	return g.Each(func(_ int, a agents.Agent) error {
		if o, ok := agents.As[agents.Overlapping](a); ok {
			return o.Wait(ctx)
		}
		return nil
	})
}

// SetTraining implements [agents.Agent]. All agents have the mode of the first.
func (g *Agents) SetTraining(on bool) (was bool) {
	for i, a := range g.List {
		if before := a.SetTraining(on); i == 0 {
			was = before
		}
	}
	return was
}

// HiddenSizes implements [agents.Recurrent]. Names begin with the agent's key in snapshots ("agent_0.policy").
func (g *Agents) HiddenSizes() map[string]int {
	return collect(g, layout.Member, agents.Recurrent.HiddenSizes)
}

// Architectures implements [agents.Evolvable]. Names begin with the agent's key, as in "speaker.policy".
func (g *Agents) Architectures() map[string]description.Architecture {
	return collect(g, g.key, agents.Evolvable.Architectures)
}

// Hyperparameters implements [agents.Tunable]. It returns the settings of all agents. Names begin with the agent's key,
// as in "0.learning_rate".
func (g *Agents) Hyperparameters() map[string]float64 {
	return collect(g, g.key, agents.Tunable.Hyperparameters)
}

func (g *Agents) key(i int) string { return g.Keys[i] }

// collect joins what values returns for every agent that implements T. Names begin with the agent's key.
func collect[T, V any](g *Agents, key func(i int) string, values func(T) map[string]V) map[string]V {
	all := map[string]V{}
	inOrder(g, func(i int, a T) {
		for name, v := range values(a) {
			all[key(i)+"."+name] = v
		}
	})
	return all
}

// inOrder calls f for every agent that implements T.
func inOrder[T any](g *Agents, f func(i int, a T)) {
	for i, a := range g.List {
		if t, ok := agents.As[T](a); ok {
			f(i, t)
		}
	}
}

// SetStochastic implements [agents.Stochastic].
func (g *Agents) SetStochastic(on bool) {
	inOrder(g, func(_ int, a agents.Stochastic) { a.SetStochastic(on) })
}

// Tracked implements [agents.Tracker].
func (g *Agents) Tracked(f func(tag string, value float64)) {
	all := map[string]float64{} // because tags are sorted over all agents
	inOrder(g, func(i int, a agents.Tracker) {
		a.Tracked(func(tag string, value float64) { all[g.Tag(i, tag)] = value })
	})
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		f(tag, all[tag])
	}
}

// Noted implements [agents.Noter]. Notes begin with the agent's name.
func (g *Agents) Noted(f func(note string)) {
	inOrder(g, func(i int, a agents.Noter) { a.Noted(func(note string) { f(g.Names[i] + ": " + note) }) })
}

// Plan implements [agents.Planner]. Notes begin with the agent's name.
func (g *Agents) Plan(timesteps int) (notes []string) {
	inOrder(g, func(i int, a agents.Planner) {
		for _, note := range a.Plan(timesteps) {
			notes = append(notes, g.Names[i]+": "+note)
		}
	})
	return notes
}

// golden is 2⁶⁴ divided by the golden ratio. Its multiples modulo 2⁶⁴ are spread evenly, so the agents' seeds are far
// apart.
const golden = 0x9e3779b97f4a7c15

// Seed is agent i's seed in a whole with the given seed.
func Seed(seed int64, i int) int64 { return int64(uint64(seed) + uint64(i)*golden) }

// Reseed implements [agents.Reseeder]. Every agent gets a seed of its own, derived from seed and its index.
func (g *Agents) Reseed(seed int64) (err error) {
	inOrder(g, func(i int, a agents.Reseeder) { err = errors.Join(err, a.Reseed(Seed(seed, i))) })
	return err
}

// Close closes all agents. It may be called twice.
func (g *Agents) Close() (err error) {
	for _, a := range g.List {
		err = errors.Join(err, a.Close())
	}
	return err
}

// HyperparametersOf returns those of an agent, or nil if it has none.
func HyperparametersOf(agent agents.Agent) map[string]float64 {
	if t, ok := agents.As[agents.Tunable](agent); ok {
		return t.Hyperparameters()
	}
	return nil
}

// SetHyperparameters implements [agents.Tunable]. It changes the agents one after the other. If an agent refuses, the
// agents before it get their own values back. Either all agents change or none.
func (g *Agents) SetHyperparameters(values map[string]float64) error {
	// Divide the values by agent. A name that begins with no agent's key is an error before anything changes.
	parts := make([]map[string]float64, len(g.List))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(g.Keys, func(k string) bool { return strings.HasPrefix(key, k+".") })
		if i < 0 {
			return fmt.Errorf("%s: the %s has no hyperparameter %q; a key begins with the agent's, %s, as in %q",
				g.Package, g.Kind, key, strings.Join(g.Keys, ", "), g.Keys[0]+".learning_rate")
		}
		if parts[i] == nil {
			parts[i] = map[string]float64{}
		}
		parts[i][key[len(g.Keys[i])+1:]] = values[key]
	}
	before := make([]map[string]float64, len(g.List))
	set := func(i int, values map[string]float64) error {
		if values == nil {
			return nil
		}
		t, ok := agents.As[agents.Tunable](g.List[i])
		if !ok {
			return fmt.Errorf("the agent (%T) has no hyperparameters to set: it is no agents.Tunable", g.List[i])
		}
		before[i] = t.Hyperparameters()
		return t.SetHyperparameters(values)
	}
	return g.all(func(i int) error { return set(i, parts[i]) }, func(i int) error { return set(i, before[i]) })
}

// all changes every agent in order, or none: if one refuses, back undoes the changes before it.
func (g *Agents) all(change, back func(i int) error) error {
	return undo.All(undo.Indices(len(g.List)), func(i int) error {
		if err := change(i); err != nil {
			return fmt.Errorf("%s: %s: %w", g.Package, g.Names[i], err)
		}
		return nil
	}, back)
}
