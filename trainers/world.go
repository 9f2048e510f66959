package trainers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
)

// This file saves and restores the environment's part of a snapshot. The part has four components, as far as the
// environment supports them:
//
//   - The running statistics of wrappers (envs.RunningStatistics) always go with the weights. A policy that learned
//     from observations normalised in one way is useless for observations normalised in another (statistics.go).
//   - The curriculum (envs.Curriculum) always goes with the weights, because the agent's skill decides which tasks it
//     gets.
//   - The parameters of the reward (envs.RewardShaper) are hyperparameters, and restored like them.
//   - The whole state (envs.Stateful) makes a resumed run equal, bit for bit. It is large: snapshots have it only with
//     Config.SaveBuffers.
//
// If a snapshot has no state, the episodes in progress go on.

// world is the environment's side of training: the environment, the step that the agent acts on next, and what is known
// about the episodes in progress.
type world struct {
	env        envs.Env
	agent      agents.Agent // is notified of resets
	stepper    *stepper
	terminate  func() error // the episodes that the agent gives up
	parameters *parameters  // of the environment's reward; nil if it has none
	running    running      // the episodes in progress
	now        *envs.Step   // what to act on; nil before the first reset
	needsReset bool         // a step has failed: reset the environment before the next one
	seed       int64        // of the first reset
	keepsState bool         // snapshots have the environment's state (Config.SaveBuffers)
}

// reset starts new episodes in all environments, with the reward parameters that were set last. A negative seed
// continues the environment's random sequence. The agent's hidden states start from zero.
func (w *world) reset(ctx context.Context, seed int64) error {
	if err := w.parameters.all(); err != nil {
		return err
	}
	first, err := w.stepper.reset(ctx, seed)
	if err != nil {
		return err
	}
	w.now, w.needsReset = first, false
	w.running.reset() // no episode has taken a step
	w.forget()
	return nil
}

// restart resets the environment in the middle of training: after a failed step, or after an evaluation in an
// environment that cannot restore its state. It drops the figures of the episodes in progress and counts the reset.
func (l *loop) restart(ctx context.Context) error {
	if err := l.world.reset(ctx, -1); err != nil {
		return fmt.Errorf("trainers: %w", err)
	}
	l.figures.episodes.Reset()
	l.rank.know(l.figures.episodes)
	// The count is a tracked figure, so snapshots keep it.
	resets := 1.0
	if r := l.figures.metrics.tracked[resetsFigure]; r != nil {
		resets += r.last()
	}
	push(&l.figures.metrics.tracked, resetsFigure, resets)
	return nil
}

// resetsFigure counts how often the environment was reset in the middle of training. Frequent resets cost unfinished
// episodes, so the count is written to files.
const resetsFigure = "Stats / Environment resets"

// resetHidden notifies a recurrent agent (agents.Recurrent) that the environments of its present mode were reset.
func resetHidden(agent agents.Agent) {
	if r, ok := agents.As[agents.Recurrent](agent); ok {
		r.ResetHidden()
	}
}

// forget notifies the agent that its training environments were reset, even during an evaluation. ResetHidden changes
// only the hidden states of the present mode, so forget switches to training for the call.
func (w *world) forget() {
	was := w.agent.SetTraining(true)
	resetHidden(w.agent)
	w.agent.SetTraining(was)
}

// save adds the environment's part to a snapshot. Statistics, curriculum and parameters are always saved. The whole
// state and the episodes in progress are saved with SaveBuffers, after the first reset.
func (w *world) save(snap *checkpoint.Snapshot) error {
	w.saveStatistics(snap)
	if err := w.saveTransforms(snap); err != nil {
		return err
	}
	if _, err := w.curriculum().save(snap); err != nil {
		return err
	}
	// The state is large, and needed only to continue bit for bit. After a failed step it is left out, because the
	// environment is reset before it is used again.
	s, whole := envs.As[envs.Stateful](w.env)
	if whole = whole && w.keepsState && w.now != nil && !w.needsReset; whole { // before the first reset there is none
		state, err := part{array: layout.EnvironmentState, marshal: s.MarshalState}.save(snap)
		if err != nil {
			return err
		}
		w.running.save(snap, state)
	}
	if w.parameters == nil {
		return nil
	}
	marshal := func() ([]byte, error) { return w.parameters.marshal(whole) }
	_, err := part{array: layout.EnvironmentParameters, marshal: marshal}.save(snap)
	return err
}

