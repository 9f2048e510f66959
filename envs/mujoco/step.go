package mujoco

// #include "engine.h"
import "C"

import (
	"math"

	"github.com/gorl-dev/gorl/envs"
)

// stepPiece steps environments first to last-1: one call into C, and the task's part before and after it.
func (e *Env) stepPiece(worker, first, last int) {
	w := e.spec.Spaces.Action.Width()
	for i := first; i < last; i++ {
		e.task.Act(&e.states[i], e.actions[i*w:(i+1)*w:(i+1)*w])
	}
	if err := e.batch.stepRange(worker, first, last, e.cfg.Substeps); err != nil {
		e.batch.note(err)
		return
	}
	list := e.lists[worker][:0]
	k := len(e.names)
	for i := first; i < last; i++ {
		s := &e.states[i]
		s.Steps++
		s.Diverged = e.batch.status[i]&Diverged != 0
		reward, terminated := e.task.Reward(s)
		terminated = terminated || s.Diverged || e.ends[i]
		truncated := !terminated && e.limit[i] > 0 && s.Steps >= e.limit[i]
		e.returns[i] += reward
		e.out.Rewards[i], e.out.Terminated[i], e.out.Truncated[i] = float32(reward), terminated, truncated
		if e.metered != nil {
			m := e.metrics[i*k : (i+1)*k : (i+1)*k]
			e.metered.Metrics(s, m)
			for j, v := range m {
				e.sums[i*k+j] += v
			}
		}
		if e.whole != nil {
			e.whole.Follow(s)
		}
		e.done[i].ended = terminated || truncated
		if !e.done[i].ended {
			e.task.Observe(s, e.row(i, e.observation, e.state, true))
			continue
		}
		e.task.Observe(s, e.row(i, e.final.FinalObservations, e.final.FinalStates, true))
		e.done[i].length, e.done[i].ret = s.Steps, e.returns[i]
		if e.done[i].whole = e.whole != nil && e.seen[i]; e.done[i].whole {
			e.whole.EpisodeMetrics(s, terminated, row(e.ofWhole, i, len(e.wholeNames)))
		}
		list = append(list, C.int(i))
	}
	e.lists[worker] = list
	e.begin(worker, list)
}

// resetPiece starts an episode in environments first to last-1.
func (e *Env) resetPiece(worker, first, last int) {
	list := e.lists[worker][:0]
	for i := first; i < last; i++ {
		clear(e.sums[i*len(e.names) : (i+1)*len(e.names)])
		list = append(list, C.int(i))
	}
	e.lists[worker] = list
	e.begin(worker, list)
}

// begin starts an episode in the environments listed.
func (e *Env) begin(worker int, list []C.int) {
	for _, i := range list {
		s := &e.states[i]
		s.Steps, s.Diverged = 0, false
		copy(s.QPos, e.initial)
		clear(s.QVel)
		clear(s.Ctrl)
		clear(s.Memory)
		e.returns[i] = 0
		if e.whole != nil {
			e.seen[i] = true
		}
		e.limit[i] = e.cfg.EpisodeLength
		e.task.Reset(s, e.rng[i])
	}
	if err := e.batch.resetList(worker, list); err != nil {
		e.batch.note(err)
		return
	}
	for _, i := range list {
		e.task.Observe(&e.states[i], e.row(int(i), e.observation, e.state, false))
	}
}

// row is where environment i writes.
func (e *Env) row(i int, observations, states []float32, amp bool) envs.Row {
	s := &e.spec.Spaces
	r := envs.Row{Observation: row(observations, i, s.Observation.Width())}
	if states != nil {
		r.State = row(states, i, s.State.Width())
	}
	if amp && e.out.AMPObservations != nil {
		r.AMPObservation = row(e.out.AMPObservations, i, s.AMPObservation.Width())
	}
	return r
}

// collect puts together what the workers left, in the order of the environments, so that no sum depends on who
// was first.
func (e *Env) collect() {
	o, k := &e.out, len(e.names)
	o.Observations, o.States = e.observation, e.state
	o.FinalObservations, o.FinalStates, o.Episodes = nil, nil, o.Episodes[:0]
	for j, name := range e.batchNames {
		sum := 0.0
		for i := range e.states {
			sum += e.metrics[i*k+j]
		}
		o.Metrics[name] = sum / float64(len(e.states))
	}
	for i := range e.done {
		d := &e.done[i]
		if !d.ended {
			continue
		}
		o.FinalObservations, o.FinalStates = e.final.FinalObservations, e.final.FinalStates
		ep := envs.Episode{Env: i, Return: d.ret, Length: d.length}
		if k > 0 || d.whole {
			ep.Metrics = make(map[string]float64, k+len(e.wholeNames)+1)
			ep.Metrics["length"] = float64(d.length)
			for j, name := range e.names {
				ep.Metrics[name] = e.sums[i*k+j] / float64(d.length)
				e.sums[i*k+j] = 0
			}
		}
		if d.whole {
			for j, v := range row(e.ofWhole, i, len(e.wholeNames)) {
				if !math.IsNaN(v) {
					ep.Metrics[e.wholeNames[j]] = v
				}
			}
		}
		o.Episodes = append(o.Episodes, ep)
	}
}
