package mujoco

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestFastStepEqualsMuJoCos holds walkers under noisy targets near the gait, which has them walk, stumble, fall and
// lie, to mj_step, and the integrator that has no fast step. The general path is TestCharacterStepEqualsMuJoCos.
func TestFastStepEqualsMuJoCos(t *testing.T) {
	const n = 16
	w := must.Open(NewWalker(WalkerConfig{}))(t).task
	for _, x := range []struct {
		integrator string
		steps      int
		tolerance  float64
	}{{"implicit", 300, 1e-9}, {"RK4", 60, 0}} {
		xml := strings.Replace(walkerXML, `integrator="implicit"`, `integrator="`+x.integrator+`"`, 1)
		var runs [2][]float64
		for k := range runs {
			b := must.Open(NewBatch(must.Open(ParseModel(xml))(t), n, 2))(t)
			b.reference = k == 1
			rng := rand.New(rand.NewPCG(7, 7))
			for i := range n {
				copy(b.QPos(i), w.pos[3*i][:])
				copy(b.QVel(i), w.vel[3*i][:])
				b.QPos(i)[1] += walkerLift
				must.Do(t, b.Reset(i))
			}
			for step := range x.steps {
				for i := range n {
					for j, q := range w.joints[(3*i+step+1)%len(w.joints)] {
						b.Ctrl(i)[j] = q + 0.2*rng.Float64() - 0.1
					}
				}
				must.Do(t, b.Step(walkerSubsteps))
				for i := range n {
					must.Is(t, b.Status(i), 0, "walker %d: status", i)
				}
				runs[k] = slices.Concat(runs[k], b.qpos, b.qvel)
			}
		}
		must.Near(t, farthest(runs[0], runs[1]), 0, x.tolerance, "%s: off from mj_step's trajectory", x.integrator)
	}
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

// Every environment is worked on once a run, whatever the number of workers, also where some wake when all is done.
func TestPool(t *testing.T) {
	for _, n := range []int{1, 2, 7, 64} {
		for _, workers := range []int{1, 2, 3, 8} {
			p := newPool(n, workers)
			times := make([]atomic.Int32, n)
			work := func(worker, first, last int) {
				for i := first; i < last; i++ {
					times[i].Add(1)
				}
			}
			for round := range int32(500) {
				p.run(work)
				for i := range times {
					must.Is(t, times[i].Load(), round+1, "%d environments, %d workers: runs of %d", n, workers, i)
				}
			}
			p.stop()
		}
	}
}
