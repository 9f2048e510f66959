package workspace

import (
	"sync"
	"time"
)

// Pulse sends a member's heartbeats from a goroutine of its own, so that peers see the member alive while its process
// is busy. It does nothing before Begin.
type Pulse struct {
	lease   Lease
	mu      sync.Mutex
	now     Heartbeat
	started bool // whether there is something to say
	stop    chan struct{}
	stopped chan struct{}
}

// Begin starts the goroutine, which sends a heartbeat whenever the channel that next returns does. It sends none before
// the first call of Send. last is the member's last heartbeat, of an earlier process, or nil.
func (p *Pulse) Begin(lease Lease, last *Heartbeat, next func() <-chan time.Time) {
	p.now.Parent = -1
	if last != nil {
		p.now = *last
		p.now.Owner = ""
	}
	p.lease, p.stop, p.stopped = lease, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.stopped)
		for {
			select {
			case <-p.stop:
				return
			case <-lease.Lost():
				return
			case <-next():
			}
			p.mu.Lock()
			// A heartbeat that fails is no error: the next one may succeed. If the lease is lost, Lost says so.
			if p.started {
				_ = lease.Beat(p.now)
			}
			p.mu.Unlock()
		}
	}()
}

// Update changes what the next heartbeat says.
func (p *Pulse) Update(change func(h *Heartbeat)) {
	if p.stop == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
}

// Send sends the heartbeat now.
func (p *Pulse) Send() error {
	if p.stop == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
	return p.lease.Beat(p.now)
}

// End stops the goroutine and waits for it.
func (p *Pulse) End() {
	if p.stop != nil {
		close(p.stop)
		<-p.stopped
		p.stop = nil
	}
}
