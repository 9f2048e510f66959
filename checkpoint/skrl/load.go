package skrl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// Snapshot fits the checkpoint into a snapshot of the agent that is to continue. Networks, Adam's state and running
// scalers come from the file. The rest (counters, random states, memories) comes from like, without a rollout in
// progress. File and agent must have the same networks and scalers. A missing one, another shape, or a parameter that
// is not finite is an error that names it. Networks are matched by name if all names agree, apart from the "_container"
// of skrl's instantiators; otherwise by order and shape.
//
// The agent's KLAdaptiveLR continues with the file's learning rate. An agent with a constant rate keeps its own;
// [Checkpoint.Adam] returns the file's. The weight decay must be the agent's.
func (c *Checkpoint) Snapshot(like *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	snap, left, err := c.Merge(like)
	switch {
	case err != nil:
		return nil, err
	case len(left.Missing) > 0:
		return nil, fmt.Errorf("skrl: %s has no %s, which the agent has; Merge keeps the agent's own", c.Path,
			strings.Join(left.Missing, ", "))
	case len(left.Unused) > 0:
		return nil, fmt.Errorf("skrl: %s has %s, for which the agent has no place; configure the agent so that it "+
			"has, or use Merge to leave them out", c.Path, strings.Join(left.Unused, ", "))
	}
	return snap, nil
}

// Left lists what [Checkpoint.Merge] could not use.
type Left struct {
	// Missing are the agent's modules that the file lacks. They stay as they are.
	Missing []string
	// Unused are the file's modules that the agent lacks.
	Unused []string
}

// Merge is [Checkpoint.Snapshot] for a file and an agent with different modules, for example a policy that was saved
// alone. The modules of both must fit.
func (c *Checkpoint) Merge(like *checkpoint.Snapshot) (*checkpoint.Snapshot, Left, error) {
	l := loader{c: c, like: like, used: map[string]bool{}, snap: &checkpoint.Snapshot{
		Arrays: maps.Clone(like.Arrays), Values: maps.Clone(like.Values), Metadata: maps.Clone(like.Metadata),
	}}
	for _, step := range []func() error{l.networks, l.optimizer, l.scalers} {
		if err := step(); err != nil {
			return nil, Left{}, err
		}
	}
	layout.DropRollout(l.snap) // other parameters collected it
	if err := l.snap.CheckFinite(); err != nil {
		return nil, Left{}, err
	}
	for _, m := range c.Modules {
		if !l.used[m.Name] {
			l.left.Unused = append(l.left.Unused, m.Name)
		}
	}
	return l.snap, l.left, nil
}

// loader fills a snapshot.
type loader struct {
	c          *Checkpoint
	like, snap *checkpoint.Snapshot
	fitted     []fitted // all parameters in the order of the file's optimizer
	whole      bool     // every network of the agent is in the file
	used       map[string]bool
	left       Left
}

func (l *loader) networks() error {
	list, err := groups(l.like)
	if err != nil {
		return err
	}
	l.whole = true
	for _, g := range list {
		pairs, err := l.c.fit(g)
		if err != nil {
			return err
		}
		if pairs == nil {
			l.left.Missing, l.whole = append(l.left.Missing, g.modules...), false
			continue
		}
		for _, m := range g.modules {
			l.used[m] = true
		}
		for _, p := range pairs {
			l.snap.Arrays[p.agent.name] = p.file.array
		}
		l.fitted = append(l.fitted, pairs...)
	}
	return nil
}

// optimizer sets Adam's moments. The file numbers them over the parameters of all its networks.
func (l *loader) optimizer() error {
	a, err := l.c.Adam()
	if err != nil {
		return err
	}
	extra := slices.ContainsFunc([]string{layout.Policy, layout.Value, layout.Discriminator},
		func(m string) bool { return l.c.Module(m) != nil && !l.used[m] })
	if a == nil || !l.whole || extra {
		// Moments are numbered over all networks. They are of no use if a network is missing on either side.
		l.left.Missing = append(l.left.Missing, layout.Optimizer)
		return nil
	}
	l.used[layout.Optimizer] = true
	if err := a.fits(l.like); err != nil {
		return err
	}
	if len(a.moments) != len(l.fitted) {
		return fmt.Errorf("skrl: optimizer: it has %d parameters, the file's networks have %d", len(a.moments),
			len(l.fitted))
	}
	bySteps := map[string][]moments{layout.Optimizer: nil}
	for i, p := range l.fitted {
		name, m := optimizerOf(l.like, p.agent.name), a.moments[i]
		if m.step == 0 {
			zeros := checkpoint.ArrayFloat32(p.file.array.Shape, make([]float32, p.file.array.Len()))
			m.expAvg, m.expAvgSq = zeros, zeros
		}
		for _, x := range []checkpoint.Array{m.expAvg, m.expAvgSq} {
			if !slices.Equal(x.Shape, p.file.array.Shape) {
				return fmt.Errorf("skrl: optimizer: parameter %d has moments of shape %v, but is %s %v", i, x.Shape,
					p.file.name, p.file.array.Shape)
			}
		}
		l.snap.Arrays[layout.ExpAvg(name, p.agent.name)] = m.expAvg
		l.snap.Arrays[layout.ExpAvgSq(name, p.agent.name)] = m.expAvgSq
		bySteps[name] = append(bySteps[name], m)
	}
	counts := map[string]any{}
	for name, list := range bySteps {
		n, err := commonStep(list)
		if err != nil {
			return err
		}
		counts[name] = n
	}
	l.snap.Values[layout.OptimizerSteps] = counts
	state := maps.Clone(layout.Map(l.snap.Values, layout.SchedulerState))
	if _, adapts := state[layout.LearningRate]; adapts { // an adaptive schedule continues with the file's rate
		state[layout.LearningRate] = a.LearningRate
		l.snap.Values[layout.SchedulerState] = state
	}
	return nil
}

// optimizerOf returns the agent's optimizer of a parameter. The discriminator may have its own.
func optimizerOf(snap *checkpoint.Snapshot, name string) string {
	network, _, _ := layout.CutParameter(name)
	if _, ok := snap.Arrays[layout.ExpAvg(layout.DiscriminatorOptimizer, name)]; ok && network == layout.Discriminator {
		return layout.DiscriminatorOptimizer
	}
	return layout.Optimizer
}

func (l *loader) scalers() error {
	for _, name := range layout.Scalers() {
		if _, other := l.like.Arrays[layout.Statistic(name, layout.RunningMeanAbs)]; other { // skrl has no such scaler
			l.left.Missing = append(l.left.Missing, name)
			continue
		}
		if !hasScaler(l.like, name) {
			continue
		}
		d, module := l.c.scaler(l.like, name)
		if d == nil {
			l.left.Missing = append(l.left.Missing, name)
			continue
		}
		l.used[module] = true
		if err := readScaler(l.snap, name, module, d); err != nil {
			return err
		}
	}
	return nil
}
