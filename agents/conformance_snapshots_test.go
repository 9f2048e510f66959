package agents_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
)

// resume: a snapshot in mid-rollout, or of a complete one, restored into another agent continues bit for bit, also
// through a file.
func (x suite) resume(t *testing.T) {
	for _, at := range []struct {
		steps    int
		settings map[string]any
	}{{0, nil}, {5, nil}, {16, nil}, {19, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR"}}} {
		a, b := x.make(t, 3, at.settings), x.make(t, 99, at.settings)
		w := x.world(5)
		must(t, agenttest.Advance(a, w, at.steps))
		must(t, agenttest.Advance(b, x.world(77), 13))
		snap := agenttest.Snapshot(t, a)
		must(t, b.Restore(agenttest.Through(t, snap)))
		unchanged(t, b, snap, fmt.Sprintf("restored after %d steps", at.steps))
		v := w.Clone()
		must(t, errors.Join(agenttest.Advance(a, w, 21), agenttest.Advance(b, v, 21)))
		agenttest.Same(t, a, b)
	}
	small := func(a onpolicy.Algorithm) *checkpoint.Snapshot {
		snap := check.Get(a.Snapshot(agents.SnapshotOptions{}))(t)
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
	good := agenttest.Through(t, agenttest.Snapshot(t, donor))
	like := func() *checkpoint.Snapshot { // good's arrays and values, of which the caller replaces some
		snap := checkpoint.NewSnapshot()
		maps.Copy(snap.Arrays, good.Arrays)
		maps.Copy(snap.Values, good.Values)
		return snap
	}
	for name, array := range good.Arrays {
		short := like()
		delete(short.Arrays, name)
		refused("without "+name, short)
		wrong := like()
		wrong.Arrays[name] = checkpoint.ArrayFloat32([]int64{3}, []float32{1, 2, 3})
		if array.DType == checkpoint.F32 && len(array.Shape) == 1 && array.Shape[0] == 3 {
			wrong.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		}
		refused("with another "+name, wrong)
	}
	for _, key := range []string{"agent", "format", "timestep", "updates", "random", "optimizer_steps",
		"rollout_steps", "scheduler", "scheduler_state"} {
		short := like()
		delete(short.Values, key)
		refused("without "+key, short)
		for _, bad := range []any{-1, "no", 1e9, map[string]any{}} {
			wrong := like()
			wrong.Values[key] = bad
			if key == "timestep" && bad == 1e9 || key == "updates" && bad == 1e9 {
				continue // possible
			}
			refused(fmt.Sprintf("%s %v", key, bad), wrong)
		}
	}
	half := like()
	half.Values["scheduler_state"] = map[string]any{"base": 1e-3, "learning_rate": 1e-3, "step": 0.5}
	refused("with a schedule at half a step", half)
	if len(a.HiddenSizes()) > 0 {
		other := like()
		other.Values["sequence_length"] = 1
		refused("in other sequences", other)
	}
	if err := a.Restore(good); err != nil {
		t.Error(err)
	}
}

// divergence: an update whose numbers are not finite is undone and reported.
func (x suite) divergence(t *testing.T) {
	a := x.make(t, 1, map[string]any{"learning_rate": 1e30, "grad_norm_clip": 0})
	agenttest.Fill(t, a, x.world(2))
	before := agenttest.Snapshot(t, a)
	err := update(a)
	var diverged *agents.DivergedError
	if !errors.As(err, &diverged) {
		t.Fatalf("an update with a learning rate of 1e30: %v", err)
	}
	unchanged(t, a, before, "after the update")
	must(t, a.SetHyperparameters(map[string]float64{"learning_rate": 1e-3}))
	if err := update(a); err != nil {
		t.Errorf("with a sensible rate: %v", err)
	}

	// Parameters that are not finite show in the first action, be it a number or a choice, drawn or not.
	b := x.make(t, 1, nil)
	begun := agenttest.Snapshot(t, b)
	for _, snap := range []*checkpoint.Snapshot{before, begun} {
		for name, array := range snap.Arrays {
			name = strings.TrimPrefix(name, layout.Acting("")) // of an agent that acts while it learns
			if name == "policy/net.0.weight" || name == "policy/head.0.weight" || name == "policy/head.net.0.weight" {
				p, _ := array.Float32s()
				p[0] = float32(math.NaN())
			}
		}
	}
	must(t, a.Restore(before))
	if err := update(a); !errors.As(err, &diverged) {
		t.Errorf("an update of NaN parameters: %v", err)
	}
	must(t, b.Restore(begun))
	for _, training := range []bool{true, false} {
		b.SetTraining(training)
		for _, drawn := range []bool{false, true} {
			b.SetStochastic(drawn)
			if _, err := b.Act(x.world(2).Now()); !errors.As(err, &diverged) {
				t.Errorf("an action by NaN parameters, training %v, drawn %v: %v", training, drawn, err)
			}
		}
	}
}

// update makes an update to its end.
func update(a onpolicy.Algorithm) error {
	if err := a.Update(context.Background()); err != nil {
		return err
	}
	return a.Wait(context.Background())
}

// stopAfter is a context that is cancelled when it has been asked so many times.
type stopAfter struct {
	context.Context
	left int
}

func (c *stopAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// cancellation: a cancelled update leaves the agent as before, and a second one learns as if nothing had been.
func (x suite) cancellation(t *testing.T) {
	for _, settings := range []map[string]any{nil, {"learning_rate_scheduler": "KLAdaptiveLR", "kl_threshold": 100.0},
		{"compatibility": agents.SKRL2}, {"compatibility": agents.SKRL21}} {
		if overlaps(x.settings) && settings["compatibility"] == nil {
			continue // an update that has begun is made to its end, see TestOverlapCancelled
		}
		a, b := x.make(t, 1, settings), x.make(t, 1, settings)
		v, w := x.world(2), x.world(2)
		agenttest.Learn(t, a, v, 1)
		agenttest.Learn(t, b, w, 1)
		agenttest.Fill(t, a, v)
		agenttest.Fill(t, b, w)
		before := agenttest.Snapshot(t, a)
		for _, left := range []int{0, 1, 2, 3, 5} {
			if err := a.Update(&stopAfter{context.Background(), left}); !errors.Is(err, context.Canceled) {
				t.Fatalf("an update that is cancelled after %d checks: %v", left, err)
			}
			unchanged(t, a, before, fmt.Sprintf("cancelled after %d checks", left))
			if !a.Ready() {
				t.Fatal("the rollout is lost")
			}
		}
		must(t, errors.Join(a.Update(context.Background()), b.Update(context.Background())))
		agenttest.Same(t, a, b)
	}
}
