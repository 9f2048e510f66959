package agents_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
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
	settings := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR"}
	for _, steps := range []int{5, 16, 19} {
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
	small := func(a onpolicy.Algorithm) *checkpoint.Snapshot {
		return check.Get(a.Snapshot(agents.SnapshotOptions{}))(t)
	}
	a, b := x.make(t, 3, nil), x.make(t, 99, nil)
	agenttest.Learn(t, a, x.world(5), 2)
	snap := small(a)
	must(t, b.Restore(snap))
	check.Same(t, agenttest.Differences(snap, small(b)), nil, "what differs without buffers")
}

// foreign: a snapshot of another agent, or one with anything missing or wrong, is refused, and nothing changes.
func (x suite) foreign(t *testing.T) {
	settings := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR"}
	a := x.make(t, 1, settings)
	w := x.world(1)
	must(t, agenttest.Advance(a, w, 21))
	donor := x.make(t, 2, settings)
	must(t, agenttest.Advance(donor, x.world(9), 13))
	before, good := agenttest.Snapshot(t, a), agenttest.Snapshot(t, donor)
	refused := func(what string, change func(snap *checkpoint.Snapshot)) {
		t.Helper()
		snap := &checkpoint.Snapshot{Arrays: maps.Clone(good.Arrays), Values: maps.Clone(good.Values)}
		change(snap)
		check.Not(t, a.Restore(snap) == nil, "%s: restored", what)
	}
	for name, array := range good.Arrays {
		wrong := checkpoint.ArrayFloat32([]int64{3}, []float32{1, 2, 3})
		if array.DType == checkpoint.F32 && slices.Equal(array.Shape, wrong.Shape) {
			wrong = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		}
		if name != layout.PoorSteps { // without it the counts begin at 0
			refused("without "+name, func(snap *checkpoint.Snapshot) { delete(snap.Arrays, name) })
		}
		refused("with another "+name, func(snap *checkpoint.Snapshot) { snap.Arrays[name] = wrong })
	}
	for _, key := range []string{"agent", "format", "timestep", "updates", "random", "optimizer_steps",
		"rollout_steps", "scheduler", "scheduler_state"} {
		refused("without "+key, func(snap *checkpoint.Snapshot) { delete(snap.Values, key) })
		for _, bad := range []any{-1, "no", 1e9, map[string]any{}} {
			if bad == 1e9 && (key == "timestep" || key == "updates") {
				continue // possible
			}
			refused(fmt.Sprint(key, bad), func(snap *checkpoint.Snapshot) { snap.Values[key] = bad })
		}
	}
	if len(a.HiddenSizes()) > 0 {
		refused("in other sequences", func(snap *checkpoint.Snapshot) { snap.Values["sequence_length"] = 1 })
	}
	unchanged(t, a, before, "by what was refused")
	must(t, a.Restore(good))
}

// divergence: an update whose numbers are not finite is undone and reported.
func (x suite) divergence(t *testing.T) {
	a := x.make(t, 1, map[string]any{"learning_rate": 1e30, "grad_norm_clip": 0})
	agenttest.Fill(t, a, x.world(2))
	before := agenttest.Snapshot(t, a)
	diverges(t, "an update with a learning rate of 1e30", update(a))
	unchanged(t, a, before, "after the update")
	must(t, a.SetHyperparameters(map[string]float64{"learning_rate": 1e-3}))
	must(t, update(a))

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
	diverges(t, "an update of NaN parameters", update(a))
	must(t, b.Restore(begun))
	for _, training := range []bool{true, false} {
		b.SetTraining(training)
		for _, drawn := range []bool{false, true} {
			b.SetStochastic(drawn)
			_, err := b.Act(x.world(2).Now())
			diverges(t, fmt.Sprintf("an action by NaN parameters, training %v, drawn %v", training, drawn), err)
		}
	}
}

// diverges fails the test if an error is not a [agents.DivergedError] with the given words.
func diverges(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	var diverged *agents.DivergedError
	check.Not(t, !errors.As(err, &diverged), "%s: %v", what, err)
	check.RefuseAs(t, what, err, words...)
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
	for _, settings := range []map[string]any{{"learning_rate_scheduler": "KLAdaptiveLR", "kl_threshold": 100.0},
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
			err := a.Update(&stopAfter{context.Background(), left})
			check.Not(t, !errors.Is(err, context.Canceled), "cancelled after %d checks: %v", left, err)
			unchanged(t, a, before, fmt.Sprintf("cancelled after %d checks", left))
			check.Is(t, a.Ready(), true, "the rollout is there")
		}
		must(t, errors.Join(a.Update(context.Background()), b.Update(context.Background())))
		agenttest.Same(t, a, b)
	}
}
