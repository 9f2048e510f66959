package joint

import (
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// format is the version of the layout that Snapshot writes. Restore refuses snapshots of other versions.
const format = 1

// Snapshot implements [agents.Snapshotter]. It joins the agents' snapshots: their arrays have the prefix "agent_<i>/",
// and their values are under "agent_<i>". It returns an error if an agent is no agents.Snapshotter.
func (g *Agents) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	all := checkpoint.NewSnapshot()
	all.Values[layout.Agent], all.Values[layout.Format] = g.Kind, format
	all.Values[layout.GroupSize] = len(g.List)
	for i, a := range g.List {
		s, err := snapshotter(a)
		if err != nil {
			return nil, err
		}
		snap, err := s.Snapshot(opt)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", g.Package, g.Names[i], err)
		}
		for name, array := range snap.Arrays {
			all.Arrays[layout.Parameter(layout.Member(i), name)] = array
		}
		all.Values[layout.Member(i)] = snap.Values
	}
	return all, nil
}

func snapshotter(a agents.Agent) (agents.Snapshotter, error) {
	s, ok := agents.As[agents.Snapshotter](a)
	if !ok {
		return nil, fmt.Errorf("the agent (%T) cannot be saved: it is no agents.Snapshotter", a)
	}
	return s, nil
}

// Restore implements [agents.Snapshotter]. It restores the agents one after the other. If an agent refuses its part,
// the agents before it get their own state back, with buffers. Either all agents are restored or none.
func (g *Agents) Restore(snap *checkpoint.Snapshot) error {
	parts, err := g.partsOf(snap)
	if err != nil {
		return err
	}
	before := make([]*checkpoint.Snapshot, len(g.List))
	return g.all(func(i int) error {
		s, err := snapshotter(g.List[i])
		if err != nil {
			return err
		}
		// The buffers are included: without them an undone restore would lose the rollout in progress.
		if before[i], err = s.Snapshot(agents.SnapshotOptions{Buffers: true}); err != nil {
			return err
		}
		return s.Restore(parts[i])
	}, func(i int) error {
		s, _ := snapshotter(g.List[i])
		return s.Restore(before[i])
	})
}

// partsOf divides a snapshot into those of the agents, in order. It returns an error if the snapshot is not of this
// kind of whole with this number of agents. The parts share the snapshot's memory.
func (g *Agents) partsOf(snap *checkpoint.Snapshot) ([]*checkpoint.Snapshot, error) {
	if agent, err := snap.Text(layout.Agent); err != nil || agent != g.Kind {
		return nil, fmt.Errorf("%s: the checkpoint is of an agent %q, not of a %s", g.Package, agent, g.Kind)
	}
	if f, err := snap.Int(layout.Format); err != nil || f != format {
		return nil, fmt.Errorf("%s: the format of the %s's checkpoint is %d, this version of gorl reads %d", g.Package,
			g.Kind, f, format)
	}
	if n, err := snap.Int(layout.GroupSize); err != nil || n != int64(len(g.List)) {
		return nil, fmt.Errorf("%s: the checkpoint is of a %s of %d agents, this one has %d", g.Package, g.Kind, n,
			len(g.List))
	}
	// Every part is a snapshot as the agent itself wrote it, without the prefix.
	parts := make([]*checkpoint.Snapshot, len(g.List))
	for i := range parts {
		var ok bool
		if parts[i], ok = layout.MemberOf(snap, i); !ok {
			return nil, fmt.Errorf("%s: the %s's checkpoint has no values of agent %d", g.Package, g.Kind, i)
		}
	}
	return parts, nil
}
