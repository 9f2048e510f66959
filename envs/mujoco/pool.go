package mujoco

import "sync/atomic"

// pool runs a function over the environments of a batch on goroutines that persist between steps. The caller is
// worker 0.
//
// Workers take pieces of the range [0, n) until nothing is left. Pieces become smaller towards the end, so that neither
// a busy core nor a worker that wakes late delays the others for long. A worker that finds nothing left is not waited
// for. The assignment of pieces to workers never changes a result.
type pool struct {
	// n is the number of environments. A piece is 1/share of the environments that are left, at least one.
	n, share int
	// work is the function of the running call. It is set before next, which publishes it to the workers.
	work func(worker, first, last int)
	// start wakes the workers. It has one channel for each worker except the caller.
	start []chan struct{}

	// next is the number of environments handed out, finished the number of those done.
	next, finished atomic.Int64
	// waiting is true while the caller sleeps until a worker sends on done.
	waiting atomic.Bool
	done    chan struct{}
}

// newPool starts workers-1 goroutines for n environments, but never more workers than environments. stop ends them.
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

// workers is the number of workers, including the caller.
func (p *pool) workers() int { return len(p.start) + 1 }

// patience is how often the caller polls for the last pieces before it sleeps. That takes about 50 µs, which is the
// cost of waking up.
const patience = 50_000

// run calls work for pieces that cover every environment once, and returns when all are done. It does not allocate.
func (p *pool) run(work func(worker, first, last int)) {
	// next is stored last: a worker that is late from the call before may start as soon as it sees next.
	p.work = work
	p.finished.Store(0)
	p.next.Store(0)
	for _, c := range p.start {
		select {
		case c <- struct{}{}:
		default: // the worker has not taken the last run's signal yet, and will find this run's work with it
		}
	}
	p.drain(0)
	for range patience {
		if p.finished.Load() == int64(p.n) {
			return
		}
	}
	p.waiting.Store(true)
	// The goroutine that swaps waiting back decides. If it is this one, no worker sends on done.
	if p.finished.Load() == int64(p.n) && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.done
}

// drain takes pieces and works on them until nothing is left. The worker that finishes the last environment wakes the
// caller if it sleeps.
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

// stop ends the goroutines. The pool must not be running.
func (p *pool) stop() {
	for _, c := range p.start {
		close(c)
	}
	p.start = nil
}
