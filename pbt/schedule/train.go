package schedule

// This file trains a trainee with a schedule. The trainee is any pbt.Trainee, so the same code replays a schedule
// with every agent that a population can train.

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/pbt"
)

// Options say how a schedule is played.
type Options struct {
	// Steps is the number of environment steps at which to stop. Fewer stop within the schedule; more go on with its last
	// hyperparameters, which suits a schedule that was cut off before training had converged. Default (0): Schedule.Steps.
	Steps int64
	// ProgressSteps is the number of environment steps after which Progress is called, beside at every change. A smaller
	// number shows more and calls Trainee.Train more often. Default (0): at changes only.
	//
	// Give about the number of steps of a few rollouts for a live display; leave it at 0 for unattended runs.
	ProgressSteps int64
	// Progress, when not nil, is told where training stands.
	Progress func(Position)
	// New builds the trainee anew, for hyperparameters that only take effect so (see pbt.ErrRebuild). The old one's
	// weights are restored into it, and the old one is closed. Default (nil): such hyperparameters are an error.
	//
	// Give it where the schedule changes settings for which SetHyperparameters of the trainee returns pbt.ErrRebuild.
	New func(hyperparameters map[string]float64) (pbt.Trainee, error)
}

// Position is where a trainee stands in a schedule.
type Position struct {
	// Steps is the number of environment steps trained, Total that at the end.
	Steps, Total int64
	// Phase is the index in Schedule.Phases; Changed is true when it has just begun.
	Phase   int
	Changed bool
	// Hyperparameters and Metrics are the trainee's.
	Hyperparameters, Metrics map[string]float64
}

// Train plays a schedule to a trainee. It begins where the trainee's Steps say: at the first phase for a fresh one, in
// the middle for one that was restored from a snapshot taken on the way. When the context is cancelled, the trainee is
// in a state to go on from, and the error wraps the context's cause.
//
// Only hyperparameters are replayed. What else a population whose networks evolve did to the weights, edits of
// architectures and noise, is not: the trainee keeps the networks that it has; see [Schedule.Architectures].
//
// A trainee trains whole timesteps of all its environments. Where the number of environments is not the population's,
// changes come up to one timestep late.
func Train(ctx context.Context, trainee pbt.Trainee, s Schedule, opt Options) error {
	if opt.New != nil {
		return errors.New("schedule: Train cannot hand on a trainee built anew; use NewPlayer with Options.New")
	}
	p, err := NewPlayer(trainee, s, opt)
	if err != nil {
		return err
	}
	return p.Train(ctx)
}

// Player trains one trainee through a schedule.
type Player struct {
	trainee  pbt.Trainee
	schedule Schedule
	opt      Options
	phase    int // the one that the trainee was last set to, -1 before
}