// takesState reports whether restore puts back the environment's whole state. SaveBuffers must be on, and the snapshot
// must have a state. The environment must be able to restore the state and to show what to act on.
func (w *world) takesState(snap *checkpoint.Snapshot) bool {
	_, has := snap.Arrays[layout.EnvironmentState]
	_, _, can := w.stateful()
	return has && can && w.keepsState
}

// stateful returns the environment as one that can restore its state and then show what to act on. can is false if it
// lacks either ability; s and o may be nil then.
func (w *world) stateful() (s envs.Stateful, o envs.Observer, can bool) {
	s, restores := envs.As[envs.Stateful](w.env)
	o, shows := envs.As[envs.Observer](w.env)
	return s, o, restores && shows
}

// part is a state that a snapshot keeps as bytes, such as the environment's curriculum. The zero value is that of an
// environment without one: its methods do nothing.
type part struct {
	array   string // its name in a snapshot, and in errors
	marshal func() ([]byte, error)
	restore func([]byte) error
}

// fail returns an error of the part, nil for nil.
func (p part) fail(err error) error {
	if err != nil {
		return fmt.Errorf("trainers: the state %q: %w", p.array, err)
	}
	return nil
}

// save adds the present state to a snapshot, and returns it.
func (p part) save(snap *checkpoint.Snapshot) ([]byte, error) {
	if p.marshal == nil {
		return nil, nil
	}
	state, err := p.marshal()
	if err == nil {
		snap.Arrays[p.array] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
	}
	return state, p.fail(err)
}

// keep returns a function that restores the present state.
func (p part) keep() (back func() error, err error) {
	if p.marshal == nil {
		return func() error { return nil }, nil
	}
	state, err := p.marshal()
	return func() error { return p.fail(p.restore(state)) }, p.fail(err)
}

// put restores the state of a snapshot, if the snapshot has one. undo restores the state before it. undo is nil if
// nothing can have changed.
func (p part) put(snap *checkpoint.Snapshot) (undo func() error, err error) {
	array, has := snap.Arrays[p.array]
	if !has || p.marshal == nil {
		return nil, nil
	}
	state, err := array.Bytes()
	if err != nil {
		return nil, p.fail(err)
	}
	if undo, err = p.keep(); err != nil {
		return nil, err
	}
	return undo, p.fail(p.restore(state))
}

// curriculum returns the environment's curriculum.
func (w *world) curriculum() part {
	c, ok := envs.As[envs.Curriculum](w.env)
	if !ok {
		return part{}
	}
	return part{layout.EnvironmentCurriculum, c.CurriculumState, c.SetCurriculumState}
}

// state returns the environment's whole state, for an environment that can restore it and show what to act on.
func (w *world) state() part {
	s, o, _ := w.stateful()
	return part{array: layout.EnvironmentState, marshal: func() ([]byte, error) {
		if w.now == nil { // never reset: there is no state to come back to if the agent refuses the snapshot
			if err := w.reset(context.Background(), w.seed); err != nil {
				return nil, err
			}
		}
		return s.MarshalState()
	}, restore: func(state []byte) error {
		if err := s.RestoreState(state); err != nil {
			return err
		}
		now, err := o.Observe() // the restored state's observations, as a step without a step
		if err == nil {
			w.now, w.needsReset = now, false // a failed step before it no longer matters
		}
		return err
	}}
}

// undos are functions that undo changes, in the order of the changes. That of a change that changed nothing is nil.
type undos []func() error

// run undoes the changes, the latest first.
func (u undos) run() error {
	var errs []error
	for _, back := range slices.Backward(u) {
		if back != nil {
			errs = append(errs, back())
		}
	}
	return errors.Join(errs...)
}

