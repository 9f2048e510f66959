package trainers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// files are a run's folder with its tracked values and checkpoints. If nothing is written, dir is empty, and run and
// store are nil.
type files struct {
	// cfg is the trainer's configuration as rankOf has changed it. store has the checkpoints.
	cfg     Config
	dir     string
	unlock  func() error // releases the folder for another trainer
	run     *tracking.Run
	sinks   *trackers.Sinks // of Config.Trackers
	store   *checkpoint.Store
	best    float64                    // the figure Config.Best of the best checkpoint, if hasBest
	hasBest bool                       // there is a best checkpoint
	saved   bool                       // the newest checkpoint is of the present state
	begun   bool                       // this start is recorded in the run's folder
	damaged []*checkpoint.DamagedError // passed over when the run was resumed
	warning sync.Mutex                 // OnWarning is called by one goroutine at a time
}

// lock makes the run's folder and takes it for this trainer until Close. A folder that holds another run is an error,
// unless Config.Resume is set or timestep is above 0, after a restored snapshot. A population's folder always is an
// error.
func (f *files) lock(timestep int64) error {
	// An Open that failed later may have taken the folder already.
	if f.unlock != nil {
		return nil
	}
	if err := durable.MkdirAll(f.dir, 0o777); err != nil {
		return fmt.Errorf("trainers: the run's folder: %w", err)
	}
	unlock, err := durable.Lock(f.dir, "lock")
	if errors.Is(err, durable.ErrInUse) {
		return fmt.Errorf("trainers: %s is being trained by another trainer, here or in another process; "+
			"wait for its end, close it, or give this run another name: %w", f.dir, err)
	}
	if err != nil {
		return err
	}
	// Two runs must not share a folder. Only a resumed run may write into a folder that holds a run. The folder is
	// inspected after it was locked, because another trainer may have written into it until then.
	switch holds := runfile.In(f.dir); {
	case holds.Population:
		err = fmt.Errorf("trainers: %s holds a population; give this run another Directory or Name: %w", f.dir,
			fs.ErrExist)
	case holds.Run && !f.cfg.Resume && timestep == 0:
		err = fmt.Errorf("trainers: %s holds a run already; set Resume to go on with it, or give this run another "+
			"Name: %w", f.dir, fs.ErrExist)
	}
	if err != nil {
		return errors.Join(err, unlock())
	}
	f.unlock = unlock
	return nil
}

// newest returns the timestep of the newest valid checkpoint of the run that cfg names, or 0 if there is none. New
// calls it, so it changes nothing and ignores errors: resume reports them.
func newest(cfg Config) int64 {
	store, err := storeIn(tracking.ExperimentDir(cfg.Directory, cfg.Name, "", time.Time{}))
	if err != nil {
		return 0
	}
	saved, _, err := store.Latest()
	if err != nil {
		return 0
	}
	return saved.Manifest.Step
}

// checkpointsIn returns the folder of checkpoints in a run's folder.
func checkpointsIn(dir string) string { return filepath.Join(dir, "checkpoints") }

// storeIn returns the store of a run's checkpoints. It is an error if the run has none.
func storeIn(dir string) (*checkpoint.Store, error) {
	dir = checkpointsIn(dir)
	if _, err := os.Stat(dir); err != nil { // a store would make it
		return nil, err
	}
	return checkpoint.NewStore(dir, checkpoint.Options{})
}

// latest returns the newest checkpoint whose manifest and checksum are right. If there is no checkpoint, the result has
// no snapshot, and the run starts from scratch. If all checkpoints are damaged, latest returns an error.
func (f *files) latest() (*checkpoint.Saved, error) {
	latest, damaged, err := f.store.Latest()
	f.damaged = damaged
	if errors.Is(err, checkpoint.ErrNone) {
		for _, d := range damaged {
			if !errors.Is(d, checkpoint.ErrUncommitted) { // a save that was interrupted has lost nothing
				return nil, fmt.Errorf("trainers: no checkpoint in %s is valid; put a good one there, or remove the "+
					"folder to start again: %w", f.store.Dir(), d)
			}
		}
		return &checkpoint.Saved{}, nil
	}
	return latest, err
}

// bestOf returns the figure of the best checkpoint that a snapshot records. ok is false if that figure is not
// Config.Best, because values of different figures cannot be compared.
func (f *files) bestOf(snap *checkpoint.Snapshot) (best float64, ok bool) {
	best, err := snap.Float(layout.Trainer, "best")
	name, missing := snap.Text(layout.Trainer, bestFigureKey)
	return best, err == nil && missing == nil && name == f.cfg.Best
}

