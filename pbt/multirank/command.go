package multirank

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/pbt"
)

// order is what the ranks are to do.
type order int

const (
	wait order = iota // nothing: rank 0 says that it is alive
	build
	train
	set
	restore
	reseed
	plan
	closing
	end // no command follows
)

// command is an order with all that it needs.
type command struct {
	Do order
	// Trainee is the number of the one that it is for: while a member is built again, there are two.
	Trainee int
	// Member has what build is given, but for the snapshot.
	ID   int
	Seed int64
	// Values are hyperparameters, of build and set.
	Values map[string]float64
	// Snapshot is that of build and restore, as a file; empty for none. snapshot is the same as it is used.
	Snapshot []byte
	snapshot *checkpoint.Snapshot
	// Steps are environment steps, of train and plan.
	Steps int64
	// How, a place in endings or −1, and Why say how rank 0 has ended.
	How int
	Why string
}

// tell sends a command to the other ranks.
func tell(g *distributed.Group, c command) error {
	var text, file bytes.Buffer
	if c.snapshot != nil {
		if err := checkpoint.EncodeSafetensors(&file, c.snapshot); err != nil {
			return fmt.Errorf("multirank: %w", err)
		}
		c.Snapshot = file.Bytes()
	}
	if err := gob.NewEncoder(&text).Encode(c); err != nil {
		return fmt.Errorf("multirank: %w", err)
	}
	if _, err := g.BroadcastBytes(0, text.Bytes()); err != nil {
		return broken(err)
	}
	return nil
}

// hear waits for the next command of rank 0.
func hear(g *distributed.Group) (c command, err error) {
	text, err := g.BroadcastBytes(0, nil)
	if err != nil {
		return c, broken(err)
	}
	err = gob.NewDecoder(bytes.NewReader(text)).Decode(&c)
	if err == nil && len(c.Snapshot) > 0 {
		c.snapshot, err = checkpoint.DecodeSafetensors(c.Snapshot)
	}
	if err != nil {
		return c, fmt.Errorf("multirank: a command of rank 0, which must be the same program: %w", err)
	}
	return c, nil
}

// broken is the error of a group that is of no more use.
func broken(err error) error { return fmt.Errorf("%w: %w", pbt.ErrBroken, err) }

// part makes this rank's part of a command, and hears from the others how theirs went. An error of any rank is
// one of all ranks; where one has failed, those that have not undo what they did, if there is anything to undo.
func part(g *distributed.Group, do func() (undo func() error, err error)) error {
	var undo func() error
	var own error
	if p := panics.Catch(func() { undo, own = do() }); p != nil {
		undo, own = nil, p
	}
	var panicked *pbt.PanicError
	if errors.As(own, &panicked) {
		g.Leave(own) // it may have stopped between two of the operations that all ranks make together
	}
	text := ""
	if own != nil {
		text = "x" + own.Error() // never empty
	}
	all, err := g.GatherBytes([]byte(text))
	if err != nil {
		return errors.Join(broken(err), own)
	}
	if own != nil {
		return own
	}
	for rank, text := range all {
		if len(text) == 0 {
			continue
		}
		err := fmt.Errorf("multirank: rank %d: %s", rank, text[1:])
		if undo != nil {
			if failed := undo(); failed != nil {
				err = fmt.Errorf("%w; and rank %d could not undo it: %w", err, g.Rank(), failed)
				g.Leave(err)
				return broken(err)
			}
		}
		return err
	}
	return nil
}

// carry makes a rank's part of a command for a trainee.
func carry(ctx context.Context, g *distributed.Group, t Trainee, c command) error {
	return part(g, func() (undo func() error, err error) {
		switch c.Do {
		case restore:
			before, err := t.Snapshot()
			if err != nil {
				return nil, err
			}
			undo = func() error { return t.Restore(before) }
		case set:
			before := t.Hyperparameters()
			undo = func() error { return t.SetHyperparameters(before) }
		}
		return undo, c.do(ctx, t)
	})
}

// do makes the trainee of one rank do what the command says.
func (c command) do(ctx context.Context, t Trainee) error {
	switch c.Do {
	case train:
		return t.Train(ctx, c.Steps)
	case set:
		return t.SetHyperparameters(c.Values)
	case restore:
		return t.Restore(c.snapshot)
	case reseed:
		return t.Reseed(c.Seed)
	case plan:
		t.Plan(c.Steps)
	case closing:
		return t.Close()
	}
	return nil
}

// make builds a rank's trainee. Ranks build together, so that one which fails leaves the others, which would wait for
// it.
func (b Build) make(g *distributed.Group, m pbt.Member) (t Trainee, err error) {
	err = part(g, func() (func() error, error) {
		if t, err = b(g, m); err != nil {
			g.Leave(err)
		}
		return nil, err
	})
	if err != nil && t != nil {
		err, t = errors.Join(err, t.Close()), nil
	}
	return t, err
}