// NewPlayer checks a schedule and prepares to play it. The trainee is told its length (pbt.Planner);
// nothing else is changed or trained yet.
func NewPlayer(trainee pbt.Trainee, s Schedule, opt Options) (*Player, error) {
	if trainee == nil {
		return nil, errors.New("schedule: there is no trainee to train")
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	switch {
	case opt.Steps < 0:
		return nil, fmt.Errorf("schedule: Steps is %d; give 0 or more", opt.Steps)
	case opt.ProgressSteps < 0:
		return nil, fmt.Errorf("schedule: ProgressSteps is %d; give 0 or more", opt.ProgressSteps)
	}
	// Every key is checked before training, so that a misspelt one does not end a run after days.
	has := trainee.Hyperparameters()
	for _, key := range s.Keys() {
		if _, ok := has[key]; !ok {
			return nil, fmt.Errorf("schedule: it sets %q, which the trainee does not have; it has %v", key, sorted(has))
		}
	}
	if opt.Steps == 0 {
		opt.Steps = s.Steps
	}
	plan(trainee, opt.Steps)
	return &Player{trainee: trainee, schedule: s, opt: opt, phase: -1}, nil
}

// plan tells a trainee that asks for it how long it will train.
func plan(t pbt.Trainee, steps int64) {
	if p, ok := t.(pbt.Planner); ok {
		p.Plan(steps)
	}
}

// Trainee is the trainee, which is another one after it had to be built anew.
func (p *Player) Trainee() pbt.Trainee { return p.trainee }

// Train trains to the end. It may be called again after it was cancelled.
//
// Each round trains up to the next change, the next call of Progress or the end, whichever comes first. The step
// count is read from the trainee every time, as it trains whole timesteps and may go beyond what was asked.
func (p *Player) Train(ctx context.Context) error {
	for {
		steps := p.trainee.Steps()
		if steps >= p.opt.Steps {
			return nil
		}
		if ctx.Err() != nil {
			return p.stopped(ctx)
		}
		if phase := p.schedule.phase(steps); phase != p.phase {
			if err := p.enter(phase, steps); err != nil {
				return err
			}
		}
		next := p.opt.Steps
		if p.phase+1 < len(p.schedule.Phases) {
			next = min(next, p.schedule.Phases[p.phase+1].From)
		}
		if p.opt.ProgressSteps > 0 && next-steps > p.opt.ProgressSteps {
			next = steps + p.opt.ProgressSteps
		}
		// An error that the cancelled context caused is no failure of the training. A trainee that does not advance
		// would make this loop endless.
		switch err := p.trainee.Train(ctx, next-steps); {
		case err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
			return p.stopped(ctx)
		case err != nil:
			return fmt.Errorf("schedule: at environment step %d: %w", p.trainee.Steps(), err)
		case p.trainee.Steps() <= steps && ctx.Err() == nil:
			return fmt.Errorf("schedule: Train(%d) left the trainee at environment step %d; it must advance", next-steps,
				p.trainee.Steps())
		}
		if p.opt.ProgressSteps > 0 || p.trainee.Steps() >= p.opt.Steps {
			p.tell(false)
		}
	}
}

// stopped is the error of a training that the context has ended.
func (p *Player) stopped(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("schedule: stopped at environment step %d of %d: %w", p.trainee.Steps(), p.opt.Steps, err)
}

// enter gives the trainee the hyperparameters of a phase. A trainee that has them already is left alone, so that going
// on in the middle of a phase disturbs nothing.
func (p *Player) enter(phase int, steps int64) error {
	values := p.schedule.At(steps)
	if from := p.schedule.Phases[phase].From; steps == from || !holds(p.trainee.Hyperparameters(), values) {
		// Clones, as the trainee may keep the map.
		err := p.trainee.SetHyperparameters(maps.Clone(values))
		if errors.Is(err, pbt.ErrRebuild) && p.opt.New != nil {
			err = p.rebuild(values)
		}
		if err != nil {
			return fmt.Errorf("schedule: phase %d at environment step %d: %w", phase, steps, err)
		}
	}
	p.phase = phase
	p.tell(true)
	return nil
}

// holds reports whether a trainee has all the values already.
func holds(has, values map[string]float64) bool {
	for key, v := range values {
		if has[key] != v {
			return false
		}
	}
	return true
}

// rebuild replaces the trainee by one that is built with the hyperparameters and has its weights. The old one is closed
// only once the new one is complete, so that an error leaves a trainee to go on with.
func (p *Player) rebuild(values map[string]float64) error {
	snapshot, err := p.trainee.Snapshot()
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	fresh, err := p.opt.New(maps.Clone(values))
	if err == nil && fresh == nil {
		err = errors.New("New returned nothing")
	}
	if err != nil {
		return fmt.Errorf("building it anew: %w", err)
	}
	plan(fresh, p.opt.Steps)
	// Restore comes before SetHyperparameters: a snapshot may hold hyperparameters of its own, which the schedule's
	// must replace.
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

// tell reports the position, with copies that the receiver may keep.
func (p *Player) tell(changed bool) {
	if p.opt.Progress == nil {
		return
	}
	p.opt.Progress(Position{
		Steps: p.trainee.Steps(), Total: p.opt.Steps, Phase: p.phase, Changed: changed,
		Hyperparameters: maps.Clone(p.trainee.Hyperparameters()), Metrics: maps.Clone(p.trainee.Metrics()),
	})
}
