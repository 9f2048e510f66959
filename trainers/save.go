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

// This file writes checkpoints: every CheckpointInterval, at the end of a run, and when the run is cancelled. A
// checkpoint is a snapshot of everything (Snapshot) in a file with a checksum, written under another name first
// (package checkpoint).

// Keys of the trainer's values in a snapshot. best_figure is the name of the figure that chooses the best checkpoint.
// evaluated and written are the timesteps of the last evaluation and of the last write of tracked values.
const (
	bestFigureKey = "best_figure"
	evaluatedKey  = "evaluated"
	writtenKey    = "written"
)

// saves returns an error if a setting asks for checkpoints and the agent cannot be saved. The error names the setting.
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

// snapshotter returns the agent as one that can be saved, or an error that says what it lacks. It looks inside
// wrappers.
func snapshotter(agent agents.Agent) (agents.Snapshotter, error) {
	s, ok := agents.As[agents.Snapshotter](agent)
	if !ok {
		return nil, fmt.Errorf("trainers: the agent (%T) cannot be saved: it is no agents.Snapshotter", agent)
	}
	return s, nil
}

// Snapshot returns everything needed to continue training from here: the agent's snapshot, the figures so far, the
// running statistics of the environment's wrappers, the parameters of its reward, and its curriculum. With SaveBuffers
// it also has the agent's memories and the environment's whole state. Snapshot returns an error if the agent is no
// agents.Snapshotter.
//
// The agent's arrays and values keep their names. The trainer adds the arrays
//
//	environment/statistics/  of the environment's wrappers (statistics.go)
//	environment/parameters   of the reward, as JSON (parameters.go)
//	environment/curriculum   as the environment encodes it
//	environment/state        the whole environment, with SaveBuffers
//	environment/episodes     what is known of the episodes in progress, with the state (running.go)
//	environment/returns      returns and
//	environment/lengths      lengths of the episodes in progress, with the state
//	callbacks/NAME           the state of a callback (StatefulCallback)
//
// and the value "trainer": timestep, best, the figures behind Metrics, and the tracked episodes (figures.go).
func (t *Trainer) Snapshot() (*checkpoint.Snapshot, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.snapshot()
}

// snapshot is Snapshot of a trainer that may be closing.
func (l *loop) snapshot() (*checkpoint.Snapshot, error) {
	s, err := snapshotter(l.agent)
	if err != nil {
		return nil, err
	}
	snap, err := s.Snapshot(agents.SnapshotOptions{Buffers: l.cfg.SaveBuffers})
	if err != nil {
		return nil, err
	}
	// The trainer's own values. The agent's arrays and values are there already, under other names.
	own := l.figures.metrics.state()
	own["timestep"] = l.timestep
	if l.files.hasBest {
		own["best"], own[bestFigureKey] = l.files.best, l.cfg.Best
	}
	if l.evaluated > 0 {
		own[evaluatedKey] = l.evaluated
	}
	snap.Values[layout.Trainer] = own
	if err := l.world.save(snap); err != nil {
		return nil, err
	}
	l.figures.save(snap, l.cfg.WriteInterval != (agents.Interval{}))
	if err := l.calls.save(snap); err != nil {
		return nil, err
	}
	return snap, nil
}

// save writes a checkpoint, and also the best one if this is better. It does nothing if the newest checkpoint is of the
// present state: the end of a run, an interruption and an interval at the same timestep write once. Weights that are
// not finite are an error, and no checkpoint is written.
func (l *loop) save() error {
	if l.files.store == nil || l.files.saved {
		return nil
	}
	if err := l.learned(); err != nil {
		return err
	}
	if err := l.saveAs(!l.cfg.byEvaluation() && l.files.improved(&l.figures.metrics), true); err != nil {
		return err
	}
	l.files.saved = true
	return nil
}

// saveAs writes the present state as the best checkpoint, as the newest one, or as both.
func (l *loop) saveAs(better, newest bool) (err error) {
	// The best figure goes into the snapshot itself, so it is set first. It is reset if saving fails.
	if better {
		best, had := l.files.best, l.files.hasBest
		l.files.best, l.files.hasBest = l.figures.metrics.latest()[l.cfg.Best], true
		defer func() {
			if err != nil {
				l.files.best, l.files.hasBest = best, had
			}
		}()
	}
	// A run cannot continue from weights that are NaN or infinite, so such a snapshot is refused.
	snap, err := l.snapshot()
	if err == nil {
		err = snap.CheckFinite()
	}
	if err != nil {
		return err
	}
	// Tracked values are synced first: after a power cut no value from before the checkpoint is missing.
	if l.files.run != nil {
		if err := l.files.run.Sync(); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("agent_%d", l.timestep)
	if better {
		if _, err := l.files.store.SaveBest(name, l.timestep, snap); err != nil {
			return err
		}
	}
	if newest {
		_, err = l.files.store.Save(name, l.timestep, snap)
	}
	return err
}

// checkBest returns an error if Config.Best names no figure. If the name is probably a misspelt figure (config.Slip),
// checkBest returns the error as soon as there are figures of that kind. Otherwise it waits for the end of the run,
// because some figures come late.
func (m *metrics) checkBest(cfg *Config, end bool) error {
	// Without an episode or an evaluation there are no figures of that kind, and no best checkpoint.
	first := m.windows[episodeFigure+"return"]
	if cfg.byEvaluation() {
		first = m.tracked[evaluationFigure+"return"]
	}
	known := slices.Collect(maps.Keys(m.latest()))
	if m.find(cfg.Best) != nil || first == nil || !end && !config.Slip(cfg.Best, known) {
		return nil
	}
	return fmt.Errorf("trainers: \"best\" is %q, and there is no such figure: %s", cfg.Best,
		config.Among(cfg.Best, known))
}

// improved reports whether the figure Config.Best is known, finite and above that of the best checkpoint. Higher is
// better.
func (f *files) improved(m *metrics) bool {
	x, ok := m.latest()[f.cfg.Best]
	return ok && !math.IsNaN(x) && !math.IsInf(x, 0) && (!f.hasBest || x > f.best)
}

// finish writes what is due at the end of a run, or when it is interrupted: tracked values and then a checkpoint.
func (l *loop) finish() error {
	if err := l.learned(); err != nil {
		return err
	}
	if err := l.figures.write(l.files.run, l.timestep); err != nil {
		return err
	}
	return l.save()
}
