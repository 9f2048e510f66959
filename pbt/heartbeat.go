package pbt

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// pulse gives signs of life from a goroutine of its own.
type heartbeat struct {
	lease   workspace.Lease
	mu      sync.Mutex
	now     workspace.Heartbeat
	started bool // whether there is something to say
	stop    chan struct{}
	stopped chan struct{}
}

// begin starts the goroutine. It says nothing before the first send. last is the policy's last heartbeat, or nil.
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
			// A heartbeat that fails is not the end: the next one may succeed. Where the seat is lost, Lost says so.
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

// send says it now.
func (p *heartbeat) send() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
	if err := p.lease.Beat(p.now); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// end stops the goroutine and waits until it has.
func (p *heartbeat) end() {
	if p.stop != nil {
		close(p.stop)
		<-p.stopped
		p.stop = nil
	}
}

// describe puts what stands with the policy into its heartbeat, without giving one.
func (s *Worker) describe() {
	m := s.m
	s.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Iteration, h.Copies, h.Steps, h.Total = m.id, s.iteration, s.copies, m.steps, s.opt.TotalSteps
		h.Objective, h.HasObjective = s.opt.Measure.signed(m.objective), m.hasObjective
		h.Hyperparameters, h.Parent, h.Note = maps.Clone(m.hyperparameters), m.parent, s.cause
	})
}

// beat gives a heartbeat now.
func (s *Worker) beat(phase workspace.Phase) error {
	s.describe()
	s.heartbeat.update(func(h *workspace.Heartbeat) { h.Phase = phase })
	return s.heartbeat.send()
}

// lost is the error of a policy that another process has taken over, nil while it is this one's.
func (s *Worker) lost() error {
	select {
	case <-s.lease.Lost():
		return fmt.Errorf("pbt: policy %d: %w", s.cfg.Member, workspace.ErrLeaseLost)
	default:
		return nil
	}
}

// isLost reports whether err, or the seat itself, says that the policy is another process's.
func (s *Worker) isLost(err error) bool {
	return errors.Is(err, workspace.ErrLeaseLost) || s.lost() != nil
}
