package trainers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// groupFormat is the version of the layout that Snapshot writes. Restore refuses snapshots of other versions.
const groupFormat = 1

// Snapshot implements [agents.Snapshotter]. It joins the agents' snapshots: their arrays have the prefix "agent_<i>/",
// and their values are under "agent_<i>". It returns an error if an agent is no agents.Snapshotter.
func (g *Group) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	all := checkpoint.NewSnapshot()
	all.Values[layout.Agent], all.Values[layout.Format] = g.Name(), groupFormat
	all.Values[layout.GroupSize] = len(g.agents)
	for i, a := range g.agents {
		s, err := snapshotter(a)
		if err != nil {
			return nil, err
		}
		snap, err := s.Snapshot(opt)
		if err != nil {
			return nil, fmt.Errorf("trainers: agent %d: %w", i, err)
		}
		for name, array := range snap.Arrays {
			all.Arrays[layout.Parameter(layout.Member(i), name)] = array
		}
		all.Values[layout.Member(i)] = snap.Values
	}
	return all, nil
}

// Restore implements [agents.Snapshotter]. It restores the agents one after the other. If an agent refuses its part,
// the agents before it get their own state back, with buffers. Either all agents are restored or none.
func (g *Group) Restore(snap *checkpoint.Snapshot) error {
	parts, err := partsOf(snap, len(g.agents))
	if err != nil {
		return err
	}
	// undo restores the previous states of the agents that have been restored.
	var undo []func() error // gives an agent that has been restored its own state back
	for i, a := range g.agents {
		s, err := snapshotter(a)
		var before *checkpoint.Snapshot
		if err == nil {
			// The buffers are included: without them an undone restore would lose the rollout in progress.
			before, err = s.Snapshot(agents.SnapshotOptions{Buffers: true})
		}
		if err == nil {
			err = s.Restore(parts[i])
		}
		if err != nil {
			err = fmt.Errorf("trainers: agent %d: %w", i, err)
			for _, f := range undo {
				err = errors.Join(err, f())
			}
			return err
		}
		undo = append(undo, func() error { return s.Restore(before) })
	}
	return nil
}

// partsOf divides a group's snapshot into those of its agents, in order. It returns an error if the snapshot is not of
// a group with this number of agents. The parts share the snapshot's memory.
func partsOf(snap *checkpoint.Snapshot, agents int) ([]*checkpoint.Snapshot, error) {
	if agent, err := snap.Text(layout.Agent); err != nil || agent != groupName {
		return nil, fmt.Errorf("trainers: the checkpoint is of an agent %q, not of a group", agent)
	}
	if format, err := snap.Int(layout.Format); err != nil || format != groupFormat {
		return nil, fmt.Errorf("trainers: the format of the group's checkpoint is %d, this version of gorl reads %d",
			format,
			groupFormat)
	}
	if n, err := snap.Int(layout.GroupSize); err != nil || n != int64(agents) {
		return nil, fmt.Errorf("trainers: the checkpoint is of a group of %d agents, this one has %d", n, agents)
	}
	// Every part is a snapshot as the agent itself wrote it, without the prefix.
	parts := make([]*checkpoint.Snapshot, agents)
	for i := range parts {
		var ok bool
		if parts[i], ok = layout.MemberOf(snap, i); !ok {
			return nil, fmt.Errorf("trainers: the group's checkpoint has no values of agent %d", i)
		}
	}
	return parts, nil
}
