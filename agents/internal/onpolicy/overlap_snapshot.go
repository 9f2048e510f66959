package onpolicy

import (
	"cmp"
	"encoding/base64"
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
		if err := v.exchangeRollouts(); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	w := writer{snap: snap}
	state, err := v.acting.Gen.State()
	w.fail(err)
	snap.Arrays[layout.ActingGenerator] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
	pcg, err := v.acting.pcg.MarshalBinary()
	w.fail(err)
	snap.Values[layout.ActingRandom] = base64.StdEncoding.EncodeToString(pcg)
	if opt.Buffers && v.acting.Rollout != nil && !v.behind && !v.acting.Rollout.Full() {
		w.entries(layout.Acting(""), v.acting.Flat, v.acting.Flat.Values)
		w.statistics(layout.Acting(""), v.acting.scalers)
	}
	return snap, w.err
}

// Restore implements [agents.Snapshotter]. If the snapshot has no parameters of the actor, the actor acts with the
// restored ones until the next update begins.
func (v *Overlap) Restore(snap *checkpoint.Snapshot) (err error) {
	v.waitForUpdate()
	if err := v.exchangeRollouts(); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, v.exchangeRollouts()) }()
	r := reader{snap: snap, name: strings.ToLower(v.learning.name)}
	r.readActor(v.acting.Core)
	if r.err != nil {
		return r.err
	}
	if err := v.Algorithm.Restore(snap); err != nil {
		return err
	}
	if err := cmp.Or(v.copyParameters(), v.handMemories(), r.apply()); err != nil {
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

// readActor reads the actor's random states, and its parameters and statistics, as far as the snapshot has them.
func (r *reader) readActor(c *Core) {
	_, has := r.snap.Arrays[layout.ActingGenerator]
	if _, err := r.snap.Text(layout.ActingRandom); err == nil || has {
		r.random(c, layout.ActingRandom, layout.ActingGenerator)
	}
	for name := range r.snap.Arrays {
		if !strings.HasPrefix(name, layout.Acting("")) {
			continue
		}
		r.entries(layout.Acting(""), c.Flat, c.Flat.Values)
		r.statistics(layout.Acting(""), c.scalers)
		break
	}
}
