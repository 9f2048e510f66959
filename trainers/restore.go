package trainers

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tracking"
)

// How a run continues: open makes the run's folder and, with Config.Resume, restores the newest valid checkpoint;
// Restore puts a snapshot into the trainer, its agent and its environment. Copied weights of a population come in
// through Restore as well, followed by [Trainee.Reseed].

// open prepares training, once: it makes the run's folder, resets the environment, and continues from a checkpoint
// where Resume says so. It is called by whatever needs a state to begin from.
func (t *Trainer) open() (err error) {
	if t.closed {
		return errors.New("trainers: the trainer is closed")
	}
	if t.now != nil { // opened before
		return nil
	}
	if t.cfg.writes() && t.dir == "" {
		t.dir = tracking.ExperimentDir(t.cfg.Directory, t.cfg.Name, t.agent.Name(), t.clock())
	}
	if _, ok := agents.As[agents.Snapshotter](t.agent); ok && t.dir != "" && t.store == nil {
		if t.store, err = checkpoint.NewStore(filepath.Join(t.dir, "checkpoints"), checkpoint.Options{Keep: t.cfg.Keep}); err != nil {
			return err
		}
	}
	if err := t.reset(t.cfg.Seed); err != nil {
		return fmt.Errorf("trainers: reset: %w", err)
	}
	// On an error from here on the trainer is not open: the next call tries again.
	if t.cfg.Resume {
		if err := t.resume(); err != nil {
			t.now = nil
			return err
		}
	}
	// Tracked values last: a resumed run first cuts off those that are later than its checkpoint.
	if t.cfg.writes() && t.cfg.WriteInterval != (agents.Interval{}) && t.run == nil {
		if err := t.openRun(); err != nil {
			t.now = nil
			return err
		}
	}
	return nil
}

// resume restores the newest valid checkpoint, if there is one. Damaged ones are passed over and listed by Damaged.
// Where all are damaged it is an error: training anew in the same folder could overwrite what might still be repaired.
func (t *Trainer) resume() error {
	// The newest one whose manifest and checksum are right.
	latest, damaged, err := t.store.Latest()
	t.damaged = damaged
	if errors.Is(err, checkpoint.ErrNone) {
		for _, d := range damaged {
			if !errors.Is(d, checkpoint.ErrUncommitted) { // a save that was interrupted has lost nothing
				return fmt.Errorf("trainers: no checkpoint in %s is valid; put a good one there, or remove the folder to begin anew: %w", t.store.Dir(), d)
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := t.Restore(latest.Snapshot); err != nil {
		return fmt.Errorf("trainers: %s: %w", latest.Path, err)
	}
	t.saved = true // the newest checkpoint is of the present state
	return nil
}

// Restore puts a snapshot into the trainer and its agent: a checkpoint's, or another member's of a population. It
// restores all or (on an error) nothing; figures of episodes are restored too. Where the snapshot has no environment
// state, or the environment cannot take it, the episodes in progress go on, and the snapshot's parameters of the
// environment's reward take effect where each of them ends.
func (t *Trainer) Restore(snap *checkpoint.Snapshot) error {
	s, err := snapshotter(t.agent)
	if err != nil {
		return err
	}
	timestep, err := snap.Int(layout.Trainer, "timestep")
	if err != nil {
		return fmt.Errorf("trainers: the checkpoint is not a trainer's: %w", err)
	}
	if timestep < 0 {
		return fmt.Errorf("trainers: the checkpoint's timestep is %d", timestep)
	}
	// Check and restore in an order that can be undone: the environment first, because it returns what undoes it, then the
	// agent, which restores all or nothing, and then what cannot fail.
	whole := t.takesState(snap)
	running, err := t.running.restored(snap, whole)
	if err != nil {
		return err
	}
	undo, err := t.restoreEnvironment(snap)
	if err != nil {
		return err
	}
	if err := s.Restore(snap); err != nil {
		return errors.Join(err, undo())
	}
	t.timestep, t.saved, t.running = timestep, false, running
	if best, err := snap.Float(layout.Trainer, "best"); err == nil {
		t.best, t.hasBest = best, true
	}
	// Figures are those of the snapshot; what it does not have of them begins anew.
	t.metrics = metrics{}
	t.metrics.restore(snap)
	t.restoreTracked(snap, whole)
	return nil
}
