package mujoco

import (
	"sync"
	"sync/atomic"
)

// pool runs one piece of work over the environments of a batch on goroutines that persist between steps. The
// caller is worker 0. Pieces are handed out as workers come for them, so that a busy core does not
// delay the others; which worker gets which piece never changes a result.
type pool struct {
	n, chunk int
	work     func(worker, first, last int)
	next     atomic.Int64
	start    []chan struct{} // one for each worker but the caller
	done     sync.WaitGroup
}

// newPool starts workers-1 goroutines for n environments. stop ends them.
func newPool(n, workers int) *pool {
	workers = min(workers, n)
	p := &pool{n: n, chunk: n}
	if workers > 1 {
		p.chunk = max(1, (n+4*workers-1)/(4*workers))
	}
	for w := 1; w < workers; w++ {
		c := make(chan struct{}, 1)
		p.start = append(p.start, c)
		go func() {
			for range c {
				p.drain(w)
				p.done.Done()
			}
		}()
	}
	return p
}

func (p *pool) workers() int { return len(p.start) + 1 }

// run calls work for every environment once and returns when all is done. It does not allocate.
func (p *pool) run(work func(worker, first, last int)) {
	p.work = work
	p.next.Store(0)
	p.done.Add(len(p.start))
	for _, c := range p.start {
		c <- struct{}{}
	}
	p.drain(0)
	p.done.Wait()
}

func (p *pool) drain(worker int) {
	for {
		first := int(p.next.Add(int64(p.chunk))) - p.chunk
		if first >= p.n {
			return
		}
		p.work(worker, first, min(first+p.chunk, p.n))
	}
}

func (p *pool) stop() {
	for _, c := range p.start {
		close(c)
	}
	p.start = nil
}
