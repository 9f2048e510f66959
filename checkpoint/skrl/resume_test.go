package skrl_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// rollout is what agents.py kept.
type rollout struct {
	t testing.TB
	*npz.File
}

// row is step i of an array (T, N, ·), or rows i·N to (i+1)·N of the probe.
func (r rollout) row(name string, i int) []float32 {
	r.t.Helper()
	a := r.Arrays[name]
	x := must.Get(a.Float64s())(r.t)
	n := len(x) / a.Shape[0]
	if len(a.Shape) == 2 {
		n *= envs
	}
	row := make([]float32, n)
	for k := range row {
		row[k] = float32(x[i*n+k])
	}
	return row
}

// flags is row for truth values.
func (r rollout) flags(name string, i int) []bool {
	r.t.Helper()
	var out []bool
	for _, x := range r.row(name, i) {
		out = append(out, x != 0)
	}
	return out
}

// compareActions compares the actions of an agent in evaluation with skrl's.
func (r rollout) compareActions(a agent, name string) {
	r.t.Helper()
	a.SetTraining(false)
	defer a.SetTraining(true)
	worst := 0.0
	for i := range r.Arrays["probe"].Shape[0] / envs {
		got := must.Get(a.Act(agents.Observation{Observations: r.row("probe", i)}))(r.t)
		want := r.row(name, i)
		must.Is(r.t, len(got), len(want), "actions")
		for j := range got {
			worst = max(worst, math.Abs(float64(got[j])-float64(want[j])))
		}
	}
	must.Near(r.t, worst, 0, max(1e-5, a.rounding), "actions %s: worst difference", name)
	r.t.Logf("actions %s: they differ from skrl's by at most %.2g", name, worst)
}

// learn makes an agent collect skrl's rollout, with its actions, and learn from it.
func (r rollout) learn(a agent) {
	r.t.Helper()
	for i := range rollouts {
		a.dist.next = r.row("actions", i)
		must.Get(a.Act(agents.Observation{Observations: r.row("observations", i)}))(r.t)
		step := agents.Transition{Rewards: r.row("rewards", i), Terminated: r.flags("terminated", i),
			Truncated: r.flags("truncated", i), NextObservations: r.row("next_observations", i)}
		if a.Name() == "AMP" {
			step.AMPObservations = r.row("amp_observations", i)
		}
		must.Do(r.t, a.Record(step))
	}
	must.Do(r.t, a.Update(context.Background()))
	a.dist.next = nil
}

// compareState compares an agent's state with a checkpoint of skrl.
func compareState(t testing.TB, a agent, c *skrl.Checkpoint) {
	t.Helper()
	got := snapshot(t, a)
	want := must.Get(c.Snapshot(got))(t)
	worst, which := 0.0, ""
	for _, name := range slices.Sorted(maps.Keys(want.Arrays)) {
		if e := difference(t, got.Arrays[name], want.Arrays[name]); !(e <= worst) {
			worst, which = e, name
		}
	}
	must.Near(t, worst, 0, max(1e-5, a.rounding), "relative error of %s", which)
	t.Logf("%d arrays compared; the worst is %s: %.2g", len(want.Arrays), which, worst)
	must.Is(t, fmt.Sprint(got.Values["optimizer_steps"]), fmt.Sprint(want.Values["optimizer_steps"]), "steps")
	must.Near(t, a.rate(), must.Get(c.Adam())(t).LearningRate, 1e-12, "learning rate")
}

// difference is ‖got − want‖ / ‖want‖.
func difference(t testing.TB, got, want checkpoint.Array) float64 {
	t.Helper()
	g, w := floats(t, got), floats(t, want)
	must.Is(t, len(g), len(w), "values")
	var d, n float64
	for i := range w {
		d += (g[i] - w[i]) * (g[i] - w[i])
		n += w[i] * w[i]
	}
	return math.Sqrt(d / cmp.Or(n, 1))
}

func floats(t testing.TB, a checkpoint.Array) (out []float64) {
	t.Helper()
	switch a.DType {
	case checkpoint.F64:
		return must.Get(a.Float64s())(t)
	case checkpoint.F32:
		for _, v := range must.Get(a.Float32s())(t) {
			out = append(out, float64(v))
		}
	default:
		for _, b := range a.Data {
			out = append(out, float64(b))
		}
	}
	return out
}

// first is the file that a folder's agents begin with.
func (k kind) first(folder string) string {
	if k.Separately {
		return filepath.Join(folder, "policy_1.pt")
	}
	return filepath.Join(folder, "first.pt")
}

// resume loads start into a new agent, lets it learn, and compares the result with skrl's.
func (k kind) resume(t testing.TB, folder, start string) agent {
	t.Helper()
	a := k.build(t, 5)
	must.Do(t, a.Restore(must.Get(must.Get(skrl.Read(start))(t).Snapshot(snapshot(t, a)))(t)))
	r := rollout{t, must.Get(npz.Open(filepath.Join(folder, "rollout.npz")))(t)}
	r.compareActions(a, "before")
	r.learn(a)
	compareState(t, a, must.Get(skrl.Read(filepath.Join(folder, "second.pt")))(t))
	r.compareActions(a, "after")
	return a
}

// An agent continues from skrl's checkpoint as skrl does: it takes the same actions, and after one more update it has
// the same parameters, moments, scalers and learning rate.
func TestResumesAsSkrl(t *testing.T) {
	all := kinds(t)
	for _, name := range []string{"ppo", "ppo_shared", "amp_separately"} {
		t.Run(name, func(t *testing.T) {
			k, folder := all[name], filepath.Join("testdata", name)
			k.resume(t, folder, k.first(folder))
		})
	}
}

// TestPeersBothWays is TestResumesAsSkrl with checkpoints of an installed skrl, and back: skrl loads gorl's file, takes
// the same actions, and both agree after one more update.
func TestPeersBothWays(t *testing.T) {
	python := peers.Python(t, "torch", "skrl")
	all := kinds(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if why := all[name].unsupported(); why != nil { // a test that is skipped counts as failed in make test-peers
			t.Logf("%s is left out: %v", name, why)
			continue
		}
		t.Run(name, func(t *testing.T) {
			k, there, back := all[name], t.TempDir(), t.TempDir()
			k.release = "skrl-2.1"
			peers.Run(t, python, "testdata/agents.py", name, there, "--seed", "7")
			a := k.resume(t, there, k.first(there))
			opt := skrl.Options{}
			if k.OwnNames {
				opt.Like = must.Get(skrl.Read(k.first(there)))(t)
			}
			written := filepath.Join(back, "gorl.pt")
			must.Do(t, skrl.Write(written, snapshot(t, a), opt))
			peers.Run(t, python, "testdata/agents.py", name, back, "--from", written, "--seed", "8")
			r := rollout{t, must.Get(npz.Open(filepath.Join(back, "rollout.npz")))(t)}
			r.compareActions(a, "before")
			b := k.build(t, 6) // without the memories of a, and at its first step, as skrl's
			restored := snapshot(t, a)
			restored.Values["timestep"] = int64(0)
			must.Do(t, b.Restore(restored))
			r.learn(b)
			compareState(t, b, must.Get(skrl.Read(filepath.Join(back, "second.pt")))(t))
			r.compareActions(b, "after")
		})
	}
}
