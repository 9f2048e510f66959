package trainers

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// openRun opens the files of tracked values, and starts the trackers.
func (t *Trainer) openRun() error {
	// Values from after the restored snapshot are removed, because the run writes them again. A run that failed before
	// its first checkpoint starts from the beginning.
	run, err := tracking.OpenRun(t.dir, tracking.Options{ResumeStep: t.written, Restart: t.cfg.Resume})
	if err != nil || len(t.cfg.Trackers) == 0 {
		t.run = run
		return err
	}
	dir, err := filepath.Abs(t.dir)
	if err != nil {
		return errors.Join(fmt.Errorf("trainers: %w", err), run.Close())
	}
	configuration, err := t.plain()
	if err != nil {
		return errors.Join(err, run.Close())
	}
	t.sinks = trackers.Start(t.cfg.Trackers,
		trackers.Run{Name: filepath.Base(dir), Dir: dir, Config: configuration, Resumed: t.cfg.Resume}, t.warn)
	run.Sink = tracking.Multi(run.Sink, t.sinks)
	t.run = run
	return nil
}

// warn reports an error that does not stop training. Trackers call warn on goroutines of their own.
func (t *Trainer) warn(err error) {
	t.warning.Lock()
	defer t.warning.Unlock()
	if t.cfg.OnWarning == nil {
		slog.Warn(err.Error())
		return
	}
	t.cfg.OnWarning(err)
}

// ended tells the trackers how training ended. Train may be called again; what holds is the last.
func (t *Trainer) ended(err error) {
	if t.sinks != nil {
		t.sinks.Finish(err)
	}
}

// plain returns the run's configuration as YAML says it: Dict's, or the trainer's alone where FromDict did not make it.
// Passwords in addresses are replaced.
func (t *Trainer) plain() (map[string]any, error) {
	dict := t.Dict()
	if dict == nil {
		section := config.Dict(t.cfg)
		section["trackers"] = nameable(t.cfg.Trackers)
		dict = map[string]any{"trainer": section}
	}
	text, err := yaml.Marshal(dict)
	if err != nil {
		return nil, fmt.Errorf("trainers: the configuration for trackers: %w", err)
	}
	return config.FromYAML([]byte(config.Redact(string(text))))
}

// nameable are the trackers that YAML can name.
func nameable(list []trackers.Tracker) []trackers.Tracker {
	return slices.DeleteFunc(slices.Clone(list), func(t trackers.Tracker) bool { return t.Settings() == nil })
}

// trackExperiment makes a tracker of skrl's "wandb" and "wandb_kwargs", where the trainer's section does not have it.
func trackExperiment(cfg *Config, e agents.Experiment) error {
	named := func(t trackers.Tracker) bool { return t.Name == "wandb" }
	if !e.WandB || slices.ContainsFunc(cfg.Trackers, named) {
		return nil
	}
	w, err := trackers.New("wandb", e.WandBKwargs)
	if err != nil {
		return fmt.Errorf("trainers: agent.experiment.wandb_kwargs: %w", err)
	}
	cfg.Trackers = append(cfg.Trackers, w)
	return nil
}
