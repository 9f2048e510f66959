package onpolicy

import (
	"cmp"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// Snapshot implements [agents.Snapshotter] and waits for the update in progress. The snapshot is the learner's, with
// the actor's rollout in progress and random states. With buffers it also has the actor's parameters and statistics,
// unless the rollout is full: the next Update then replaces them. If an update has failed after the actor took
// further steps, the snapshot has the rollout of that update instead of the actor's.
func (v *Overlap) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	v.waitForUpdate()
	if !v.behind {
		if err := v.exchangeRollouts(); err != nil {
			return nil, err
		}
	}
	v.learning.Timestep = v.acting.Timestep
	snap, err := v.Algorithm.Snapshot(opt)
	if !v.behind {
		err = cmp.Or(err, v.exchangeRollouts())
	}
	if err != nil {
		return nil, err
	}
	a := newArchive(snap, v.acting.Core, false)
	defer a.views.Close()
	a.random(v.acting.Core, layout.ActingRandom, layout.ActingGenerator)
	if opt.Buffers && v.acting.Rollout != nil && !v.behind && !v.acting.Rollout.Full() {
		a.acting(v.acting.Core)
	}
	return snap, a.err
}

// Restore implements [agents.Snapshotter]. If the snapshot has no parameters of the actor, the actor acts with the
// restored ones until the next update begins.
func (v *Overlap) Restore(snap *checkpoint.Snapshot) (err error) {
	v.waitForUpdate()
	if err := v.exchangeRollouts(); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, v.exchangeRollouts()) }()
	a := newArchive(snap, v.acting.Core, true)
	defer a.views.Close()
	// The actor's random states, and its parameters and statistics, as far as the snapshot has them.
	_, generator := snap.Arrays[layout.ActingGenerator]
	if _, err := snap.Text(layout.ActingRandom); err == nil || generator {
		a.random(v.acting.Core, layout.ActingRandom, layout.ActingGenerator)
	}
	for name := range snap.Arrays {
		if strings.HasPrefix(name, layout.Acting("")) {
			a.acting(v.acting.Core)
			break
		}
	}
	if a.err != nil {
		return a.err
	}
	if err := v.Algorithm.Restore(snap); err != nil {
		return err
	}
	if err := cmp.Or(v.copyParameters(), v.handMemories(), a.apply()); err != nil {
		return err
	}
	v.acting.Timestep, v.acting.acted = v.learning.Timestep, false
	if v.acting.Rollout != nil { // the learner's, until the two are exchanged again
		v.acting.Rollout.Clear()
	}
	v.learning.Fetched, v.behind, v.err = nil, false, nil
	v.rate = v.learning.LearningRate()
	return nil
}
