package mujoco

// #include "engine.h"
import "C"

import (
	"github.com/gorl-dev/gorl/envs"
)

// stepPiece steps environments first to last-1: Act for all, one call into C, then Reward and Observe for each. Workers
// call it. An episode that ends is observed once as final, and the next one begins before stepPiece returns. A
// simulation that diverged is terminated whatever the task says.
func (e *Env) stepPiece(worker, first, last int) {
	w := e.spec.Spaces.Action.Width()
	for i := first; i < last; i++ {
		if err := e.act(worker, &e.states[i], row(e.actions, i, w)); err != nil {
			e.batch.note(err)
			return
		}
	}
	if err := e.batch.stepRange(worker, first, last, e.cfg.Substeps); err != nil {
		e.batch.note(err)
		return
	}
	list := e.lists[worker][:0]
	for i := first; i < last; i++ {
		s := &e.states[i]
		s.Steps++
		s.Diverged = e.batch.status[i]&Diverged != 0
		reward, terminated := e.task.Reward(s)
		terminated = terminated || s.Diverged || e.ends[i]
		truncated, ended := e.ledger.step(s, reward, terminated)
		e.out.Rewards[i], e.out.Terminated[i], e.out.Truncated[i] = float32(reward), terminated, truncated
		if !ended {
			e.observe(s, e.spec.row(i, e.observation, e.state, e.out.AMPObservations))
			continue
		}
		e.observe(s, e.spec.row(i, e.final.FinalObservations, e.final.FinalStates, e.out.AMPObservations))
		list = append(list, C.int(i))
	}
	e.lists[worker] = list
	e.begin(worker, list)
}

// begin starts an episode in the listed environments: the task writes the first state, one call into C computes what
// depends on it, and the task observes it. Nothing of the last episode is left in a State.
func (e *Env) begin(worker int, list []C.int) {
	for _, i := range list {
		s := &e.states[i]
		if e.ledger.ended[i].ended {
			e.random.finish(s, e.rng[i])
		}
		s.Steps, s.Diverged = 0, false
		copy(s.QPos, e.initial)
		clear(s.QVel)
		clear(s.Ctrl)
		clear(s.Memory)
		e.ledger.begin(int(i))
		if err := e.random.draw(worker, int(i), e.rng[i]); err != nil {
			e.batch.note(err)
			return
		}
		e.task.Reset(s, e.rng[i])
		e.random.place(s)
	}
	if err := e.batch.resetList(worker, list); err != nil {
		e.batch.note(err)
		return
	}
	for _, i := range list {
		e.observe(&e.states[i], e.spec.row(int(i), e.observation, e.state, nil))
	}
}

// observe lets the task observe s. The policy's part is then what its sensors show.
func (e *Env) observe(s *State, out envs.Row) {
	e.task.Observe(s, out)
	e.random.observe(s, out.Observation, e.rng[s.Env])
}

// act lets the task act by the action that arrives in this step, and pushes the environment if it is time.
func (e *Env) act(worker int, s *State, action []float32) error {
	e.task.Act(s, e.random.act(s, action))
	if e.random == nil || !e.random.disturb(s, e.rng[s.Env]) {
		return nil
	}
	return e.batch.forward(worker, s.Env, s.Env+1)
}

// row returns the rows of environment i in the buffers of the batch, for Task.Observe. states is nil if the task has
// none, amp if an episode begins.
func (s *Spec) row(i int, observations, states, amp []float32) envs.Row {
	r := envs.Row{Observation: row(observations, i, s.Spaces.Observation.Width())}
	if states != nil {
		r.State = row(states, i, s.Spaces.State.Width())
	}
	if amp != nil {
		r.AMPObservation = row(amp, i, s.Spaces.AMPObservation.Width())
	}
	return r
}
