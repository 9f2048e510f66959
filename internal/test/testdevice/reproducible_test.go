package testdevice_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/tensor"
)

// A run is the same bit for bit whatever its threads did before: libtorch adds gradients up in the order in which nodes
// of the graph were numbered, and it numbers them by thread. The gradient of a gradient has nodes that the device's own
// thread makes: it has numbered more of them than the thread of the first runs, and fewer than that of the second.
func TestReproducible(t *testing.T) {
	runs := func(before int) (snaps []*checkpoint.Snapshot) {
		done := make(chan bool)
		go func() {
			runtime.LockOSThread() // a thread of its own, which ends with the goroutine
			defer close(done)
			s := tensor.NewScope()
			defer s.Close()
			x := s.RequireGrad(s.Ones(1))
			for range before {
				s.MulScalar(x, 2)
			}
			for _, v := range variants {
				a := v.make(t, testdevice.Name(0))
				agenttest.Learn(t, a, v.world(), 1)
				snaps = append(snaps, agenttest.Snapshot(t, a))
			}
		}()
		<-done
		return snaps
	}
	s := on(t, 0)
	x := s.RequireGrad(s.Ones(1))
	y := x
	for range 10_000 {
		y = s.Mul(y, x)
	}
	s.Grad(s.Sum(y), true, x)
	must.Do(t, s.Err())
	s.Reset()
	before, after := runs(0), runs(300_000)
	if len(before) != len(variants) || len(after) != len(variants) {
		t.Fatal("the run failed")
	}
	for i, snap := range before {
		if d := agenttest.Differences(snap, after[i]); len(d) > 0 {
			t.Errorf("%s: runs differ in %s", variants[i].name, strings.Join(d, ", "))
		}
	}
}

// A checkpoint crosses kinds of devices: what was trained on one is evaluated and goes on on the other, with random
// numbers that are the same in every restore.
func TestCheckpointsCrossDevices(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			for _, way := range [][2]string{{testdevice.Name(0), "cpu"}, {"cpu", testdevice.Name(0)},
				{testdevice.Name(0), testdevice.Name(1)}} {
				source := v.make(t, way[0])
				w := v.world()
				agenttest.Learn(t, source, w, 1)
				must.Do(t, agenttest.Advance(source, w, 3)) // in the middle of a rollout
				snap := agenttest.Snapshot(t, source)
				var went []*checkpoint.Snapshot
				for range 2 {
					a := v.make(t, way[1])
					must.Do(t, a.Restore(agenttest.Through(t, snap)))
					for _, d := range agenttest.Differences(snap, agenttest.Snapshot(t, a), "random/",
						"random_device") {
						t.Errorf("from %s to %s: %s", way[0], way[1], d)
					}
					a.SetTraining(false)
					must.Get(a.Act(w.Now()))(t)
					a.SetTraining(true)
					agenttest.Learn(t, a, w.Clone(), 1)
					went = append(went, agenttest.Snapshot(t, a))
				}
				if d := agenttest.Differences(went[0], went[1]); len(d) > 0 {
					t.Errorf("from %s to %s: two restores go on differently, in %s", way[0], way[1],
						strings.Join(d, ", "))
				}
			}
		})
	}
}
