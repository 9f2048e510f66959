package trainers

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/panics"
)

// Callback is called while a trainer trains, to watch the run, act in it, or end it. Embed [BaseCallback] to implement
// only some of the methods.
//
// Within one timestep the order is: OnEpisode for each episode that ended, OnUpdate if the agent has learned,
// OnEvaluation if an evaluation was due, and OnStep at the end of every timestep. All figures of [Trainer.Metrics]
// are counted before.
//
// Built-in callbacks run before those of Config.Callbacks, which run in the order of that list. The built-in
// callbacks draw, write tracked values, save checkpoints and show progress, in this order. In OnStep the files of the
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

// orderCallbacks returns the built-in and the user's callbacks in the order in which they are called. Those with a
// state come before the built-in one that saves the checkpoint, so that the checkpoint has their state.
func orderCallbacks(own []Callback) []Callback {
	list, rest := []Callback{rendering{}, writing{}}, []Callback{saving{}, showing{}, stopping{}}
	for _, c := range own {
		if _, ok := c.(StatefulCallback); ok {
			list = append(list, c)
		} else {
			rest = append(rest, c)
		}
	}
	return append(list, rest...)
}

// notifyCallbacks calls a method of all callbacks. It stores the first error that wraps ErrStop in t.stop, and returns
// any other error at once.
func (t *Trainer) notifyCallbacks(method func(Callback) error) error {
	t.calling.Store(true)
	defer t.calling.Store(false)
	for _, c := range t.callbacks {
		var err error
		if p := panics.Catch(func() { err = method(c) }); p != nil {
			p.What = fmt.Sprintf("trainers: the callback %T", c)
			return p
		}
		if errors.Is(err, ErrStop) {
			t.stop = cmp.Or(t.stop, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// stopAsked returns the error by which a callback has asked for the run's end since the last call, nil for none.
func (t *Trainer) stopAsked() (err error) {
	if t.rank.Several() { // all ranks stop behind the same update
		if errors.Is(t.rank.stop, ErrStop) {
			return t.rank.stop
		}
		return nil
	}
	err, t.stop = t.stop, nil
	return err
}

// rendering hands out pictures of environment 0, where OnRender wants them and the environment can draw itself.
type rendering struct{ BaseCallback }

func (rendering) OnStep(t *Trainer, _ *envs.Step) error {
	if t.cfg.Headless || t.cfg.OnRender == nil || t.cfg.RenderInterval <= 0 ||
		t.timestep%int64(t.cfg.RenderInterval) != 0 {
		return nil
	}
	return renderTo(t.env, t.timestep, t.cfg.OnRender)
}

// writing writes tracked values to the run's files every WriteInterval. "auto" is a hundred times a run, and never in
// a run without an end. Otherwise writing also runs at the last timestep, before the last checkpoint is stored.
type writing struct{ BaseCallback }

func (writing) OnStep(t *Trainer, _ *envs.Step) error {
	n := int64(t.cfg.WriteInterval.Of(t.cfg.Timesteps, 100))
	if n == 0 || t.timestep%n != 0 && t.timestep != int64(t.cfg.Timesteps) && t.stop == nil {
		return nil
	}
	// A checkpoint of this timestep waits for an update in progress. Wait for the update here instead, so that its
	// figures are written before the checkpoint is stored.
	if t.checkpointDue() {
		if err := t.learned(); err != nil {
			return err
		}
	}
	return t.write()
}

// saving writes checkpoints: ten times in a run where the interval is "auto".
type saving struct{ BaseCallback }

func (saving) OnUpdate(t *Trainer) error { return t.checkBest(false) }

func (saving) OnStep(t *Trainer, _ *envs.Step) error {
	if t.checkpointDue() {
		return t.save()
	}
	return nil
}

// checkpointDue reports whether CheckpointInterval asks for a checkpoint at this timestep.
func (t *Trainer) checkpointDue() bool {
	n := int64(t.cfg.CheckpointInterval.Of(t.cfg.Timesteps, 10))
	return n > 0 && t.timestep%n == 0
}

// showing moves the progress bar.
type showing struct{ BaseCallback }

func (showing) OnStep(t *Trainer, _ *envs.Step) error {
	if t.bar != nil && t.timestep%8 == 0 { // often enough for the eye
		t.bar.Set(t.Steps(), t.barText())
	}
	return nil
}
