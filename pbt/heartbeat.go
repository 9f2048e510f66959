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
func (p *heartbeat) begin(lease workspace.Lease, cfg ProcessOptions, last *workspace.Heartbeat) {
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

// send sends the heartbeat now. It does nothing before begin.
func (p *heartbeat) send() error {
	if p.stop == nil {
		return nil
	}
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
func (w *worker) describe() {
	if w.heartbeat.stop == nil {
		return
	}
	m, g := w.m, w.group
	w.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Iteration, h.Copies, h.Steps, h.Total = w.id, g.iteration, w.copies, m.steps, g.opt.TotalSteps
		h.Objective, h.HasObjective = g.opt.Measure.signed(m.objective), m.hasObjective
		h.Hyperparameters, h.Parent, h.Note = maps.Clone(m.hyperparameters), m.parent, w.cause
	})
}

// beat sends a heartbeat of every member with a phase now.
func (g *group) beat(phase workspace.Phase) error {
	for _, w := range g.workers {
		w.describe()
		w.heartbeat.update(func(h *workspace.Heartbeat) { h.Phase = phase })
		if err := w.heartbeat.send(); err != nil {
			return err
		}
	}
	return nil
}

// announce sends a heartbeat before the member is built, which may take long.
func (w *worker) announce(m savedMember) error {
	w.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Phase, h.Iteration, h.Copies = w.id, workspace.Training, w.group.iteration, w.copies
		h.Steps, h.Total, h.Parent, h.Hyperparameters, h.Note = m.Steps, w.group.opt.TotalSteps, m.parent(),
			m.Hyperparameters.Floats(), ""
	})
	return w.heartbeat.send()
}

// fail publishes, as far as possible, that the member could not be joined, so that peers do not wait for it. Without a
// lease the member is another process's. With options of another population the member is well, and only these options
// are wrong. A member that is broken is joined again by another process.
func (g *group) fail(cause error) {
	if errors.Is(cause, errOtherPopulation) || errors.Is(cause, ErrBroken) {
		return
	}
	for _, w := range g.workers {
		w.heartbeat.update(func(h *workspace.Heartbeat) {
			h.Member, h.Phase, h.Note = w.id, workspace.Failed, cause.Error()
		})
		_ = w.heartbeat.send()
	}
}

// lost returns an error once another process has taken over the member; nil while this one holds the lease.
func (w *worker) lost() error {
	select {
	case <-w.lease.Lost():
		return fmt.Errorf("pbt: member %d: %w", w.id, workspace.ErrLeaseLost)
	default:
		return nil
	}
}

// lost returns the error of the first member that another process has taken over.
func (g *group) lost() error {
	for _, w := range g.workers {
		if err := w.lost(); err != nil {
			return err
		}
	}
	return nil
}
