package trainers

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
)

// What a snapshot keeps of the environment, and how it is put back. There are four parts, each where the environment
// has it:
//
//   - the running statistics of its wrappers (envs.RunningStatistics) always go with the weights, which are worth nothing behind
//     others (statistics.go);
//   - the curriculum (envs.Curriculum) always goes with the weights, because what the agent has mastered decides what it is shown;
//   - the parameters of the reward (envs.RewardShaper) are hyperparameters, and restored like them;
//   - the whole state (envs.Stateful) makes a resumed run the same, bit for bit, and is large: only with Config.SaveBuffers.
//
// A snapshot without the state is put into an environment whose episodes go on as they are.

// reset begins all episodes anew, with the parameters that were set last. A negative seed goes on in the environment's
// random sequence.
func (t *Trainer) reset(ctx context.Context, seed int64) error {
	if err := t.parameters.all(); err != nil {
		return err
	}
	first, err := t.stepper.reset(ctx, seed)
	if err != nil {
		return err
	}
	t.now, t.needsReset = first, false
	t.running.reset() // no episode has taken a step
	t.forget()
	return nil
}

// restart resets the environment in the middle of training. It drops the figures of the episodes in progress.
func (t *Trainer) restart(ctx context.Context) error {
	if err := t.reset(ctx, -1); err != nil {
		return fmt.Errorf("trainers: %w", err)
	}
	t.episodes.Reset()
	t.knowEpisodes()
	resets := 1.0
	if r := t.metrics.tracked[resetsFigure]; r != nil {
		resets += r.last()
	}
	push(&t.metrics.tracked, resetsFigure, resets)
	return nil
}

// resetsFigure counts how often the environment was reset in the middle of training: after an error, and after an
// evaluation in an environment that cannot restore its state.
const resetsFigure = "Stats / Environment resets"

// resetHidden notifies the agent that the environments of its present mode were reset (agents.Recurrent).
func resetHidden(agent agents.Agent) {
	if r, ok := agents.As[agents.Recurrent](agent); ok {
		r.ResetHidden()
	}
}

// forget notifies the agent that its training environments were reset, even while the agent is in evaluation.
func (t *Trainer) forget() {
	was := t.agent.SetTraining(true)
	resetHidden(t.agent)
	t.agent.SetTraining(was)
}

// saveEnvironment adds to a snapshot what belongs to the environment: statistics, curriculum and parameters always, its
// whole state and the episodes in progress with SaveBuffers, once there are any.
func (t *Trainer) saveEnvironment(snap *checkpoint.Snapshot) error {
	add := func(name string, b []byte, err error) error {
		if err != nil {
			return fmt.Errorf("trainers: %s: %w", name, err)
		}
		snap.Arrays[name] = checkpoint.ArrayBytes([]int64{int64(len(b))}, b)
		return nil
	}
	t.saveStatistics(snap)
	if err := t.saveTransforms(snap); err != nil {
		return err
	}
	if c, ok := envs.As[envs.Curriculum](t.env); ok {
		state, err := c.CurriculumState()
		if err := add(layout.EnvironmentCurriculum, state, err); err != nil {
			return err
		}
	}
	// Large, and needed only to continue bit for bit.
	s, whole := envs.As[envs.Stateful](t.env)
	if whole = whole && t.cfg.SaveBuffers && t.now != nil && !t.needsReset; whole { // before the first reset there is none
		state, err := s.MarshalState()
		if err := add(layout.EnvironmentState, state, err); err != nil {
			return err
		}
		t.running.save(snap, state)
	}
	if t.parameters == nil {
		return nil
	}
	b, err := t.parameters.marshal(whole)
	return add(layout.EnvironmentParameters, b, err)
}

// takesState reports whether Restore puts the environment's whole state back: the snapshot has one, the environment can
// restore it and show what to act on, and SaveBuffers is on.
func (t *Trainer) takesState(snap *checkpoint.Snapshot) bool {
	_, has := snap.Arrays[layout.EnvironmentState]
	_, _, can := t.stateful()
	return has && can && t.cfg.SaveBuffers
}

// stateful returns the environment as one that can restore its state and then show what to act on, and whether it is
// one.
func (t *Trainer) stateful() (s envs.Stateful, o envs.Observer, can bool) {
	s, restores := envs.As[envs.Stateful](t.env)
	o, shows := envs.As[envs.Observer](t.env)
	return s, o, restores && shows
}

