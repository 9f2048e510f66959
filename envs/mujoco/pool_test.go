package mujoco

import (
	"sync/atomic"
	"testing"
)

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
