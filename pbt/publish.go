package pbt

import (
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// publish puts the records of the members into the store for peers, and offers the best member as the best so far.
func (g *group) publish() error {
	if !g.whole() {
		for _, w := range g.workers {
			if err := w.publish(); err != nil {
				return err
			}
		}
	}
	best, ok := strategy.Generation{Members: g.statuses()}.Best()
	if ok && (!g.hasBest || best.Objective >= g.objective) { // an equal one lets the store clear up after a crash
		w := g.worker(best.Member)
		snapshot, err := w.m.snapshotOf()
		if err != nil {
			return wrapMember(w.id, err)
		}
		r := w.record()
		if err := w.lease.PublishBest(r, snapshot, g.opt.Measure.Minimise); err != nil {
			return fmt.Errorf("pbt: member %d: best: %w", w.id, err)
		}
		if g.whole() && (!g.hasBest || best.Objective > g.objective) {
			g.best = newResult(r, snapshot)
		}
		g.objective, g.hasBest = best.Objective, true
	}
	return g.beat(workspace.Training)
}

// publish puts the member's weights and objective into the store, unless they are there already. Weights that failed or
// diverged are not published: the record then says why, so that peers do not wait.
func (w *worker) publish() error {
	m, snapshot, r := w.m, w.good(), w.record()
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
		r.HasEvaluation = false
	}
	// A process that was killed after publishing finds its own record here, and does not publish it twice.
	view, err := w.group.cfg.Store.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	if err := w.lost(); err != nil {
		return err
	}
	for _, old := range view.Members[w.id].Records {
		if old.Iteration == r.Iteration {
			if old.Copies == r.Copies && old.Steps == r.Steps && old.Weights != nil && r.Failure == "" {
				return nil
			}
			break
		}
	}
	_, err = w.lease.Publish(r, snapshot)
	return wrapMember(w.id, err)
}

// record returns what the member publishes of itself.
func (w *worker) record() workspace.Record {
	m, g := w.m, w.group
	r := workspace.Record{
		Member: w.id, Iteration: g.iteration, Copies: w.copies, Steps: m.steps, WeightSteps: m.weightSteps(),
		SinceCopy: m.steps - m.copiedAt, Objective: g.opt.Measure.signed(m.objective), HasObjective: m.hasObjective,
		Peak: g.opt.Measure.signed(m.peak), HasPeak: m.hasPeak, Samples: m.samples, Parent: m.parent,
		Hyperparameters: maps.Clone(m.hyperparameters), Experiment: g.cfg.Experiment,
	}
	maps.DeleteFunc(r.Hyperparameters, func(_ string, v float64) bool { return !number.Finite(v) })
	if m.changedAt > m.copiedAt {
		r.SinceChange = m.steps - m.changedAt
	}
	if g.opt.Measure.EvaluationEpisodes > 0 {
		r.Evaluation, r.HasEvaluation = r.Objective, r.HasObjective
	}
	return r
}

// result returns the best member so far, nil if there is none. Its snapshot is nil if it cannot be read.
func (g *group) result() (*Result, error) {
	if g.whole() {
		return g.best, nil
	}
	best, ok, err := g.cfg.Store.Best(g.opt.Measure.Minimise)
	for range 3 { // its member may be replacing it by a better one
		if err != nil || !ok {
			break
		}
		snapshot, fault := g.cfg.Store.FetchBest(best)
		if fault == nil {
			return newResult(best, snapshot), nil
		}
		g.recovered = errors.Join(g.recovered, fmt.Errorf("pbt: best: %w", fault))
		best, ok, err = g.cfg.Store.Best(g.opt.Measure.Minimise)
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
