// The sending side of heartbeats. Peers notice a member whose heartbeats stop by peerFilter.silent, in peers.go.

package pbt

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// heartbeat sends signs of life from a goroutine of its own, so that peers see the member alive while Train or New is
// busy.
type heartbeat struct {
	lease   workspace.Lease
	mu      sync.Mutex
	now     workspace.Heartbeat
	started bool // whether there is something to say
	stop    chan struct{}
	stopped chan struct{}
}

// begin starts the goroutine. It sends nothing before the first call of send. last is the member's last heartbeat, of
// an earlier process, or nil.
func (p *heartbeat) begin(lease workspace.Lease, cfg WorkerOptions, last *workspace.Heartbeat) {
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
			case <-cfg.after(cfg.Heartbeat):
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

// update changes what the next heartbeat says.
func (p *heartbeat) update(change func(h *workspace.Heartbeat)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
}

// send sends the heartbeat now.
func (p *heartbeat) send() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
	if err := p.lease.Beat(p.now); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// end stops the goroutine and waits for it.
func (p *heartbeat) end() {
	if p.stop != nil {
		close(p.stop)
		<-p.stopped
		p.stop = nil
	}
}

// describe puts where the member stands into the next heartbeat, without sending it.
func (w *Worker) describe() {
	m := w.m
	w.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Iteration, h.Copies, h.Steps, h.Total = m.id, w.iteration, w.copies, m.steps, w.opt.TotalSteps
		h.Objective, h.HasObjective = w.opt.Measure.signed(m.objective), m.hasObjective
		h.Hyperparameters, h.Parent, h.Note = maps.Clone(m.hyperparameters), m.parent, w.cause
	})
}

// beat sends a heartbeat with a phase now.
func (w *Worker) beat(phase workspace.Phase) error {
	w.describe()
	w.heartbeat.update(func(h *workspace.Heartbeat) { h.Phase = phase })
	return w.heartbeat.send()
}

// lost returns an error once another process has taken over the member; nil while this one holds the lease.
func (w *Worker) lost() error {
	select {
	case <-w.lease.Lost():
		return fmt.Errorf("pbt: member %d: %w", w.cfg.Member, workspace.ErrLeaseLost)
	default:
		return nil
	}
}

// isLost reports whether err, or the lease itself, says that another process holds the member.
func (w *Worker) isLost(err error) bool {
	return errors.Is(err, workspace.ErrLeaseLost) || w.lost() != nil
}