// restoreEnvironment puts back what belongs to the environment, as far as the snapshot has it, and returns what undoes
// it: the agent, which is restored after it, may refuse its part. On an error nothing has changed.
func (t *Trainer) restoreEnvironment(snap *checkpoint.Snapshot) (undo func() error, err error) {
	var changes []func() error // what undoes each change, in the order of the changes
	undo = func() error {
		var errs []error
		for i := len(changes) - 1; i >= 0; i-- {
			errs = append(errs, changes[i]())
		}
		return errors.Join(errs...)
	}
	// What has been changed before an error is undone here; the caller gets an undo only with a nil error.
	defer func() {
		if err != nil {
			err, undo = errors.Join(err, undo()), nil
		}
	}()
	// Without the abilities that takesState asks for, the two interfaces are nil and not used.
	array := snap.Arrays[layout.EnvironmentState]
	stateful, observer, _ := t.stateful()
	whole := t.takesState(snap)

	// Read and check statistics and parameters before anything changes.
	statistics, err := t.readStatistics(snap, whole)
	if err != nil {
		return undo, err
	}
	parameters, given, err := t.readParameters(snap, whole)
	if err != nil {
		return undo, err
	}
	// The curriculum goes with the weights: what the agent has mastered decides what it is shown.
	if c, ok := envs.As[envs.Curriculum](t.env); ok {
		back, err := t.restoreCurriculum(c, snap)
		if back != nil {
			changes = append(changes, back)
		}
		if err != nil {
			return undo, err
		}
	}
	// The statistics after the state, which may be another member's and have its own among it.
	restoreStatistics := func() error {
		back, err := t.setStatistics(statistics)
		if back != nil {
			changes = append(changes, back)
		}
		return err
	}
	// The state, with the parameters that each environment had. Without a state the snapshot's target is set like any
	// new value: it takes effect where the episodes in progress end.
	before := t.parameters.standing()
	changes = append(changes, func() error { return t.parameters.restore(before) })
	switch {
	case whole:
		back, err := t.restoreState(array, stateful, observer)
		if back != nil {
			changes = append(changes, back)
		}
		if err != nil {
			return undo, err
		}
		if !given { // the snapshot is older than parameters are: assume that no episode has just begun
			parameters = before
			parameters.fresh = make([]bool, len(before.fresh))
		}
		if err := t.parameters.restore(parameters); err != nil {
			return undo, err
		}
	case given:
		if err := t.parameters.set(parameters.target); err != nil {
			return undo, err
		}
	}
	return undo, restoreStatistics()
}

// readParameters reads a snapshot's parameters, where both it and the environment have any. With whole it also reads
// which environment has which.
func (t *Trainer) readParameters(snap *checkpoint.Snapshot, whole bool) (s standing, given bool, err error) {
	array, has := snap.Arrays[layout.EnvironmentParameters]
	if !has || t.parameters == nil {
		return s, false, nil
	}
	b, err := array.Bytes()
	if err != nil {
		return s, false, fmt.Errorf("trainers: %s: %w", layout.EnvironmentParameters, err)
	}
	// Which environment has which values means something only together with the environments' state.
	n := 0
	if whole {
		n = len(t.parameters.current)
	}
	saved, err := decodeParameters(b, n)
	if err == nil {
		s, err = t.parameters.read(saved)
	}
	return s, true, err
}

// RestoreCurriculum brings the environment's curriculum to where a snapshot has it, and restores nothing else: for
// programs that evaluate an agent which they have restored themselves. It does nothing where the environment or the
// snapshot has none. On an error nothing has changed.
func (t *Trainer) RestoreCurriculum(snap *checkpoint.Snapshot) error {
	if err := t.usable(); err != nil {
		return err
	}
	c, ok := envs.As[envs.Curriculum](t.env)
	if !ok {
		return nil
	}
	_, err := t.restoreCurriculum(c, snap)
	return err
}

// restoreCurriculum puts the curriculum back, where the snapshot has one, and returns what undoes it.
func (t *Trainer) restoreCurriculum(c envs.Curriculum, snap *checkpoint.Snapshot) (undo func() error, err error) {
	array, has := snap.Arrays[layout.EnvironmentCurriculum]
	if !has {
		return func() error { return nil }, nil
	}
	after, err := array.Bytes()
	if err != nil {
		return nil, fmt.Errorf("trainers: %s: %w", layout.EnvironmentCurriculum, err)
	}
	if undo, err = keepCurriculum(c); err != nil {
		return nil, err
	}
	return undo, setCurriculum(c, after)
}

// keepCurriculum returns a function that brings the curriculum back to where it is now.
func keepCurriculum(c envs.Curriculum) (back func() error, err error) {
	before, err := c.CurriculumState()
	if err != nil {
		return nil, fmt.Errorf("trainers: the environment's curriculum: %w", err)
	}
	return func() error { return setCurriculum(c, before) }, nil
}

// setCurriculum puts a curriculum's state back.
func setCurriculum(c envs.Curriculum, state []byte) error {
	if err := c.SetCurriculumState(state); err != nil {
		return fmt.Errorf("trainers: the environment's curriculum: %w", err)
	}
	return nil
}

// restoreState puts the environment's whole state back and returns what undoes it.
func (t *Trainer) restoreState(array checkpoint.Array, s envs.Stateful, o envs.Observer) (undo func() error,
	err error) {
	after, err := array.Bytes()
	if err != nil {
		return nil, fmt.Errorf("trainers: %s: %w", layout.EnvironmentState, err)
	}
	if t.now == nil { // never reset: there is no state to come back to if the agent refuses the snapshot
		if err := t.reset(context.Background(), t.cfg.Seed); err != nil {
			return nil, err
		}
	}
	before, err := s.MarshalState()
	if err != nil {
		return nil, fmt.Errorf("trainers: the environment's state: %w", err)
	}
	lost := t.needsReset
	return func() error {
		err := t.setState(s, o, before)
		t.needsReset = lost
		return err
	}, t.setState(s, o, after)
}

// setState puts a state into the environment and asks it what the agent acts on next.
func (t *Trainer) setState(s envs.Stateful, o envs.Observer, state []byte) error {
	if err := s.RestoreState(state); err != nil {
		return fmt.Errorf("trainers: the environment's state: %w", err)
	}
	now, err := o.Observe() // the restored state's observations, as a step without a step
	if err == nil {
		t.now, t.needsReset = now, false
	}
	return err
}
