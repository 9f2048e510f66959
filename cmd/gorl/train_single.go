package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/shellword"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

// trainSingle trains one agent.
func (f *trainFlags) trainSingle(ctx context.Context, c configuration, stdout, stderr io.Writer) (err error) {
	if f.given("timesteps") {
		c.section("trainer")["timesteps"] = int(f.timesteps)
	}
	env, err := c.environment()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	effective, dir, resume, err := f.effective(c, env)
	if err != nil {
		return wrong(err)
	}
	text, err := effective.yaml()
	if err != nil {
		return err
	}
	read, err := parseConfiguration(text) // what is written is what is trained
	if err != nil {
		return err
	}
	bars := progress.New(stderr, progress.Options{Silent: f.quiet || f.check})
	defer bars.Wait()
	var watch stopwatch
	noted := false // run.yaml is written
	step := func(t *trainers.Trainer) error {
		watch.step(t)
		if noted {
			return nil
		}
		noted = true
		return writeRunFile(dir, text)
	}
	var cfg trainers.Config
	trainer, err := trainers.FromDict(read.without("environment"), env, func(c *trainers.Config) {
		c.Progress, c.Resume, c.CloseEnvironmentAtExit, c.OnStep = bars, resume, false, step
		cfg = *c
	})
	if err != nil {
		return wrong(err)
	}
	release := func() error { return nil }
	defer func() { err = errors.Join(err, trainer.Close(), trainer.Agent().Close(), release()) }()
	if f.check {
		_, err := stdout.Write(text)
		return err
	}
	unlock, err := occupy(dir, resume)
	if err != nil {
		return err
	}
	release = unlock
	if !resume { // of a run that is there, the configuration is replaced when the checkpoint has turned out to fit it
		noted = true
		if err := writeRunFile(dir, text); err != nil {
			return err
		}
	}
	bars.Printf("%s: %s in %v, seed %v", dir, trainer.Agent().Name(), c.section("environment")["id"], read["seed"])
	err = trainer.Train(ctx)
	bars.Wait()
	for _, d := range trainer.Damaged() {
		if !errors.Is(d, checkpoint.ErrUncommitted) {
			fmt.Fprintln(stderr, "passed over:", d)
		}
	}
	if err == nil && watch.begun.IsZero() && cfg.Timesteps > 0 {
		fmt.Fprintf(stderr, "Nothing was left to train: the run has %d timesteps, and %d were asked for. --timesteps goes on for longer.\n", trainer.Timestep(), cfg.Timesteps)
	}
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && !several(err):
		return stopped(dir, fmt.Sprintf("at timestep %d of %d", trainer.Timestep(), cfg.Timesteps))
	case err != nil && !watch.begun.IsZero() && trainer.Dir() != "":
		return fmt.Errorf("%w. Once that is mended, gorl train --resume %s goes on from the newest checkpoint", err, dir)
	case err != nil:
		return err
	case f.quiet:
		_, err = fmt.Fprintln(stdout, dir)
		return err
	}
	return report(stdout, trainer, cfg, watch)
}

// occupy makes a run's folder, in which no other process may train meanwhile.
func occupy(dir string, resume bool) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	release, err = durable.Lock(dir, "lock")
	switch {
	case errors.Is(err, durable.ErrInUse):
		return nil, commandline.Usagef("%s is being trained by another process; wait for its end, or give this run another --name", dir)
	case err != nil:
		return nil, err
	case !resume && holdsRun(dir):
		return nil, errors.Join(commandline.Usagef("another run has taken the name %s just now; start this one again", dir), release())
	}
	return release, nil
}

// several reports whether an error joins others: an interruption, and that the run could not be saved.
func several(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && len(joined.Unwrap()) > 1
}

// effective is the configuration with everything in it that it left to defaults and chance, the run's folder, and whether
// the run there is gone on with.
func (f *trainFlags) effective(c configuration, env envs.Env) (effective configuration, dir string, resume bool, err error) {
	if _, ok := c.section("trainer")["class"]; !ok {
		c.section("trainer")["class"] = "SequentialTrainer"
	}
	var cfg trainers.Config
	own := c.without("environment")
	effective, err = trainers.Complete(own, env, func(t *trainers.Config) {
		t.Resume = t.Resume || f.resume != ""
		if f.resume != "" && t.Name == "" {
			_, t.Name = split(f.resume) // place says so, too
		}
		cfg = *t
	})
	if err != nil {
		return nil, "", false, err
	}
	if effective["environment"], err = catalog.Settings(c.section("environment")); err != nil {
		return nil, "", false, err
	}
	class, _ := effective.section("agent")["class"].(string)
	directory, name, err := f.place(cfg.Directory, cfg.Name, class, cfg.Resume)
	if err != nil {
		return nil, "", false, err
	}
	trainer := effective.section("trainer")
	trainer["directory"], trainer["name"], trainer["resume"] = directory, name, false // which would not be the same run again
	return effective, filepath.Join(directory, name), cfg.Resume, nil
}

// stopwatch measures steps a second from a run's first step on.
type stopwatch struct {
	begun time.Time
	at    int64
}

func (w *stopwatch) step(t *trainers.Trainer) {
	if w.begun.IsZero() {
		w.begun, w.at = time.Now(), t.Timestep()
	}
}

// rate is in environment steps a second, "-" where nothing was measured.
func (w *stopwatch) rate(t *trainers.Trainer) string {
	seconds, steps := time.Since(w.begun).Seconds(), t.Timestep()-w.at
	if w.begun.IsZero() || steps == 0 || seconds <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(steps)*float64(t.Env().NumEnvs())/seconds)
}

// report ends a run with a table.
func report(out io.Writer, t *trainers.Trainer, cfg trainers.Config, watch stopwatch) error {
	best := "-"
	store, err := checkpoint.NewStore(filepath.Join(t.Dir(), "checkpoints"), checkpoint.Options{})
	if err != nil {
		return err
	}
	if saved, _, err := store.Best(); err == nil {
		best = fmt.Sprintf("timestep %d", saved.Manifest.Step)
		if x, err := saved.Snapshot.Float("trainer", "best"); err == nil {
			best += fmt.Sprintf(" (%s %.4g)", cfg.Best, x)
		}
	}
	m := t.Metrics()
	figure := func(name string) string {
		if x, ok := m[name]; ok {
			return fmt.Sprintf("%.1f", x)
		}
		return "-"
	}
	if err := tracking.Table(out, []string{"steps", "episodes", "return", "length", "best checkpoint", "steps/s"}, [][]string{{
		fmt.Sprint(t.Timestep() * int64(t.Env().NumEnvs())), fmt.Sprint(t.Episodes()), figure("episode.return"), figure("episode.length"), best, watch.rate(t),
	}}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nThe run is in %s. Evaluate it: gorl eval %s\n", t.Dir(), shellword.Quote(t.Dir()))
	return err
}
