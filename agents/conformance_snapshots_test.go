package agents_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// resume: a snapshot in mid-rollout, or of a complete one, restored into another agent continues bit for bit, also
// through a file.
func (x suite) resume(t *testing.T) {
	for _, settings := range []map[string]any{nil, {"learning_rate_scheduler": "KLAdaptiveLR"}} {
		for _, steps := range []int{0, 5, 16, 19} {
			a, b := x.make(t, 3, settings), x.make(t, 99, settings)
			w := x.world(5)
			must(t, agenttest.Advance(a, w, steps))
			must(t, agenttest.Advance(b, x.world(77), 13))
			snap := agenttest.Snapshot(t, a)
			must(t, b.Restore(agenttest.Through(t, snap)))
			unchanged(t, b, snap, fmt.Sprintf("restored after %d steps", steps))
			v := w.Clone()
			must(t, errors.Join(agenttest.Advance(a, w, 21), agenttest.Advance(b, v, 21)))
			agenttest.Same(t, a, b)
		}
	}
	small := func(a onpolicy.Algorithm) *checkpoint.Snapshot {
		snap, err := a.Snapshot(agents.SnapshotOptions{})
		must(t, err)
		return snap
	}
	a, b := x.make(t, 3, nil), x.make(t, 99, nil)
	agenttest.Learn(t, a, x.world(5), 2)
	snap := small(a)
	must(t, b.Restore(snap))
	if d := agenttest.Differences(snap, small(b)); len(d) > 0 {
		t.Errorf("without buffers: the snapshot of what was restored differs in %q", d)
	}
}

// foreign: a snapshot of another agent, or one with anything missing or wrong, is refused, and nothing changes.
func (x suite) foreign(t *testing.T) {
	settings := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR"}
	a := x.make(t, 1, settings)
	w := x.world(1)
	must(t, agenttest.Advance(a, w, 21))
	donor := x.make(t, 2, settings)
	must(t, agenttest.Advance(donor, x.world(9), 13))
	before := agenttest.Snapshot(t, a)
	refused := func(what string, snap *checkpoint.Snapshot) {
		t.Helper()
		if err := a.Restore(snap); err == nil {
			t.Errorf("%s: restored", what)
		}
		unchanged(t, a, before, what)
	}
	refused("empty", checkpoint.NewSnapshot())
	good := agenttest.Snapshot(t, donor)
	for name, array := range good.Arrays {
		short := agenttest.Through(t, good)
		delete(short.Arrays, name)
		refused("without "+name, short)
		wrong := agenttest.Through(t, good)
		wrong.Arrays[name] = checkpoint.ArrayFloat32([]int64{3}, []float32{1, 2, 3})
		if array.DType == checkpoint.F32 && len(array.Shape) == 1 && array.Shape[0] == 3 {
			wrong.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		}
		refused("with another "+name, wrong)
	}
	for _, key := range []string{"agent", "format", "timestep", "updates", "random", "optimizer_steps",
		"rollout_steps", "scheduler", "scheduler_state"} {
		short := agenttest.Through(t, good)
		delete(short.Values, key)
		refused("without "+key, short)
		for _, bad := range []any{-1, "no", 1e9, map[string]any{}} {
			wrong := agenttest.Through(t, good)
			wrong.Values[key] = bad
			if key == "timestep" && bad == 1e9 || key == "updates" && bad == 1e9 {
				continue // possible
			}
			refused(fmt.Sprintf("%s %v", key, bad), wrong)
		}
	}
	if len(a.HiddenSizes()) > 0 {
		other := agenttest.Through(t, good)
		other.Values["sequence_length"] = 1
		refused("in other sequences", other)
	}
	if err := a.Restore(good); err != nil {
		t.Error(err)
	}
}
