package mujoco

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// rollout steps n walkers of the model given for a number of control steps under noisy targets near the gait, which has
// them walk, stumble, fall and lie, and returns all positions and velocities.
func rollout(t *testing.T, xml string, n, steps, workers int, reference bool) []float64 {
	t.Helper()
	m := must.Open(ParseModel(xml))(t)
	b := must.Open(NewBatch(m, n, workers))(t)
	b.reference = reference
	w := must.Open(NewWalker(WalkerConfig{}))(t).task
	rng := rand.New(rand.NewPCG(7, 7))
	phase := make([]int, n)
	for i := range n {
		phase[i] = rng.IntN(len(w.pos))
		copy(b.QPos(i), w.pos[phase[i]][:])
		copy(b.QVel(i), w.vel[phase[i]][:])
		b.QPos(i)[1] += walkerLift
		must.Do(t, b.Reset(i))
	}
	var out []float64
	for range steps {
		for i := range n {
			phase[i] = (phase[i] + 1) % len(w.joints)
			for j, q := range w.joints[phase[i]] {
				b.Ctrl(i)[j] = q + 0.2*rng.Float64() - 0.1
			}
		}
		must.Do(t, b.Step(walkerSubsteps))
		for i := range n {
			must.Is(t, b.Status(i), 0, "walker %d: status", i)
		}
		out = append(append(out, b.qpos...), b.qvel...)
	}
	return out
}

func farthest(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	d := 0.0
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

func TestFastStepEqualsMuJoCos(t *testing.T) {
	fast := rollout(t, walkerXML, 16, 300, 2, false)
	plain := rollout(t, walkerXML, 16, 300, 2, true)
	d := farthest(fast, plain)
	t.Logf("largest difference %.2g", d)
	must.Not(t, !(d <= 1e-9), "the fast step leaves mj_step's trajectory by %g", d)
}

// TestReorderedStepEqualsMuJoCos holds the general path (models that the fast integrator is not for) to mj_step.
func TestReorderedStepEqualsMuJoCos(t *testing.T) {
	for _, integrator := range []string{"Euler", "RK4"} {
		xml := strings.Replace(walkerXML, `integrator="implicit"`, `integrator="`+integrator+`"`, 1)
		must.Is(t, farthest(rollout(t, xml, 4, 100, 1, false), rollout(t, xml, 4, 100, 1, true)), 0,
			"%s: the step leaves mj_step's trajectory", integrator)
	}
}

func TestDivergedGoesBack(t *testing.T) {
	m := must.Open(ParseModel(walkerXML))(t)
	b := must.Open(NewBatch(m, 3, 2))(t)
	for i := range 3 {
		must.Do(t, b.Reset(i))
	}
	must.Do(t, b.Step(5))
	before := append([]float64(nil), b.QPos(1)...)
	floats(b.data[1].qvel, 9)[4] = math.NaN()
	must.Do(t, b.Step(5))
	must.Not(t, b.Status(0) != 0 || b.Status(1) != Diverged || b.Status(2) != 0, "status %d %d %d", b.Status(0),
		b.Status(1), b.Status(2))
	must.Is(t, farthest(before, b.QPos(1)), 0, "the diverged simulation stands at %v, was at %v", b.QPos(1), before)
	if err := b.Step(5); err != nil || b.Status(1) != 0 {
		t.Errorf("it does not go on: %v, status %d", err, b.Status(1))
	}
}

// Every environment is worked on once a run, whatever the number of workers, also where some wake when all is done.
func TestPool(t *testing.T) {
	for _, n := range []int{1, 2, 7, 64} {
		for _, workers := range []int{1, 2, 3, 8} {
			p := newPool(n, workers)
			times := make([]atomic.Int32, n)
			work := func(worker, first, last int) {
				if worker < 0 || worker >= p.workers() || first >= last {
					t.Errorf("worker %d of %d: environments %d to %d", worker, p.workers(), first, last)
				}
				for i := first; i < last; i++ {
					times[i].Add(1)
				}
			}
			for round := range int32(500) {
				p.run(work)
				for i := range times {
					if k := times[i].Load(); k != round+1 {
						t.Fatalf("%d environments, %d workers: environment %d was worked on %d times in %d runs", n,
							workers, i, k, round+1)
					}
				}
			}
			p.stop()
		}
	}
}
