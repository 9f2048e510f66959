package trainers

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/tracking"
)

// open makes the run's folder, resumes where asked, and resets the environment, once.
func (t *Trainer) open() error {
	if t.err != nil {
		return t.err
	}
	if t.closed {
		return errors.New("trainers: the trainer is closed")
	}
	if t.now != nil {
		return nil
	}
	if t.cfg.writes() && t.store == nil {
		t.dir = tracking.ExperimentDir(t.cfg.Directory, t.cfg.Name, t.agent.Name(), t.clock())
		var err error
		if t.store, err = checkpoint.NewStore(filepath.Join(t.dir, "checkpoints"), checkpoint.Options{Keep: t.cfg.Keep}); err != nil {
			return err
		}
	}
	first, err := t.env.Reset(t.cfg.Seed)
	if err != nil {
		return fmt.Errorf("trainers: reset: %w", err)
	}
	t.now = first
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
	saved, damaged, err := t.store.Latest()
	t.damaged = damaged
	if err != nil {
		return err
	}
	if saved == nil {
		return nil
	}
	return t.Restore(saved.Snapshot)
}

// Snapshot returns everything needed to continue training from here: the agent's, and with SaveBuffers the environment's
// state.
func (t *Trainer) Snapshot() (*checkpoint.Snapshot, error) {
	if t.err != nil {
		return nil, t.err
	}
	snap, err := t.agent.Snapshot(agents.SnapshotOptions{Buffers: t.cfg.SaveBuffers})
	if err != nil {
		return nil, err
	}
	own := map[string]any{"timestep": t.timestep}
	if t.hasBest {
		own["best"] = t.best
	}
	snap.Values["trainer"] = own
	if t.cfg.SaveBuffers {
		if s, ok := envs.As[envs.Stateful](t.env); ok {
			state, err := s.MarshalState()
			if err != nil {
				return nil, fmt.Errorf("trainers: the environment's state: %w", err)
			}
			snap.Arrays["environment/state"] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
		}
	}
	return snap, nil
}

// Restore puts a snapshot back. Where it has no environment state, or the environment cannot take it, the episodes in
// progress go on.
func (t *Trainer) Restore(snap *checkpoint.Snapshot) error {
	if t.err != nil {
		return t.err
	}
	timestep, err := snap.Int("trainer", "timestep")
	if err != nil {
		return fmt.Errorf("trainers: the checkpoint is not a trainer's: %w", err)
	}
	if err := t.agent.Restore(snap); err != nil {
		return err
	}
	t.timestep = timestep
	if best, err := snap.Float("trainer", "best"); err == nil {
		t.best, t.hasBest = best, true
	}
	state, has := snap.Arrays["environment/state"]
	stateful, can := envs.As[envs.Stateful](t.env)
	if !has || !can || !t.cfg.SaveBuffers {
		return nil
	}
	b, err := state.Bytes()
	if err != nil {
		return err
	}
	if t.now == nil {
		if t.now, err = t.env.Reset(t.cfg.Seed); err != nil {
			return err
		}
	}
	if err := stateful.RestoreState(b); err != nil {
		return fmt.Errorf("trainers: the environment's state: %w", err)
	}
	if o, ok := envs.As[envs.Observer](t.env); ok {
		if t.now, err = o.Observe(); err != nil {
			return err
		}
	}
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
	for name, r := range t.metrics.windows {
		if name != "episode.return" && name != "episode.length" {
			t.run.Scalar("Episode / "+name[len("episode."):], t.timestep, r.mean())
		}
	}
	return t.run.Flush()
}

// save writes a checkpoint, and the best one where this is better.
func (t *Trainer) save() error {
	if t.store == nil {
		return nil
	}
	snap, err := t.snapshotWithBest()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("agent_%d", t.timestep)
	if _, err := t.store.Save(name, t.timestep, snap); err != nil {
		return err
	}
	if t.improved() {
		t.best, t.hasBest = t.Metrics()[t.cfg.Best], true
		snap.Values["trainer"] = map[string]any{"timestep": t.timestep, "best": t.best}
		_, err = t.store.SaveBest(name, t.timestep, snap)
	}
	return err
}

func (t *Trainer) snapshotWithBest() (*checkpoint.Snapshot, error) {
	snap, err := t.Snapshot()
	if err == nil {
		err = snap.CheckFinite()
	}
	return snap, err
}

func (t *Trainer) improved() bool {
	x, ok := t.Metrics()[t.cfg.Best]
	return ok && !math.IsNaN(x) && (!t.hasBest || x > t.best)
}

// finish writes what is due at the end of a run.
func (t *Trainer) finish() error {
	if err := t.write(); err != nil {
		return err
	}
	return t.save()
}
