package trainers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/panics"
)

// Callback is called while a trainer trains, to watch the run, act in it, or end it. Embed [BaseCallback] to implement
// only some of the methods.
//
// Within one timestep the methods are called in this order. OnEpisode is called for each episode that ended, OnUpdate
// if the agent has learned, OnEvaluation if an evaluation was due, and OnStep always. All figures of [Trainer.Metrics]
// are counted before.
//
// Built-in callbacks run before those of Config.Callbacks, which run in the order of that list. The built-in
// callbacks write tracked values, save checkpoints and show progress, in this order. In OnStep the files of the
// timestep are therefore complete. A [StatefulCallback] runs earlier: after tracked values are written and before the
// checkpoint is saved.
//
// An error that wraps [ErrStop] ends the run without an error: the other callbacks are still called at this timestep,
// then the trainer saves the state and writes the remaining values, and Train returns nil. Any other error ends the
// run at once: Train returns it and saves nothing more. Methods are called one at a time, on the goroutine that
// called Train. They may change hyperparameters and evaluate, but not train or close the trainer.
type Callback interface {
	// OnStep is called after every timestep. s is what the environments returned. It is the environments' memory: copy
	// what should outlast the call.
	OnStep(t *Trainer, s *envs.Step) error
	// OnUpdate is called when the agent has learned from a rollout; Metrics has the losses. With the agent's setting
	// overlap it is called when the update begins, and the losses are those of the one before.
	OnUpdate(t *Trainer) error
	// OnEpisode is called for every finished episode that counts. In a population those that began under other weights
	// do not.
	OnEpisode(t *Trainer, e envs.Episode) error
	// OnEvaluation is called after each evaluation that Config.EvaluationInterval asks for, with its result.
	OnEvaluation(t *Trainer, e Evaluation) error
}

// BaseCallback is a [Callback] that does nothing, for embedding.
type BaseCallback struct{}

// OnStep implements [Callback].
func (BaseCallback) OnStep(*Trainer, *envs.Step) error { return nil }

// OnUpdate implements [Callback].
func (BaseCallback) OnUpdate(*Trainer) error { return nil }

// OnEpisode implements [Callback].
func (BaseCallback) OnEpisode(*Trainer, envs.Episode) error { return nil }

// OnEvaluation implements [Callback].
func (BaseCallback) OnEvaluation(*Trainer, Evaluation) error { return nil }

// StepFunc is a [Callback] that calls a function after every timestep, and nothing else: its OnStep.
type StepFunc func(t *Trainer, s *envs.Step) error

// OnStep calls f.
func (f StepFunc) OnStep(t *Trainer, s *envs.Step) error { return f(t, s) }

// OnUpdate implements [Callback].
func (StepFunc) OnUpdate(*Trainer) error { return nil }

// OnEpisode implements [Callback].
func (StepFunc) OnEpisode(*Trainer, envs.Episode) error { return nil }

// OnEvaluation implements [Callback].
func (StepFunc) OnEvaluation(*Trainer, Evaluation) error { return nil }

// ErrStop is returned by a callback, also wrapped, to end the run: Train saves the state and returns nil.
// [Trainer.StopReason] then returns the callback's error, and calling Train again continues the run. Step returns the
// callback's error after a complete timestep. In a population ErrStop is an error like any other.
var ErrStop = errors.New("trainers: a callback ended the run")

// callbacks are the callbacks of a run, built-in ones and those of Config.Callbacks, in the order of their calls.
type callbacks struct {
	trainer *Trainer    // the argument of every call
	list    []Callback  // the built-in ones and Config.Callbacks
	states  []part      // of those of Config.Callbacks with a state
	calling atomic.Bool // a call is in progress: callbacks may evaluate
	stop    error       // of a callback that has asked for the run's end at this timestep
}

// orderCallbacks returns the built-in and the user's callbacks in the order in which they are called. Those with a
// state come before the built-in one that saves the checkpoint, so that the checkpoint has their state.
func orderCallbacks(own []Callback) []Callback {
	list, rest := []Callback{writing{}}, []Callback{saving{}, showing{}, stopping{}}
	for _, c := range own {
		if _, ok := c.(StatefulCallback); ok {
			list = append(list, c)
		} else {
			rest = append(rest, c)
		}
	}
	return append(list, rest...)
}

