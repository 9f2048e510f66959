package mujoco

import "sync/atomic"

// pool runs one piece of work over the environments of a batch on goroutines that persist between steps. The caller is
// worker 0. Pieces are handed out as workers come for them, and become smaller towards the end, so that neither a busy
// core nor a worker that wakes late keeps the others waiting for long: a worker that comes when nothing is left is not
// waited for. Which worker gets which piece never changes a result.
type pool struct {
	n, share int // a piece is at most 1/share of what is left
	work     func(worker, first, last int)
	start    []chan struct{} // one for each worker but the caller

	next, finished atomic.Int64 // environments handed out and done
	waiting        atomic.Bool  // the caller sleeps until done is sent
	done           chan struct{}
}

// newPool starts workers-1 goroutines for n environments. stop ends them.
func newPool(n, workers int) *pool {
	workers = min(workers, n)
	p := &pool{n: n, share: 1, done: make(chan struct{}, 1)}
	if workers > 1 {
		p.share = 4 * workers
	}
	p.next.Store(int64(n)) // nothing to do
	for w := 1; w < workers; w++ {
		c := make(chan struct{}, 1)
		p.start = append(p.start, c)
		go func() {
			for range c {
				p.drain(w)
			}
		}()
	}
	return p
}

func (p *pool) workers() int { return len(p.start) + 1 }

// patience is how often the caller looks whether the last pieces are done before it goes to sleep: for some 50 µs,
// which is what waking up costs.
const patience = 50_000

// run calls work for every environment once and returns when all is done. It does not allocate.
func (p *pool) run(work func(worker, first, last int)) {
	p.work = work
	p.finished.Store(0)
	p.next.Store(0)
	for _, c := range p.start {
		select {
		case c <- struct{}{}:
		default: // it has not come for the last run's yet, and will find this one
		}
	}
	p.drain(0)
	for range patience {
		if p.finished.Load() == int64(p.n) {
			return
		}
	}
	p.waiting.Store(true)
	if p.finished.Load() == int64(p.n) && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.done
}

// drain works until nothing is left to hand out.
func (p *pool) drain(worker int) {
	for {
		first := p.next.Load()
		left := int64(p.n) - first
		if left <= 0 {
			return
		}
		piece := (left + int64(p.share) - 1) / int64(p.share)
		if !p.next.CompareAndSwap(first, first+piece) {
			continue
		}
		p.work(worker, int(first), int(first+piece))
		if p.finished.Add(piece) == int64(p.n) && p.waiting.CompareAndSwap(true, false) {
			p.done <- struct{}{}
		}
	}
}

func (p *pool) stop() {
	for _, c := range p.start {
		close(c)
	}
	p.start = nil
}
