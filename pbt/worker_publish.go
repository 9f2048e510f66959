package pbt

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// publish puts the member's weights and objective into the store, unless they are there already, and offers them as the
// best. Weights that failed or diverged are not published: the record then says why, so that peers do not wait.
func (w *Worker) publish() error {
	m := w.m
	snapshot := w.good()
	r := workspace.Record{
		Member: m.id, Iteration: w.iteration, Copies: w.copies, Steps: m.steps, WeightSteps: m.weightSteps(), SinceCopy: m.steps - m.copiedAt,
		Objective: w.opt.Measure.signed(m.objective), HasObjective: m.hasObjective, Samples: m.samples,
		Peak: w.opt.Measure.signed(m.peak), HasPeak: m.hasPeak, Parent: m.parent, Hyperparameters: finiteOnly(m.hyperparameters), Experiment: w.cfg.Experiment,
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
	} else if w.opt.Measure.EvaluationEpisodes > 0 {
		r.Evaluation, r.HasEvaluation = r.Objective, r.HasObjective
	}
	// A process that was killed after publishing finds its own record here, and does not publish it twice.
	view, err := w.cfg.Store.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	if err := w.lost(); err != nil {
		return err
	}
	if !published(view, r) {
		if _, err := w.lease.Publish(r, snapshot); err != nil {
			return fmt.Errorf("pbt: member %d: %w", m.id, err)
		}
	}
	if m.status().Healthy() && (!w.hasBest || m.objective > w.best) {
		if err := w.lease.PublishBest(r, snapshot, w.opt.Measure.Minimise); err != nil {
			return fmt.Errorf("pbt: member %d: best: %w", m.id, err)
		}
		w.best, w.hasBest = m.objective, true
	}
	return w.beat(workspace.Training)
}

// published reports whether the store has this record already: a process that was killed after publishing continues
// here.
func published(v workspace.View, r workspace.Record) bool {
	for _, old := range v.Members[r.Member].Records {
		if old.Iteration == r.Iteration {
			return old.Copies == r.Copies && old.Steps == r.Steps && old.Weights != nil && r.Failure == ""
		}
	}
	return false
}

// result returns the best member in the store. Its snapshot is nil where it cannot be read.
func (w *Worker) result() (*Result, error) {
	best, ok, err := w.cfg.Store.Best(w.opt.Measure.Minimise)
	for range 3 { // its member may be replacing it by a better one
		if err != nil || !ok {
			break
		}
		snapshot, fault := w.cfg.Store.FetchBest(best)
		if fault == nil {
			return newResult(best, snapshot), nil
		}
		w.recovered = errors.Join(w.recovered, fmt.Errorf("pbt: best: %w", fault))
		best, ok, err = w.cfg.Store.Best(w.opt.Measure.Minimise)
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
	return &Result{Member: r.Member, Iteration: r.Iteration, Steps: r.Steps, Objective: objective,
		Hyperparameters: r.Hyperparameters, Snapshot: snapshot}
}
