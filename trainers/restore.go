package trainers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tracking"
)

// This file continues runs. Open makes the run's folder and, with Config.Resume, restores the newest valid checkpoint.
// Restore puts a snapshot into the trainer, its agent and its environment. A population also copies weights by Restore,
// and then calls [Trainee.Reseed].

// Open prepares training: it takes the run's folder and resets the environment. With Config.Resume it continues from
// the newest valid checkpoint. The first Train, Step or evaluation in place calls Open. Call Open earlier to write
// files of your own into Dir, or to read Damaged. A second call does nothing.
//
// If the folder holds another run, Open returns an error that wraps [fs.ErrExist], unless Config.Resume is set or a
// snapshot was restored before. If the folder holds a population, Open always returns such an error.
//
// A folder belongs to one trainer at a time, from Open to Close or the end of its process. While another trainer has
// the folder, Open returns an error and changes nothing, as do the methods that call it.
func (t *Trainer) Open(ctx context.Context) error {
	if err := t.usable(); err != nil {
		return err
	}
	return t.open(ctx)
}

// open is Open of a trainer that is not closed. After an error the next call makes up for what is missing. If a step
// has failed, open resets the environment.
func (l *loop) open(ctx context.Context) (err error) {
	if l.world.stepper.blocked != nil {
		return fmt.Errorf("trainers: %w", l.world.stepper.blocked)
	}
	if l.world.now != nil { // opened before
		if l.world.needsReset {
			return l.restart(ctx)
		}
		return nil
	}
	if l.cfg.writes() && l.files.dir == "" {
		l.files.dir = tracking.ExperimentDir(l.cfg.Directory, l.cfg.Name, l.agent.Name(), time.Now())
	}
	// An agent that cannot be saved has no checkpoints. A run without tracked values has no curves.
	_, saves := agents.As[agents.Snapshotter](l.agent)
	tracks := l.cfg.WriteInterval != (agents.Interval{})
	if l.files.dir != "" && (saves || tracks) {
		if err := l.files.lock(l.timestep); err != nil {
			return err
		}
	}
	if saves && l.files.dir != "" && l.files.store == nil {
		if l.files.store, err = checkpoint.NewStore(checkpointsIn(l.files.dir),
			checkpoint.Options{Keep: l.cfg.Keep}); err != nil {
			return err
		}
	}
	// On an error from here on the trainer is not open: the next call tries again.
	if l.cfg.Resume {
		if err := l.resume(); err != nil {
			l.world.now = nil
			return err
		}
	}
	if l.cfg.WarmStart != "" && l.timestep == 0 && !l.files.saved { // nothing was restored
		if err := l.warmStart(); err != nil {
			return err
		}
	}
	// A checkpoint with the environment's state has brought the episodes in progress. Otherwise new episodes begin,
	// with the statistics and parameters of the checkpoint, as if training had reset the environment when it was saved.
	if l.world.now == nil {
		if err := l.world.reset(ctx, l.cfg.Seed); err != nil {
			return fmt.Errorf("trainers: %w", err)
		}
	}
	// Tracked values come last: a resumed run first cuts off the values that are later than its checkpoint.
	if l.files.dir != "" && tracks && l.files.run == nil {
		if err := l.files.openRun(l.figures.written, l.batch(), l.calls.trainer.plain); err != nil {
			l.world.now = nil
			return err
		}
	}
	return nil
}

// resume restores the newest valid checkpoint, if there is one. It skips damaged checkpoints, which Damaged lists. If
// all are damaged, it returns an error: a new run in the same folder could overwrite what might still be repaired.
// Ranks above 0 have no files and restore what rank 0 sends.
func (l *loop) resume() error {
	latest := &checkpoint.Saved{Path: "rank 0's checkpoint"}
	if l.rank.Rank() == 0 {
		var err error
		if latest, err = l.files.latest(); err != nil {
			return err
		}
	}
	snap, err := l.rank.shareSnapshot(latest.Snapshot)
	if err != nil || snap == nil {
		return err
	}
	if err := l.restore(snap); err != nil {
		return fmt.Errorf("trainers: %s: %w", latest.Path, err)
	}
	if l.files.store != nil {
		if err := l.files.store.Tidy(); err != nil {
			return err
		}
	}
	l.files.saved = true // the newest checkpoint is of the present state
	l.notes = append(l.notes, l.calls.notes(snap)...)
	if l.files.store == nil {
		return nil
	}
	// The best checkpoint may be later than the newest, if it was saved at an evaluation and the run was killed after
	// it.
	saved, damaged, err := l.files.store.Best()
	l.files.damaged = append(l.files.damaged, damaged...)
	if err == nil {
		if best, ok := l.files.bestOf(saved.Snapshot); ok && (!l.files.hasBest || best > l.files.best) {
			l.files.best, l.files.hasBest = best, true
		}
	}
	return nil
}

