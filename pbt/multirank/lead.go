package multirank

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/pbt"
)

// Trainee is what several ranks train together: a trainee of a population whose Train meets the other ranks, and which
// has all that a population may ask of one. *trainers.Trainee is one.
type Trainee interface {
	pbt.Trainee
	pbt.Reseeder
	pbt.Planner
	pbt.Sampler
	pbt.Evaluator
}

// Build makes a rank's trainee, as pbt.Options.New does, in a group that its agent is part of. All ranks call it at
// once with equal members. The group is nil if the member has one rank.
type Build func(g *distributed.Group, m pbt.Member) (Trainee, error)

// buildFunc is a function for pbt.Options.New.
type buildFunc = func(m pbt.Member) (pbt.Trainee, error)

// memberFunc trains a member whose trainees build makes.
type memberFunc = func(ctx context.Context, build buildFunc) error

// alive is the time between signs of life from rank 0 to the others, which would else give it up after Config.Timeout
// while it evaluates, saves, or waits for other members.
const alive = 5 * time.Second

// leader is rank 0.
type leader struct {
	group *distributed.Group
	build Build
	stop  context.CancelCauseFunc // ends the member's training

	mu    sync.Mutex // of the group: commands come from the member's goroutine, signs of life from another
	count int        // of the trainees built
	lost  error      // why no command reaches the others any more
}

// lead calls member on rank 0 of a group that has several ranks, with a function for pbt.Options.New: all ranks build
// the trainee that it returns, and whatever changes that trainee happens on all of them. The others call follow
// meanwhile, with the same build.
//
// An error of one rank is one of the trainee, undone on all ranks where Restore or SetHyperparameters promise it. Where
// a rank has died, or cannot go on with the others, errors wrap [pbt.ErrBroken], and the context of member ends. That
// context also ends, with a cause that wraps context.Canceled, where another rank was asked to stop.
func lead(ctx context.Context, g *distributed.Group, b Build, member memberFunc) error {
	ctx, stop := context.WithCancelCause(ctx)
	l := &leader{group: g, build: b, stop: stop}
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { l.keepAlive(ended) })
	err := member(ctx, l.New)
	close(ended)
	watch.Wait()
	err = stoppedBy(ctx, err)
	stop(nil)
	if l.lost == nil { // otherwise they know
		err = errors.Join(err, tell(g, endOf(err)))
	}
	return err
}

// keepAlive tells the other ranks every so often that rank 0 is alive, and so notices one that has died.
func (l *leader) keepAlive(ended <-chan struct{}) {
	ticker := time.NewTicker(alive)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		if !l.mu.TryLock() { // a command is on its way
			continue
		}
		if l.lost == nil {
			_ = l.note(tell(l.group, command{Do: wait})) // the next command says it
		}
		l.mu.Unlock()
	}
}

// note keeps the first error after which the group is of no more use, and ends the member's training. It returns err.
func (l *leader) note(err error) error {
	if l.lost == nil && errors.Is(err, pbt.ErrBroken) {
		l.lost = err
		l.stop(err)
	}
	return err
}

// call makes all ranks carry out a command, which part does on this one.
func (l *leader) call(c command, part func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return l.lost
	}
	if err := tell(l.group, c); err != nil {
		return l.note(err)
	}
	return l.note(part())
}

// New builds the member's trainee on all ranks.
func (l *leader) New(m pbt.Member) (pbt.Trainee, error) {
	l.count++
	t := &led{leader: l, number: l.count}
	c := command{Do: build, Trainee: t.number, ID: m.ID, Seed: m.Seed, Values: m.Hyperparameters, snapshot: m.Restoring}
	if err := l.call(c, func() (err error) {
		t.Trainee, err = l.build.make(l.group, m)
		return err
	}); err != nil {
		return nil, err
	}
	return t, nil
}

// led is the trainee of rank 0. What only reads is made by rank 0 alone: Snapshot, Steps, Metrics, Samples,
// Hyperparameters, EvaluateMetrics.
type led struct {
	Trainee
	leader *leader
	number int
	closed bool
}

// call makes all ranks carry out a command for this trainee.
func (t *led) call(ctx context.Context, c command) error {
	c.Trainee = t.number
	return t.leader.call(c, func() error { return carry(ctx, t.leader.group, t.Trainee, c) })
}

// Train advances all ranks by so many environment steps in all. If another rank was stopped, so is the member.
func (t *led) Train(ctx context.Context, steps int64) error {
	err := t.call(ctx, command{Do: train, Steps: steps})
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		t.leader.stop(err)
	}
	return err
}

// SetHyperparameters changes some hyperparameters of all ranks, or none.
func (t *led) SetHyperparameters(values map[string]float64) error {
	return t.call(context.Background(), command{Do: set, Values: values})
}

// Restore puts a snapshot into all ranks, or none.
func (t *led) Restore(s *checkpoint.Snapshot) error {
	return t.call(context.Background(), command{Do: restore, snapshot: s})
}

// Reseed gives every rank random numbers of its own.
func (t *led) Reseed(seed int64) error {
	return t.call(context.Background(), command{Do: reseed, Seed: seed})
}

// Plan tells all ranks how long the member trains.
func (t *led) Plan(steps int64) {
	// An error is one of the group, which the next command returns, too.
	_ = t.call(context.Background(), command{Do: plan, Steps: steps})
}

// Close releases the trainees of all ranks.
func (t *led) Close() error {
	if t.closed {
		return nil
	}
	t.closed = true
	made, c := false, command{Do: closing, Trainee: t.number}
	err := t.leader.call(c, func() error {
		made = true
		return carry(context.Background(), t.leader.group, t.Trainee, c)
	})
	if !made { // the others are gone, or released theirs when they lost this rank
		return t.Trainee.Close()
	}
	return err
}