// notify calls a method of all callbacks. An error that wraps ErrStop does not keep the others from being called:
// notify stores the first one in stop. It returns any other error, or a panic, at once.
func (c *callbacks) notify(method func(Callback, *Trainer) error) error {
	// While calling is set, callbacks may evaluate (enterEvaluation).
	c.calling.Store(true)
	defer c.calling.Store(false)
	for _, own := range c.list {
		var err error
		if p := panics.Catch(func() { err = method(own, c.trainer) }); p != nil {
			p.What = fmt.Sprintf("trainers: the callback %T", own)
			return p
		}
		if errors.Is(err, ErrStop) {
			c.stop = cmp.Or(c.stop, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// stopAsked returns the error with which a callback has ended the run since the last call, or nil. With several ranks
// it returns an error only after all ranks have agreed to stop.
func (l *loop) stopAsked() (err error) {
	if l.rank.Several() { // all ranks stop behind the same update
		if errors.Is(l.rank.stop, ErrStop) {
			return l.rank.stop
		}
		return nil
	}
	err, l.calls.stop = l.calls.stop, nil
	return err
}

// writing writes tracked values to the run's files every WriteInterval. "auto" writes a hundred times a run, and never
// in a run without an end. Otherwise writing also writes at the last timestep, before the last checkpoint is stored.
type writing struct{ BaseCallback }

// OnStep writes if the interval, the last timestep or a callback that ends the run asks for it. The last two write
// before the final checkpoint, which then has no unwritten values.
func (writing) OnStep(t *Trainer, _ *envs.Step) error {
	n := int64(t.cfg.WriteInterval.Of(t.cfg.Timesteps, 100))
	if n == 0 || t.timestep%n != 0 && t.timestep != int64(t.cfg.Timesteps) && t.calls.stop == nil {
		return nil
	}
	// A checkpoint of this timestep waits for an update in progress. Wait for the update here instead, so that its
	// figures are written before the checkpoint is stored.
	if t.cfg.checkpointDue(t.timestep) {
		if err := t.learned(); err != nil {
			return err
		}
	}
	return t.figures.write(t.files.run, t.timestep)
}

// saving writes checkpoints every CheckpointInterval: ten times in a run if the interval is "auto".
type saving struct{ BaseCallback }

// OnUpdate reports a misspelt Config.Best early, as soon as the figures are known, instead of at the end of a long run.
func (saving) OnUpdate(t *Trainer) error {
	if t.files.store == nil {
		return nil
	}
	return t.figures.metrics.checkBest(&t.cfg, false)
}

// OnStep saves after the callbacks with a state were called, so that the checkpoint has their state.
func (saving) OnStep(t *Trainer, _ *envs.Step) error {
	if t.cfg.checkpointDue(t.timestep) {
		return t.save()
	}
	return nil
}

// checkpointDue reports whether CheckpointInterval asks for a checkpoint at a timestep.
func (c *Config) checkpointDue(timestep int64) bool {
	n := int64(c.CheckpointInterval.Of(c.Timesteps, 10))
	return n > 0 && timestep%n == 0
}

// showing moves the progress bar and shows the latest figures.
type showing struct{ BaseCallback }

// OnStep draws every eighth timestep only, which is often enough for the eye.
func (showing) OnStep(t *Trainer, _ *envs.Step) error {
	if t.bar != nil && t.timestep%8 == 0 { // often enough for the eye
		t.bar.Set(t.Steps(), t.figures.text())
	}
	return nil
}

// StatefulCallback is a [Callback] whose state is kept in checkpoints, such as how long it has waited for a better
// result. A resumed run continues with that state. Within a timestep stateful callbacks are called before the
// checkpoint is written, so that it has the state after the timestep. They are called before callbacks without a
// state.
type StatefulCallback interface {
	Callback
	// StateName is the name of the state in checkpoints. It must not be empty, must differ from the names of the
	// trainer's other callbacks, and must stay the same from run to run.
	StateName() string
	// MarshalState returns the state and changes nothing.
	MarshalState() ([]byte, error)
	// RestoreState restores a state that MarshalState returned. On an error it changes nothing.
	RestoreState(state []byte) error
}

// callbackStates returns the states of callbacks. It returns an error if a name is empty or used twice.
func callbackStates(callbacks []Callback) (list []part, err error) {
	for i, c := range callbacks {
		s, ok := c.(StatefulCallback)
		if !ok {
			continue
		}
		name := s.StateName()
		own := part{layout.Callback(name), s.MarshalState, s.RestoreState}
		if name == "" || slices.ContainsFunc(list, func(p part) bool { return p.array == own.array }) {
			return nil, fmt.Errorf("trainers: the StateName of callback %d (%T) is %q; give one that no other "+
				"callback has", i, c, name)
		}
		list = append(list, own)
	}
	return list, nil
}

// save adds the states of callbacks to a snapshot.
func (c *callbacks) save(snap *checkpoint.Snapshot) error {
	for _, own := range c.states {
		if _, err := own.save(snap); err != nil {
			return err
		}
	}
	return nil
}

// restore restores the callbacks whose state is in a snapshot. Other callbacks keep their state. undo restores the
// states from before, in reverse order. On an error nothing has changed.
func (c *callbacks) restore(snap *checkpoint.Snapshot) (undo func() error, err error) {
	var changed undos
	for _, own := range c.states {
		back, err := own.put(snap)
		if err != nil { // this callback has not changed
			return nil, errors.Join(err, changed.run())
		}
		changed = append(changed, back)
	}
	return changed.run, nil
}

// notes returns notes about callbacks that have no state in a resumed checkpoint, and about states in it that no
// callback takes. Neither is an error: a run may continue with other callbacks.
func (c *callbacks) notes(snap *checkpoint.Snapshot) (notes []string) {
	prefix := layout.Callback("")
	known := map[string]bool{}
	for _, own := range c.states {
		known[own.array] = true
		if _, has := snap.Arrays[own.array]; !has {
			notes = append(notes, fmt.Sprintf("the checkpoint has no state of the callback %q, which starts as it was "+
				"made", own.array[len(prefix):]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(snap.Arrays)) {
		if own, ok := strings.CutPrefix(name, prefix); ok && !known[name] {
			notes = append(notes, fmt.Sprintf("the checkpoint has a state of the callback %q, and no callback has "+
				"this StateName: the next checkpoint is without it", own))
		}
	}
	return notes
}
