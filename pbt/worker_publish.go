package pbt

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// publish puts the member's weights and objective into the store, unless they are there already, and offers them as the
// best. Weights that failed or diverged are not published: the record then says why, so that peers do not wait.
func (s *Worker) publish() error {
	m := s.m
	snapshot := s.good()
	r := workspace.Record{
		Member: m.id, Iteration: s.iteration, Copies: s.copies, Steps: m.steps, WeightSteps: m.weightSteps(), SinceCopy: m.steps - m.copiedAt,
		Objective: s.opt.Measure.signed(m.objective), HasObjective: m.hasObjective, Samples: m.samples,
		Peak: s.opt.Measure.signed(m.peak), HasPeak: m.hasPeak, Parent: m.parent, Hyperparameters: finiteOnly(m.hyperparameters), Experiment: s.cfg.Experiment,
	}
	if m.changedAt > m.copiedAt {
		r.SinceChange = m.steps - m.changedAt
	}
	if snapshot == nil {
		status := m.status()
		switch {
		case status.Failed:
			r.Failure, r.HasObjective = m.failure, false
		case m.diverged != "":
			r.Failure = m.diverged
		default:
			r.Failure = status.Trouble()
		}
		if !status.Failed {
			r.Objective, r.HasObjective = math.NaN(), true
		}
	} else if s.opt.Measure.EvaluationEpisodes > 0 {
		r.Evaluation, r.HasEvaluation = r.Objective, r.HasObjective
	}
	// A process that was killed after publishing finds its own record here, and does not publish it twice.
	view, err := s.cfg.Store.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	if err := s.lost(); err != nil {
		return err
	}
	if !published(view, r) {
		if _, err := s.lease.Publish(r, snapshot); err != nil {
			return fmt.Errorf("pbt: member %d: %w", m.id, err)
		}
	}
	if m.status().Healthy() && (!s.hasBest || m.objective > s.best) {
		if err := s.lease.PublishBest(r, snapshot, s.opt.Measure.Minimise); err != nil {
			return fmt.Errorf("pbt: member %d: best: %w", m.id, err)
		}
		s.best, s.hasBest = m.objective, true
	}
	return s.beat(workspace.Training)
}

// published reports whether the store has this record already: a process that was killed after publishing continues here.
func published(v workspace.View, r workspace.Record) bool {
	for _, old := range v.Members[r.Member].Records {
		if old.Iteration == r.Iteration {
			return old.Copies == r.Copies && old.Steps == r.Steps && old.Weights != nil && r.Failure == ""
		}
	}
	return false
}

// result returns the best member in the store. Its snapshot is nil where it cannot be read.
func (s *Worker) result() (*Result, error) {
	best, ok, err := s.cfg.Store.Best(s.opt.Measure.Minimise)
	for range 3 { // its member may be replacing it by a better one
		if err != nil || !ok {
			break
		}
		snapshot, fault := s.cfg.Store.FetchBest(best)
		if fault == nil {
			return newResult(best, snapshot), nil
		}
		s.recovered = errors.Join(s.recovered, fmt.Errorf("pbt: best: %w", fault))
		best, ok, err = s.cfg.Store.Best(s.opt.Measure.Minimise)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("pbt: best: %w", err)
	case !ok:
		return nil, nil
	}
	return newResult(best, nil), nil
}

// newResult converts a record of the best member.
func newResult(r workspace.Record, snapshot *checkpoint.Snapshot) *Result {
	objective := r.Objective
	if r.HasEvaluation {
		objective = r.Evaluation
	}
	return &Result{Member: r.Member, Iteration: r.Iteration, Steps: r.Steps, Objective: objective, Hyperparameters: r.Hyperparameters, Snapshot: snapshot}
}

// heartbeat sends signs of life from a goroutine of its own, so that peers see the member alive while Train or New is busy.
type heartbeat struct {
	lease   workspace.Lease
	mu      sync.Mutex
	now     workspace.Heartbeat
	started bool // whether there is something to say
	stop    chan struct{}
	stopped chan struct{}
}

// begin starts the goroutine. It sends nothing before the first call of send. last is the member's last heartbeat, of an
// earlier process, or nil.
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
func (s *Worker) describe() {
	m := s.m
	s.heartbeat.update(func(h *workspace.Heartbeat) {
		h.Member, h.Iteration, h.Copies, h.Steps, h.Total = m.id, s.iteration, s.copies, m.steps, s.opt.TotalSteps
		h.Objective, h.HasObjective = s.opt.Measure.signed(m.objective), m.hasObjective
		h.Hyperparameters, h.Parent, h.Note = maps.Clone(m.hyperparameters), m.parent, s.cause
	})
}

// beat sends a heartbeat with a phase now.
func (s *Worker) beat(phase workspace.Phase) error {
	s.describe()
	s.heartbeat.update(func(h *workspace.Heartbeat) { h.Phase = phase })
	return s.heartbeat.send()
}

// lost returns an error once another process has taken over the member; nil while this one holds the lease.
func (s *Worker) lost() error {
	select {
	case <-s.lease.Lost():
		return fmt.Errorf("pbt: member %d: %w", s.cfg.Member, workspace.ErrLeaseLost)
	default:
		return nil
	}
}

// isLost reports whether err, or the lease itself, says that another process holds the member.
func (s *Worker) isLost(err error) bool {
	return errors.Is(err, workspace.ErrLeaseLost) || s.lost() != nil
}