// Restore puts a snapshot into the trainer and its agent: a checkpoint's, or that of another member of a population. On
// an error nothing has changed. Restore also restores the figures of episodes.
//
// If the snapshot has no environment state, or the environment cannot take it, the episodes in progress go on. The
// snapshot's parameters of the environment's reward then take effect in each environment when its episode ends. The
// snapshot's hidden states (models.Recurrent) and its rollout in progress belong to other episodes: the hidden states
// start from zero, and the last step of the rollout counts as truncated. If a population copies weights and each member
// keeps its environment's state and its buffers (SaveBuffers), each member keeps its own hidden states, too.
func (t *Trainer) Restore(snap *checkpoint.Snapshot) error {
	if err := t.usable(); err != nil {
		return err
	}
	return t.restore(snap)
}

// restore is Restore of a trainer that is not closed. resume calls it, too.
func (l *loop) restore(snap *checkpoint.Snapshot) error {
	s, err := snapshotter(l.agent)
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
	// The order makes it possible to undo everything. The environment and the callbacks come first, because they return
	// an undo function. The agent follows, which restores all or nothing, and then what cannot fail.
	whole := l.world.takesState(snap)
	running, err := l.world.running.restored(snap, whole)
	if err != nil {
		return err
	}
	undo, err := l.world.restore(snap)
	if err != nil {
		return err
	}
	undoCallbacks, err := l.calls.restore(snap)
	if err != nil {
		return errors.Join(err, undo())
	}
	if err := s.Restore(snap); err != nil {
		return errors.Join(err, undoCallbacks(), undo())
	}
	if !whole { // the snapshot's hidden states and rollout belong to other episodes than those in progress
		l.world.forget()
	}
	l.timestep, l.files.saved, l.world.running = timestep, false, running
	if best, ok := l.files.bestOf(snap); ok {
		l.files.best, l.files.hasBest = best, true
	}
	l.evaluated, _ = snap.Int(layout.Trainer, evaluatedKey) // 0 if there was none
	if l.figures.written, err = snap.Int(layout.Trainer, writtenKey); err != nil {
		l.figures.written = timestep // of an older snapshot
	}
	// The figures become those of the snapshot. Figures that the snapshot lacks start from scratch.
	l.figures.metrics = metrics{}
	l.figures.metrics.restore(snap)
	l.figures.restore(snap, whole, l.world.env.NumEnvs())
	l.rank.know(l.figures.episodes)
	return nil
}

// warmStart loads networks, scalers and statistics from the checkpoint that Config.WarmStart names. Rank 0 reads it for
// all ranks. open calls it only at timestep 0, if nothing was restored.
func (l *loop) warmStart() error {
	s, err := snapshotter(l.agent)
	if err != nil {
		return err
	}
	saved := &checkpoint.Saved{}
	if l.rank.Rank() == 0 {
		if saved, err = trained(l.cfg.WarmStart); err != nil {
			return fmt.Errorf("trainers: \"warm_start\": %w", err)
		}
	}
	snap, err := l.rank.shareSnapshot(saved.Snapshot)
	if err != nil {
		return err
	}
	if _, err := agents.WarmStart(s, snap); err != nil {
		return fmt.Errorf("trainers: \"warm_start\" is %s: %w", l.cfg.WarmStart, err)
	}
	if err := l.world.restoreStatistics(snap); err != nil {
		return fmt.Errorf("trainers: \"warm_start\" is %s: %w", l.cfg.WarmStart, err)
	}
	return nil
}

// trained loads the checkpoint at path. If path is a run's folder, it loads the best checkpoint, or the newest if none
// was saved as the best. A damaged best checkpoint is an error, because another one could be much worse.
func trained(path string) (*checkpoint.Saved, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return checkpoint.Load(path)
	}
	store, err := storeIn(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not the folder of a run with one agent: %w", path, err)
	}
	saved, damaged, err := store.Best()
	if errors.Is(err, checkpoint.ErrNone) && len(damaged) == 0 {
		saved, _, err = store.Latest()
	}
	return saved, err
}
