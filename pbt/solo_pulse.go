package pbt

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// pulse gives signs of life from a goroutine of its own.
type pulse struct {
	seat    workspace.Lease
	mu      sync.Mutex
	now     workspace.Heartbeat
	started bool // whether there is something to say
	stop    chan struct{}
	stopped chan struct{}
}

// begin starts the goroutine. It says nothing before the first send. last is the policy's last heartbeat, or nil.
func (p *pulse) begin(seat workspace.Lease, place Place, last *workspace.Heartbeat) {
	p.now.Parent = -1
	if last != nil {
		p.now = *last
		p.now.Owner = ""
	}
	p.seat, p.stop, p.stopped = seat, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.stopped)
		for {
			select {
			case <-p.stop:
				return
			case <-seat.Lost():
				return
			case <-place.Clock.After(place.Heartbeat):
			}
			p.mu.Lock()
			// A heartbeat that fails is not the end: the next one may succeed. Where the seat is lost, Lost says so.
			if p.started {
				_ = seat.Beat(p.now)
			}
			p.mu.Unlock()
		}
	}()
}

// update changes what the next heartbeat says.
func (p *pulse) update(change func(h *workspace.Heartbeat)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
}

// send says it now.
func (p *pulse) send() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
	if err := p.seat.Beat(p.now); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// end stops the goroutine and waits until it has.
func (p *pulse) end() {
	if p.stop != nil {
		close(p.stop)
		<-p.stopped
		p.stop = nil
	}
}

// describe puts what stands with the policy into its heartbeat, without giving one.
func (s *Solo) describe() {
	m := s.m
	s.pulse.update(func(h *workspace.Heartbeat) {
		h.Member, h.Iteration, h.Copies, h.Steps, h.Total = m.id, s.iteration, s.copies, m.steps, s.opt.TotalSteps
		h.Objective, h.HasObjective = s.opt.Measure.signed(m.objective), m.hasObjective
		h.Hyperparameters, h.Parent, h.Note = maps.Clone(m.hyperparameters), m.parent, s.cause
	})
}

// beat gives a heartbeat now.
func (s *Solo) beat(phase workspace.Phase) error {
	s.describe()
	s.pulse.update(func(h *workspace.Heartbeat) { h.Phase = phase })
	return s.pulse.send()
}

// lost is the error of a policy that another process has taken over, nil while it is this one's.
func (s *Solo) lost() error {
	select {
	case <-s.seat.Lost():
		return fmt.Errorf("pbt: policy %d: %w", s.place.Policy, workspace.ErrLeaseLost)
	default:
		return nil
	}
}

// isLost reports whether err, or the seat itself, says that the policy is another process's.
func (s *Solo) isLost(err error) bool {
	return errors.Is(err, workspace.ErrLeaseLost) || s.lost() != nil
}
