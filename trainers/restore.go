package trainers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/tracking"
)

// How a run continues: Open makes the run's folder and, with Config.Resume, restores the newest valid checkpoint;
// Restore puts a snapshot into the trainer, its agent and its environment. Copied weights of a population come in
// through Restore as well, followed by [Trainee.Reseed].

// Open prepares training: it takes the run's folder, resets the environment, and continues from the newest valid
// checkpoint where Config.Resume says so. The first Train, Step or evaluation in place does it; call it before to write
// files of your own into Dir, or to know Damaged. It may be called again, and does nothing then.
//
// If the folder holds another run, Open returns an error that wraps [fs.ErrExist], unless Config.Resume is set or a
// snapshot was restored before. If the folder holds a population, Open always returns such an error.
//
// A folder belongs to one trainer at a time, from Open to Close or the end of its process. While another one has it,
// Open and what calls it return an error, and change nothing.
func (t *Trainer) Open(ctx context.Context) (err error) {
	if err := t.usable(); err != nil {
		return err
	}
	if t.stepper.blocked != nil {
		return fmt.Errorf("trainers: %w", t.stepper.blocked)
	}
	if t.now != nil { // opened before
		if t.needsReset {
			return t.restart(ctx)
		}
		return nil
	}
	if t.cfg.writes() && t.dir == "" {
		t.dir = tracking.ExperimentDir(t.cfg.Directory, t.cfg.Name, t.agent.Name(), t.clock())
	}
	_, saves := agents.As[agents.Snapshotter](t.agent)
	tracks := t.cfg.WriteInterval != (agents.Interval{})
	if t.dir != "" && (saves || tracks) {
		if err := t.lock(); err != nil {
			return err
		}
	}
	if saves && t.dir != "" && t.store == nil {
		if t.store, err = checkpoint.NewStore(checkpointsIn(t.dir), checkpoint.Options{Keep: t.cfg.Keep}); err != nil {
			return err
		}
	}
	// On an error from here on the trainer is not open: the next call tries again.
	if t.cfg.Resume {
		if err := t.resume(); err != nil {
			t.now = nil
			return err
		}
	}
	if t.cfg.WarmStart != "" && t.timestep == 0 && !t.saved { // nothing was restored
		if err := t.warmStart(); err != nil {
			return err
		}
	}
	// A checkpoint may have brought the episodes in progress. Otherwise they begin behind the statistics and with the
	// parameters of the checkpoint, as if training had reset the environment when it was saved.
	if t.now == nil {
		if err := t.reset(ctx, t.cfg.Seed); err != nil {
			return fmt.Errorf("trainers: %w", err)
		}
	}
	// Tracked values last: a resumed run first cuts off those that are later than its checkpoint.
	if t.dir != "" && tracks && t.run == nil {
		if err := t.openRun(); err != nil {
			t.now = nil
			return err
		}
	}
	return nil
}

// lock makes the run's folder and takes it for this trainer until Close.
func (t *Trainer) lock() error {
	if t.unlock != nil {
		return nil
	}
	if err := durable.MkdirAll(t.dir, 0o777); err != nil {
		return fmt.Errorf("trainers: the run's folder: %w", err)
	}
	unlock, err := durable.Lock(t.dir, "lock")
	if errors.Is(err, durable.ErrInUse) {
		return fmt.Errorf("trainers: %s is being trained by another trainer, here or in another process; "+
			"wait for its end, close it, or give this run another name: %w", t.dir, err)
	}
	if err != nil {
		return err
	}
	// Two runs must not share a folder. Only a resumed run may write into a folder that holds a run.
	switch holds := runfile.In(t.dir); {
	case holds.Population:
		err = fmt.Errorf("trainers: %s holds a population; give this run another Directory or Name: %w", t.dir, fs.ErrExist)
	case holds.Run && !t.cfg.Resume && t.timestep == 0:
		err = fmt.Errorf("trainers: %s holds a run already; set Resume to go on with it, or give this run another Name: %w",
			t.dir, fs.ErrExist)
	}
	if err != nil {
		return errors.Join(err, unlock())
	}
	t.unlock = unlock
	return nil
}

// newest returns the timestep of the newest valid checkpoint in the folder that a run will resume, 0 where there is
// none. It changes nothing; what is damaged is for resume to say.
func newest(cfg Config) int64 {
	dir := checkpointsIn(tracking.ExperimentDir(cfg.Directory, cfg.Name, "", time.Time{}))
	if _, err := os.Stat(dir); err != nil { // a store would make it
		return 0
	}
	store, err := checkpoint.NewStore(dir, checkpoint.Options{})
	if err != nil {
		return 0
	}
	manifests, _, err := store.List()
	if err != nil {
		return 0
	}
	for _, m := range manifests {
		if _, err := checkpoint.Verify(filepath.Join(dir, m.File)); err == nil {
			return m.Step
		}
	}
	return 0
}