// openRun opens the files of tracked values and starts the trackers. written is the timestep of the last write.
// batch is the number of environment steps in a timestep. configuration returns what TensorBoard and trackers show as
// the run's configuration.
func (f *files) openRun(written, batch int64, configuration func() (map[string]any, error)) error {
	// Values later than the restored snapshot are removed, because the run writes them again. A run that failed before
	// its first checkpoint starts from the beginning. The run's files come before the trackers, so that a tracker that
	// fails loses none of their values.
	plain, err := configuration()
	if err != nil {
		return err
	}
	run, err := tracking.OpenRun(f.dir, tracking.Options{ResumeStep: written, Restart: f.cfg.Resume,
		StepsPerTimestep: batch, Config: plain})
	if err != nil || len(f.cfg.Trackers) == 0 {
		f.run = run
		return err
	}
	// The folder "." has its name only in the absolute path.
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return errors.Join(fmt.Errorf("trainers: %w", err), run.Close())
	}
	name, group := runfile.Named(dir)
	f.sinks = trackers.Start(f.cfg.Trackers, trackers.Run{Name: name, Group: group, Dir: dir, Config: plain,
		Resumed: f.cfg.Resume}, f.warn)
	run.Sink = tracking.Multi(run.Sink, f.sinks)
	f.run = run
	return nil
}

func init() { runfile.Libtorch = tensor.TorchVersion }

// recordStart records, before the first step, what trains in the run's folder, and the settings that differ from those
// of the start before.
func (l *loop) recordStart() error {
	if l.files.begun || l.files.unlock == nil {
		return nil
	}
	settings, err := l.calls.trainer.plain()
	if err != nil {
		return err
	}
	if section, ok := settings["trainer"].(map[string]any); ok {
		delete(section, "resume") // is true whenever a run continues
	}
	text, err := yaml.Marshal(settings)
	if err == nil {
		err = runfile.Record(l.files.dir, text, runfile.Start{Timestep: l.timestep})
	}
	if err != nil {
		return fmt.Errorf("trainers: recording the start of the run: %w", err)
	}
	l.files.begun = true
	return nil
}

// warn reports an error that does not stop training. Trackers call it on goroutines of their own. A mutex makes sure
// that OnWarning runs once at a time, as Config promises.
func (f *files) warn(err error) {
	f.warning.Lock()
	defer f.warning.Unlock()
	if f.cfg.OnWarning == nil {
		slog.Warn(err.Error())
		return
	}
	f.cfg.OnWarning(err)
}

// ended records how training ended, nil for success, and tells the trackers. Of several calls of Train the last counts.
func (f *files) ended(err error) {
	if f.run != nil {
		f.run.Finish(err)
	}
	if f.sinks != nil {
		f.sinks.Finish(err)
	}
	if f.begun {
		stopped := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		if err := runfile.End(f.dir, err, stopped); err != nil {
			f.warn(fmt.Errorf("trainers: recording the end of the run: %w", err))
		}
	}
}

// plain returns the run's configuration for trackers, as plain YAML values: all of Dict, or the trainer's section if
// FromDict did not make the trainer, and Config.OtherSections. Passwords in addresses are replaced, because trackers
// show the configuration.
func (t *Trainer) plain() (map[string]any, error) {
	dict := t.Dict()
	if dict == nil {
		dict = map[string]any{"trainer": t.cfg.dict()}
	}
	maps.Copy(dict, t.cfg.OtherSections)
	text, err := yaml.Marshal(dict)
	if err != nil {
		return nil, fmt.Errorf("trainers: the configuration for trackers: %w", err)
	}
	return config.FromYAML([]byte(config.Redact(string(text))))
}

// dict returns the settings as a dictionary, with the trackers that YAML can name. A program's own tracker has no
// settings and exists in Go only.
func (c Config) dict() map[string]any {
	c.Trackers = slices.DeleteFunc(slices.Clone(c.Trackers), func(t trackers.Tracker) bool {
		return t.Settings() == nil
	})
	return config.Dict(c)
}

// trackExperiment adds a tracker for skrl's settings "wandb" and "wandb_kwargs" of the agent's experiment, unless the
// trainer's section has such a tracker.
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
