package multirank

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
)

// follow does on a rank above 0 what lead does on rank 0, until that has ended, and returns an error of the same
// kind: nil if the member is trained to its end, and errors that wrap pbt.ErrYield, pbt.ErrRestart or
// launch.ErrStopped where it goes on in other processes. A context that ends makes all ranks stop behind their next
// update.
func follow(ctx context.Context, g *distributed.Group, b Build) (err error) {
	trainees := map[int]Trainee{}
	defer func() {
		for _, t := range trainees {
			err = errors.Join(err, t.Close())
		}
	}()
	for {
		c, err := hear(g)
		if err != nil {
			g.Leave(err)
			return err
		}
		switch c.Do {
		case wait:
			continue
		case end:
			return c.ending()
		}
		if err := carryOut(ctx, g, b, trainees, c); errors.Is(err, pbt.ErrBroken) {
			return err
		}
	}
}

// carryOut executes a command. Rank 0 hears of its errors and acts on them; a follower acts only on one that wraps
// pbt.ErrBroken.
func carryOut(ctx context.Context, g *distributed.Group, b Build, trainees map[int]Trainee, c command) error {
	if c.Do == build {
		t, err := b.make(g, pbt.Member{ID: c.ID, Seed: c.Seed, Hyperparameters: c.Values, Restoring: c.snapshot})
		if err == nil {
			trainees[c.Trainee] = t
		}
		return err
	}
	t, ok := trainees[c.Trainee]
	if !ok {
		err := fmt.Errorf("multirank: rank 0 commands trainee %d, which rank %d does not have", c.Trainee, g.Rank())
		g.Leave(err)
		return broken(err)
	}
	if c.Do == closing {
		delete(trainees, c.Trainee)
	}
	return carry(ctx, g, t, c)
}

// endings are the errors by which a member says how it has ended; any other means that it failed. The other ranks end
// as rank 0 does, because launchers look at the status of every rank.
var endings = []error{nil, pbt.ErrYield, pbt.ErrRestart, launch.ErrStopped}

// endOf returns the command that tells the other ranks how a member has ended.
func endOf(err error) command {
	c := command{Do: end, How: slices.IndexFunc(endings, func(x error) bool { return errors.Is(err, x) })}
	if err != nil {
		c.Why = err.Error()
	}
	return c
}

// ending is what another rank returns after that command.
func (c command) ending() error {
	switch {
	case c.How < 0:
		return fmt.Errorf("multirank: rank 0 has ended: %s", c.Why)
	case endings[c.How] == nil:
		return nil
	}
	return fmt.Errorf("rank 0: %w", endings[c.How])
}

// stoppedBy makes err one of a member that was stopped, if it is because ctx has ended: by a signal, or because
// another rank was stopped.
func stoppedBy(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, pbt.ErrBroken) || errors.Is(err, launch.ErrStopped) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w: %w", launch.ErrStopped, err)
	}
	return err
}