// checkpointsIn returns the folder of checkpoints in a run's.
func checkpointsIn(dir string) string { return filepath.Join(dir, "checkpoints") }

// resume restores the newest valid checkpoint, if there is one. Damaged ones are passed over and listed by Damaged.
// Where all are damaged it is an error: training anew in the same folder could overwrite what might still be repaired.
func (t *Trainer) resume() error {
	latest := &checkpoint.Saved{Path: "rank 0's checkpoint"}
	if t.rank.Rank() == 0 {
		var err error
		if latest, err = t.latest(); err != nil {
			return err
		}
	}
	snap, err := t.rank.shareSnapshot(latest.Snapshot)
	if err != nil || snap == nil {
		return err
	}
	if err := t.Restore(snap); err != nil {
		return fmt.Errorf("trainers: %s: %w", latest.Path, err)
	}
	if t.store != nil {
		if err := t.store.Tidy(); err != nil {
			return err
		}
	}
	t.saved = true // the newest checkpoint is of the present state
	t.noteCallbacks(snap)
	if t.store == nil {
		return nil
	}
	// The best one may be later, where it was saved at an evaluation and the run was killed after it.
	saved, damaged, err := t.store.Best()
	t.damaged = append(t.damaged, damaged...)
	if err == nil {
		if best, ok := t.bestOf(saved.Snapshot); ok && (!t.hasBest || best > t.best) {
			t.best, t.hasBest = best, true
		}
	}
	return nil
}

// latest returns the newest checkpoint whose manifest and checksum are right, one without a snapshot where there is none.
func (t *Trainer) latest() (*checkpoint.Saved, error) {
	latest, damaged, err := t.store.Latest()
	t.damaged = damaged
	if errors.Is(err, checkpoint.ErrNone) {
		for _, d := range damaged {
			if !errors.Is(d, checkpoint.ErrUncommitted) { // a save that was interrupted has lost nothing
				return nil, fmt.Errorf("trainers: no checkpoint in %s is valid; put a good one there, or remove the folder to begin anew: %w", t.store.Dir(), d)
			}
		}
		return &checkpoint.Saved{}, nil
	}
	return latest, err
}

// bestOf returns the figure of the best checkpoint that a snapshot knows of, where it is of Config.Best.
func (t *Trainer) bestOf(snap *checkpoint.Snapshot) (best float64, ok bool) {
	best, err := snap.Float(layout.Trainer, "best")
	name, missing := snap.Text(layout.Trainer, bestFigureKey)
	if missing != nil { // a snapshot that is older than evaluations
		return best, err == nil && !t.cfg.byEvaluation()
	}
	return best, err == nil && name == t.cfg.Best
}

// Restore puts a snapshot into the trainer and its agent: a checkpoint's, or another member's of a population. It
// restores all or (on an error) nothing; figures of episodes are restored too.
//
// If the snapshot has no environment state, or the environment cannot take it, the episodes in progress go on. The
// snapshot's parameters of the environment's reward then take effect in each environment when its episode ends. The
// snapshot's hidden states (models.Recurrent) and its rollout in progress belong to other episodes: the hidden states
// start from zero, and the last step of the rollout counts as truncated. If a population copies weights and each
// member keeps its environment's state and its buffers (SaveBuffers), each member keeps its own hidden states, too.
func (t *Trainer) Restore(snap *checkpoint.Snapshot) error {
	if err := t.usable(); err != nil {
		return err
	}
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
	// The order makes it possible to undo everything: first the environment and the callbacks, which return an undo
	// function, then the agent, which restores all or nothing, and then what cannot fail.
	whole := t.takesState(snap)
	running, err := t.running.restored(snap, whole)
	if err != nil {
		return err
	}
	undo, err := t.restoreEnvironment(snap)
	if err != nil {
		return err
	}
	undoCallbacks, err := t.restoreCallbacks(snap)
	if err != nil {
		return errors.Join(err, undo())
	}
	if err := s.Restore(snap); err != nil {
		return errors.Join(err, undoCallbacks(), undo())
	}
	if !whole { // the snapshot's hidden states and rollout belong to other episodes than those in progress
		t.forget()
	}
	t.timestep, t.saved, t.running = timestep, false, running
	if best, ok := t.bestOf(snap); ok {
		t.best, t.hasBest = best, true
	}
	t.evaluated, _ = snap.Int(layout.Trainer, evaluatedKey) // 0 where there was none
	if t.written, err = snap.Int(layout.Trainer, writtenKey); err != nil {
		t.written = timestep // of an older snapshot
	}
	// Figures are those of the snapshot; what it does not have of them begins anew.
	t.metrics = metrics{}
	t.metrics.restore(snap)
	t.restoreTracked(snap, whole)
	return nil
}
