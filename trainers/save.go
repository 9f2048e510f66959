package trainers

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/config"
)

// What is written, and when: tracked values every WriteInterval, checkpoints every CheckpointInterval, and both at the
// end of a run and where it is cancelled. A checkpoint is a snapshot of everything (Snapshot) in a file with a
// checksum, written under another name first (package checkpoint).

// Keys of the trainer's values in a snapshot: the name of the figure "best", and the timesteps of the last evaluation
// and of the last write of tracked values.
const (
	bestFigureKey = "best_figure"
	evaluatedKey  = "evaluated"
	writtenKey    = "written"
)

// saves returns an error that names the setting which asks for checkpoints, where the agent cannot be saved.
func saves(cfg Config, agent agents.Agent) error {
	_, err := snapshotter(agent)
	if err == nil {
		return nil
	}
	// Each of these settings means checkpoints; a folder alone does not, it may be for tracked values.
	for _, setting := range []struct {
		key string
		on  bool
	}{
		{"checkpoint_interval", cfg.CheckpointInterval != (agents.Interval{})}, {"resume", cfg.Resume},
		{"save_buffers", cfg.SaveBuffers}, {"keep", cfg.Keep > 0},
	} {
		if setting.on {
			return fmt.Errorf("%w; leave %q out, or implement it", err, setting.key)
		}
	}
	return nil
}

// snapshotter returns the agent as one that can be saved, or an error that says what it lacks.
func snapshotter(agent agents.Agent) (agents.Snapshotter, error) {
	s, ok := agents.As[agents.Snapshotter](agent)
	if !ok {
		return nil, fmt.Errorf("trainers: the agent (%T) cannot be saved: it is no agents.Snapshotter", agent)
	}
	return s, nil
}

// Snapshot returns everything needed to continue training from here: the agent's snapshot (with its memories where
// SaveBuffers is on), the figures so far, the running statistics of the environment's wrappers, the
// parameters of its reward, its curriculum, and with SaveBuffers its whole state. It is an error where the agent is no
// agents.Snapshotter.
//
// The agent's arrays and values keep their names. The trainer adds the arrays
//
//	environment/statistics/  of the environment's wrappers (statistics.go)
//	environment/parameters   of the reward, as JSON (parameters_state.go)
//	environment/curriculum   as the environment encodes it
//	environment/state        the whole environment, with SaveBuffers
//	environment/episodes     what is known of the episodes in progress, with the state (running.go)
//	environment/returns      returns and
//	environment/lengths      lengths of the episodes in progress, with the state
//	callbacks/NAME           the state of a callback (StatefulCallback)
//
// and the value "trainer": timestep, best, the figures behind Metrics, and the tracked episodes (tracked_state.go).
func (t *Trainer) Snapshot() (*checkpoint.Snapshot, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	s, err := snapshotter(t.agent)
	if err != nil {
		return nil, err
	}
	snap, err := s.Snapshot(agents.SnapshotOptions{Buffers: t.cfg.SaveBuffers})
	if err != nil {
		return nil, err
	}
	// What is the trainer's own. Arrays and values of the agent are there already, under names of their own.
	own := t.metrics.state()
	own["timestep"] = t.timestep
	if t.hasBest {
		own["best"], own[bestFigureKey] = t.best, t.cfg.Best
	}
	if t.evaluated > 0 {
		own[evaluatedKey] = t.evaluated
	}
	snap.Values[layout.Trainer] = own
	if err := t.saveEnvironment(snap); err != nil {
		return nil, err
	}
	t.saveTracked(snap)
	if err := t.saveCallbacks(snap); err != nil {
		return nil, err
	}
	return snap, nil
}

// write hands the values tracked since the last write to the run's files. Without files they are forgotten.
func (t *Trainer) write() error {
	if t.run == nil {
		t.recorder.Drain(func(string, float64) {})
		return nil
	}
	// Tracked values are written as means since the last write; episode figures only where episodes have ended since.
	t.written = t.timestep
	t.recorder.Emit(t.run, t.timestep)
	t.episodes.Emit(t.run, t.timestep)
	if r := t.metrics.tracked[resetsFigure]; r != nil {
		t.run.Scalar(resetsFigure, t.timestep, r.last())
	}
	for _, name := range slices.Sorted(maps.Keys(t.metrics.windows)) {
		r := t.metrics.windows[name]
		if tag := tagOf(name); tag != "" && r.written != r.n {
			t.run.Scalar(tag, t.timestep, r.mean())
			r.written = r.n
		}
	}
	return t.run.Flush()
}

// save writes a checkpoint, and the best one where this is better. It does nothing where the newest checkpoint is of
// the present state, so that the end of a run, an interruption and an interval that fall together write once. Weights
// that are not finite are an error, and no checkpoint.
func (t *Trainer) save() error {
	if t.store == nil || t.saved {
		return nil
	}
	if err := t.learned(); err != nil {
		return err
	}
	if err := t.saveAs(!t.cfg.byEvaluation() && t.improved(), true); err != nil {
		return err
	}
	t.saved = true
	return nil
}

// saveAs writes the present state as the best checkpoint, as the newest one, or as both.
func (t *Trainer) saveAs(better, newest bool) (err error) {
	// The best figure goes into the snapshot itself, so it is set first, and put back where saving fails.
	if better {
		best, had := t.best, t.hasBest
		t.best, t.hasBest = t.Metrics()[t.cfg.Best], true
		defer func() {
			if err != nil {
				t.best, t.hasBest = best, had
			}
		}()
	}
	// A run cannot continue from weights that are NaN or infinite, so such a snapshot is refused.
	snap, err := t.Snapshot()
	if err == nil {
		err = snap.CheckFinite()
	}
	if err != nil {
		return err
	}
	// Sync the tracked values first: after a power cut none from before the checkpoint is missing.
	if t.run != nil {
		if err := t.run.Sync(); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("agent_%d", t.timestep)
	if better {
		if _, err := t.store.SaveBest(name, t.timestep, snap); err != nil {
			return err
		}
	}
	if newest {
		_, err = t.store.Save(name, t.timestep, snap)
	}
	return err
}

// checkBest returns an error if Config.Best names no figure. If the name is probably a misspelt figure (config.Slip),
// checkBest returns the error as soon as there are figures of that kind. Otherwise it waits for the end of the run,
// because some figures come late.
func (t *Trainer) checkBest(end bool) error {
	if t.store == nil || t.metrics.find(t.cfg.Best) != nil {
		return nil
	}
	// Without an episode, or an evaluation, there are none of that kind, and no best checkpoint.
	first := t.metrics.windows[episodeFigure+"return"]
	if t.cfg.byEvaluation() {
		first = t.metrics.tracked[evaluationFigure+"return"]
	}
	known := slices.Collect(maps.Keys(t.Metrics()))
	if first == nil || !end && !config.Slip(t.cfg.Best, known) {
		return nil
	}
	return fmt.Errorf("trainers: \"best\" is %q, and there is no such figure: %s", t.cfg.Best,
		config.Among(t.cfg.Best, known))
}

// improved reports whether the figure Config.Best is known, finite and better than the best checkpoint's.
func (t *Trainer) improved() bool {
	x, ok := t.Metrics()[t.cfg.Best]
	return ok && !math.IsNaN(x) && !math.IsInf(x, 0) && (!t.hasBest || x > t.best)
}

// finish writes what is due at the end of a run: tracked values and a checkpoint.
func (t *Trainer) finish() error {
	if err := t.learned(); err != nil {
		return err
	}
	if err := t.write(); err != nil {
		return err
	}
	return t.save()
}
