package trainers

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tracking"
)

// open makes the run's folder, resumes where asked, and resets the environment, once.
func (t *Trainer) open() (err error) {
	if t.closed {
		return errors.New("trainers: the trainer is closed")
	}
	if t.now != nil {
		return nil
	}
	if t.cfg.writes() && t.store == nil {
		t.dir = tracking.ExperimentDir(t.cfg.Directory, t.cfg.Name, t.agent.Name(), t.clock())
		if t.store, err = checkpoint.NewStore(filepath.Join(t.dir, "checkpoints"), checkpoint.Options{Keep: t.cfg.Keep}); err != nil {
			return err
		}
	}
	if err := t.reset(t.cfg.Seed); err != nil {
		return fmt.Errorf("trainers: reset: %w", err)
	}
	if t.cfg.Resume {
		if err := t.resume(); err != nil {
			t.now = nil
			return err
		}
	}
	if t.cfg.writes() && t.cfg.WriteInterval != (agents.Interval{}) && t.run == nil {
		if t.run, err = tracking.OpenRun(t.dir, tracking.Options{ResumeStep: t.timestep}); err != nil {
			t.now = nil
			return err
		}
	}
	return nil
}

// resume restores the newest valid checkpoint, if there is one.
func (t *Trainer) resume() error {
	latest, damaged, err := t.store.Latest()
	t.damaged = damaged
	if errors.Is(err, checkpoint.ErrNone) {
		for _, d := range damaged {
			if !errors.Is(d, checkpoint.ErrUncommitted) { // one whose save was interrupted is nothing lost
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
	t.saved = true
	return nil
}

// Snapshot returns everything needed to continue training from here: the agent's, the parameters of the environment's reward and
// its curriculum, and with SaveBuffers the environment's state.
func (t *Trainer) Snapshot() (*checkpoint.Snapshot, error) {
	snap, err := t.agent.Snapshot(agents.SnapshotOptions{Buffers: t.cfg.SaveBuffers})
	if err != nil {
		return nil, err
	}
	own := t.metrics.state()
	own["timestep"] = t.timestep
	if t.hasBest {
		own["best"] = t.best
	}
	snap.Values[layout.Trainer] = own
	if err := t.saveEnvironment(snap); err != nil {
		return nil, err
	}
	t.saveTracked(snap)
	return snap, nil
}

// Restore puts a snapshot back, all or (on error) nothing, figures of episodes included. Where it has no environment state, or the environment cannot
// take it, the episodes in progress go on, and the snapshot's parameters of the environment's reward wait for their ends.
func (t *Trainer) Restore(snap *checkpoint.Snapshot) error {
	timestep, err := snap.Int(layout.Trainer, "timestep")
	if err != nil {
		return fmt.Errorf("trainers: the checkpoint is not a trainer's: %w", err)
	}
	if timestep < 0 {
		return fmt.Errorf("trainers: the checkpoint's timestep is %d", timestep)
	}
	whole := t.takesState(snap)
	running, err := t.running.restored(snap, whole)
	if err != nil {
		return err
	}
	undo, err := t.restoreEnvironment(snap)
	if err != nil {
		return err
	}
	if err := t.agent.Restore(snap); err != nil {
		return errors.Join(err, undo())
	}
	t.timestep, t.saved, t.running = timestep, false, running
	if best, err := snap.Float(layout.Trainer, "best"); err == nil {
		t.best, t.hasBest = best, true
	}
	t.metrics = metrics{}
	t.metrics.restore(snap)
	t.restoreTracked(snap, whole)
	return nil
}

// write hands tracked values to the run's files.
func (t *Trainer) write() error {
	if t.run == nil {
		t.recorder.Drain(func(string, float64) {})
		return nil
	}
	t.recorder.Emit(t.run, t.timestep)
	t.episodes.Emit(t.run, t.timestep)
	for _, name := range slices.Sorted(maps.Keys(t.metrics.windows)) {
		r := t.metrics.windows[name]
		if tag := tagOf(name); tag != "" && r.written != r.n {
			t.run.Scalar(tag, t.timestep, r.mean())
			r.written = r.n
		}
	}
	return t.run.Flush()
}

// save writes a checkpoint, and the best one where this is better. Where the newest checkpoint is of this very state it
// does nothing.
func (t *Trainer) save() (err error) {
	if t.store == nil || t.saved {
		return nil
	}
	better := t.improved()
	if better {
		best, had := t.best, t.hasBest
		t.best, t.hasBest = t.Metrics()[t.cfg.Best], true
		defer func() {
			if err != nil {
				t.best, t.hasBest = best, had
			}
		}()
	}
	snap, err := t.Snapshot()
	if err == nil {
		err = snap.CheckFinite()
	}
	if err != nil {
		return err
	}
	name := fmt.Sprintf("agent_%d", t.timestep)
	if better {
		if _, err := t.store.SaveBest(name, t.timestep, snap); err != nil {
			return err
		}
	}
	if _, err := t.store.Save(name, t.timestep, snap); err != nil {
		return err
	}
	t.saved = true
	return nil
}

func (t *Trainer) improved() bool {
	x, ok := t.Metrics()[t.cfg.Best]
	return ok && !math.IsNaN(x) && !math.IsInf(x, 0) && (!t.hasBest || x > t.best)
}

// finish writes what is due at the end of a run.
func (t *Trainer) finish() error {
	if err := t.write(); err != nil {
		return err
	}
	return t.save()
}
