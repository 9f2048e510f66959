package timeline

// This file trains a trainee by a timeline. It works with every pbt.Trainee, so with every agent that a population
// trains.

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/pbt"
)

// Options configure [Train].
type Options struct {
	// Steps is the number of environment steps at which to stop. The default, 0, is Timeline.Steps. A smaller number
	// stops within the timeline. A larger one continues with the last hyperparameters.
	Steps int64
	// ProgressSteps is the number of environment steps between calls of Progress. The default, 0, calls it at changes
	// only.
	// A smaller number reports more often, and calls Trainee.Train more often.
	ProgressSteps int64
	// Progress, if not nil, receives the position at changes, every ProgressSteps and at the end.
	Progress func(Position)
	// New, if not nil, builds a trainee with hyperparameters for which SetHyperparameters returns pbt.ErrRebuild. Train
	// then restores the weights into the new trainee and closes the old one. Without New such hyperparameters are an
	// error.
	New func(hyperparameters map[string]float64) (pbt.Trainee, error)
}

// Position is the progress of a trainee in a timeline.
type Position struct {
	// Steps is the number of environment steps trained. Total is the number at the end.
	Steps, Total int64
	// Phase is the index in Timeline.Phases. Changed is true if the phase has just started.
	Phase   int
	Changed bool
	// Hyperparameters and Metrics are the trainee's.
	Hyperparameters, Metrics map[string]float64
}

// Train trains a trainee by a timeline and returns it, or the one that replaced it (see [Options.New]). Train starts at
// the trainee's Steps, so a trainee that was restored from a snapshot continues. If the context is cancelled, the error
// wraps its cause and the returned trainee can be trained further. On any other error too, the returned trainee is to
// be closed by the caller.
//
// Train sets hyperparameters only. It does not repeat what a population with evolving networks does to the networks and
// their weights; see [Timeline.Architectures].
//
// A trainee trains whole timesteps of all its environments. If it has another number of environments than the
// population's members, changes come up to one timestep late.
func Train(ctx context.Context, trainee pbt.Trainee, s Timeline, opt Options) (pbt.Trainee, error) {
	if trainee == nil {
		return nil, errors.New("timeline: there is no trainee to train")
	}
	if err := s.Validate(); err != nil {
		return trainee, err
	}
	switch {
	case opt.Steps < 0:
		return trainee, fmt.Errorf("timeline: Steps is %d; give 0 or more", opt.Steps)
	case opt.ProgressSteps < 0:
		return trainee, fmt.Errorf("timeline: ProgressSteps is %d; give 0 or more", opt.ProgressSteps)
	}
	// All names are checked first, so that a misspelt one does not end a run after days.
	has := trainee.Hyperparameters()
	for _, key := range s.Keys() {
		if _, ok := has[key]; !ok {
			return trainee, fmt.Errorf("timeline: it sets %q, which the trainee does not have; it has %v", key,
				sorted(has))
		}
	}
	if opt.Steps == 0 {
		opt.Steps = s.Steps
	}
	announceSteps(trainee, opt.Steps)
	p := player{trainee: trainee, timeline: s, opt: opt, phase: -1}
	err := p.train(ctx)
	return p.trainee, err
}

// announceSteps calls Plan, if the trainee has it.
func announceSteps(t pbt.Trainee, steps int64) {
	if p, ok := t.(pbt.Planner); ok {
		p.Plan(steps)
	}
}

// player is the state of a call of Train.
type player struct {
	trainee  pbt.Trainee
	timeline Timeline
	opt      Options
	phase    int // whose hyperparameters the trainee has, -1 at the start
}

// train trains to the end. Each round ends at the next change, the next report or the end. It reads the step count from
// the trainee every time, since a trainee may train beyond the steps that it was asked for.
func (p *player) train(ctx context.Context) error {
	for {
		steps := p.trainee.Steps()
		if steps >= p.opt.Steps {
			return nil
		}
		if ctx.Err() != nil {
			return p.stopped(ctx)
		}
		if phase := p.timeline.phase(steps); phase != p.phase {
			if err := p.enter(phase, steps); err != nil {
				return err
			}
		}
		next := p.opt.Steps
		if p.phase+1 < len(p.timeline.Phases) {
			next = min(next, p.timeline.Phases[p.phase+1].From)
		}
		if p.opt.ProgressSteps > 0 && next-steps > p.opt.ProgressSteps {
			next = steps + p.opt.ProgressSteps
		}
		switch err := p.trainee.Train(ctx, next-steps); {
		case err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
			return p.stopped(ctx)
		case err != nil:
			return fmt.Errorf("timeline: at environment step %d: %w", p.trainee.Steps(), err)
		case p.trainee.Steps() <= steps && ctx.Err() == nil: // the loop would never end
			return fmt.Errorf("timeline: Train(%d) left the trainee at environment step %d; it must advance",
				next-steps,
				p.trainee.Steps())
		}
		if p.opt.ProgressSteps > 0 || p.trainee.Steps() >= p.opt.Steps {
			p.report(false)
		}
	}
}

// stopped returns the error of a training that the context ended.
func (p *player) stopped(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("timeline: stopped at environment step %d of %d: %w", p.trainee.Steps(), p.opt.Steps, err)
}

// enter sets the hyperparameters of a phase. In the middle of a phase it sets nothing if the trainee has them already.
func (p *player) enter(phase int, steps int64) error {
	values := p.timeline.At(steps)
	if from := p.timeline.Phases[phase].From; steps == from || !hasValues(p.trainee, values) {
		err := p.trainee.SetHyperparameters(maps.Clone(values)) // a clone, since the trainee may keep the map
		if errors.Is(err, pbt.ErrRebuild) && p.opt.New != nil {
			err = p.rebuild(values)
		}
		if err != nil {
			return fmt.Errorf("timeline: phase %d at environment step %d: %w", phase, steps, err)
		}
	}
	p.phase = phase
	p.report(true)
	return nil
}

// hasValues reports whether a trainee's hyperparameters have the values already.
func hasValues(t pbt.Trainee, values map[string]float64) bool {
	has := t.Hyperparameters()
	for key, v := range values {
		if has[key] != v {
			return false
		}
	}
	return true
}

// rebuild replaces the trainee. It closes the old one last, so that an error leaves a trainee that can go on.
func (p *player) rebuild(values map[string]float64) error {
	snapshot, err := p.trainee.Snapshot()
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	fresh, err := p.opt.New(maps.Clone(values))
	if err == nil && fresh == nil {
		err = errors.New("New returned nil")
	}
	if err != nil {
		return fmt.Errorf("building a trainee: %w", err)
	}
	announceSteps(fresh, p.opt.Steps)
	// Restore comes first, since a snapshot may have hyperparameters of its own.
	if err := fresh.Restore(snapshot); err != nil {
		return errors.Join(fmt.Errorf("restore: %w", err), fresh.Close())
	}
	if err := fresh.SetHyperparameters(maps.Clone(values)); err != nil {
		return errors.Join(err, fresh.Close())
	}
	old := p.trainee
	p.trainee = fresh
	return old.Close()
}

// report calls Progress with copies that the callee may keep.
func (p *player) report(changed bool) {
	if p.opt.Progress == nil {
		return
	}
	p.opt.Progress(Position{
		Steps: p.trainee.Steps(), Total: p.opt.Steps, Phase: p.phase, Changed: changed,
		Hyperparameters: maps.Clone(p.trainee.Hyperparameters()), Metrics: maps.Clone(p.trainee.Metrics()),
	})
}