// restore puts back the environment's part of a snapshot, as far as the snapshot has it. It returns a function that
// undoes this, because the agent is restored afterwards and may refuse its part. On an error nothing has changed.
func (w *world) restore(snap *checkpoint.Snapshot) (undo func() error, err error) {
	var changes undos
	// What has been changed before an error is undone here; the caller gets an undo only with a nil error.
	defer func() {
		if undo = changes.run; err != nil {
			err, undo = errors.Join(err, undo()), nil
		}
	}()
	keep := func(back func() error, err error) error {
		changes = append(changes, back)
		return err
	}
	whole := w.takesState(snap)

	// Read and check statistics and parameters before anything changes.
	statistics, err := w.readStatistics(snap, whole)
	if err != nil {
		return nil, err
	}
	parameters, given, err := w.readParameters(snap, whole)
	if err != nil {
		return nil, err
	}
	// The curriculum goes with the weights, with or without a state.
	if err := keep(w.curriculum().put(snap)); err != nil {
		return nil, err
	}
	// With a state, each environment gets the parameters that it had in the snapshot. Without one, the snapshot's
	// target is set like any new value: each environment takes it when its episode ends.
	// The undo restores them after the state that they belong to.
	before, lost := w.parameters.copy(), w.needsReset
	changes = append(changes, func() error { w.needsReset = lost; return w.parameters.restore(before) })
	if whole {
		if err := keep(w.state().put(snap)); err != nil {
			return nil, err
		}
		if !given { // the snapshot is older than parameters are: assume that no episode has just begun
			parameters = before
			parameters.fresh = make([]bool, len(before.fresh))
		}
	}
	switch {
	case whole:
		err = w.parameters.restore(parameters)
	case given:
		err = w.parameters.set(parameters.target)
	}
	if err != nil {
		return nil, err
	}
	// Statistics are set after the state, because the state may be another member's and contain its statistics.
	return nil, keep(w.setStatistics(statistics))
}

// readParameters reads a snapshot's parameters and changes nothing. given is false if the snapshot or the environment
// has none. With whole it also reads which environment has which values.
func (w *world) readParameters(snap *checkpoint.Snapshot, whole bool) (s standing, given bool, err error) {
	array, has := snap.Arrays[layout.EnvironmentParameters]
	if !has || w.parameters == nil {
		return s, false, nil
	}
	b, err := array.Bytes()
	if err != nil {
		return s, false, fmt.Errorf("trainers: %s: %w", layout.EnvironmentParameters, err)
	}
	// Which environment has which values means something only together with the environments' state.
	s, err = w.parameters.read(b, whole)
	return s, true, err
}

// RestoreCurriculum restores the environment's curriculum from a snapshot, and nothing else. It is for programs that
// evaluate an agent which they have restored themselves. It does nothing if the environment or the snapshot has none.
// On an error nothing has changed.
func (t *Trainer) RestoreCurriculum(snap *checkpoint.Snapshot) error {
	if err := t.usable(); err != nil {
		return err
	}
	_, err := t.world.curriculum().put(snap)
	return err
}

// terminations returns a function that passes the agent's mask (N,) to the environment, which terminates these episodes
// in its next step. The training loop calls it between Act and the step. It returns an error if the agent ends episodes
// and env cannot.
func terminations(env envs.Env, agent agents.Agent) (func() error, error) {
	a, ok := agents.As[agents.Terminator](agent)
	if !ok || !a.Terminates() {
		return func() error { return nil }, nil
	}
	e, ok := envs.As[envs.Terminator](env)
	if !ok {
		return nil, fmt.Errorf("trainers: the agent ends episodes by itself (\"termination_style_reward\"), and the "+
			"environment (%T) cannot be told to end one: it is no envs.Terminator, as those of package envs/mujoco "+
			"are (the walker, the humanoid, the quadruped); set \"termination_style_reward\" to 0, or implement it",
			env)
	}
	return func() error { return e.Terminate(a.Terminations()) }, nil
}
