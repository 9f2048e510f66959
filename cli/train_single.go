package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/distributed/launch"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/timeline"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/tracking/trackers"
	"github.com/gorl-dev/gorl/trainers"
)

// trainRank trains one agent, as one of several processes if place says so.
func (f *trainFlags) trainRank(ctx context.Context, c runfile.Sections, place distributed.Place) error {
	t, err := join(ctx, c, place)
	if err == nil {
		own := *f
		if t.group.Rank() > 0 { // rank 0 prints for all ranks, but each rank prints its own errors
			own.quiet, own.stdout, own.stderr = true, io.Discard, io.Discard
		}
		err = t.leave(own.trainSingle(ctx, c, t))
	}
	_, stopped := errors.AsType[*commandline.StoppedError](err)
	_, peer := errors.AsType[*distributed.PeerError](err)
	switch {
	case stopped && t.group.Rank() > 0:
		return &commandline.StatusError{Status: commandline.Stopped}
	case peer && !stopped: // the launcher is to blame the other rank
		fmt.Fprintf(f.stderr, "%s: %v\n", program, err)
		return &commandline.StatusError{Status: launch.StatusPeer}
	}
	return err
}

// trainSingle trains one agent.
func (f *trainFlags) trainSingle(ctx context.Context, c runfile.Sections, with together) (err error) {
	if f.given("timesteps") {
		c.Section("trainer")["timesteps"] = int(f.timesteps)
	}
	settings, err := catalog.Settings(c.Section("environment"))
	if err != nil {
		return wrong(err)
	}
	if err := with.equal(settings); err != nil {
		return wrong(err)
	}
	plan, err := f.readSchedule(c, settings)
	if err != nil {
		return err
	}
	env, err := f.checks.newEnvironment(c)
	if err != nil {
		return blame(err)
	}
	defer func() {
		if !errors.Is(err, trainers.ErrBlocked) { // which is busy still
			err = errors.Join(err, env.Close())
		}
	}()
	lines, _ := strconv.ParseFloat(os.Getenv(linesEvery), 64) // of a batch
	bars := progress.New(f.stderr, progress.Options{Silent: f.quiet || f.check, LineEvery: lines})
	defer bars.Wait()
	run := singleRun{environment: settings, with: with, plan: plan}
	trainer, err := f.trainer(c, env, &run, bars)
	if err != nil {
		return wrong(err)
	}
	discard := false // the folder, once it is closed
	defer func() {
		err = errors.Join(err, trainer.Close(), trainer.Agent().Close())
		if discard {
			err = errors.Join(err, os.RemoveAll(run.dir))
		}
	}()
	if err := run.draws(env); err != nil {
		return err
	}
	if err := plan.Check(trainer); err != nil {
		return commandline.Usagef("--schedule: %w", err)
	}
	f.note(append(f.notes, trainer.Notes()...)...)
	if c.Section("trainer")["timesteps"] == nil {
		f.note(fmt.Sprintf("trainer.timesteps is not given: the run has the default of %d timesteps",
			run.cfg.Timesteps))
	}
	if run.cfg.Timesteps == 0 {
		return commandline.Usagef("trainer.timesteps is 0: there is nothing to train; give the length of the run, " +
			"or --timesteps N")
	}
	if f.check {
		err := wrong(trackers.CheckInstalled(ctx, run.cfg.Trackers))
		if err = cmp.Or(err, f.checkFigure(c, "trainer.best", run.cfg.Best)); err == nil {
			_, err = f.stdout.Write(run.text)
		}
		return err
	}
	_, missing := os.Stat(run.dir)
	switch err := trainer.Open(ctx); {
	case errors.Is(err, durable.ErrInUse):
		return commandline.Usagef("%s is being trained by another process; wait for its end, or give this run "+
			"another --name", run.dir)
	case errors.Is(err, fs.ErrExist) && !run.resume:
		return commandline.Usagef("another run has taken the name %s just now; start this one again", run.dir)
	case err != nil:
		return err
	}
	if err := plan.Apply(trainer); err != nil {
		return err
	}
	// of a run that is there, the configuration is replaced when the checkpoint has turned out to fit it
	if trainer.Timestep() < int64(run.cfg.Timesteps) {
		if err := run.write(env, trainer.Timestep()); err != nil {
			return err
		}
	}
	bars.Printf("%s: %s in %v, seed %v", run.dir, trainer.Agent().Name(), settings["id"], run.seed)
	err = trainer.Train(ctx)
	bars.Wait()
	for _, note := range passedOver(trainer.Damaged()) {
		fmt.Fprintln(f.stderr, note)
	}
	at, total, begun := trainer.Timestep(), run.cfg.Timesteps, !run.begun.IsZero()
	if err == nil && !begun && total > 0 {
		fmt.Fprintf(f.stderr, "Nothing was left to train: the run has %d timesteps, and %d were asked for. "+
			"--timesteps goes on for longer.\n", at, total)
	}
	if goal := cmp.Or(run.cfg.StopAtReturn, run.cfg.StopAtEpisodeReturn); err == nil && goal != nil && begun &&
		at < int64(total) {
		when := "an evaluation reached stop_at_return"
		if goal != run.cfg.StopAtReturn {
			when = "training episodes passed stop_at_episode_return"
		}
		fmt.Fprintf(f.stderr, "The run ended at timestep %d of %d, when %s (%g).\n", at, total, when, *goal)
	}
	stopped := ctx.Err() != nil && errors.Is(err, ctx.Err()) ||
		with.group.Several() && errors.Is(err, context.Canceled) // a signal has reached one of the ranks
	switch {
	case stopped && !several(err):
		return f.stopped(run.dir, fmt.Sprintf("at timestep %d of %d", at, total))
	case err != nil && begun && trainer.Dir() != "":
		return fmt.Errorf("%w; once that is repaired, %s goes on from the newest checkpoint", err, f.goOn(run.dir))
	case err != nil:
		// A run that failed before its first step, such as in its first film, does not keep the name.
		discard = errors.Is(missing, fs.ErrNotExist) && run.with.group.Size() == 1
		return err
	case f.quiet:
		_, err = fmt.Fprintln(f.stdout, run.dir)
		return err
	}
	return run.report(f.stdout, trainer)
}

// warner returns a function that prints notes during training.
func (f *trainFlags) warner(display tracking.Progress) func(error) {
	return func(err error) {
		if f.quiet { // the display is silent then
			fmt.Fprintln(f.stderr, "note:", err)
			return
		}
		display.Printf("note: %v", err)
	}
}

// singleRun is a run of one agent.
type singleRun struct {
	environment map[string]any // the section with all defaults
	with        together
	plan        timeline.Timeline
	dir         string
	resume      bool            // a run that is in dir already
	cfg         trainers.Config // the trainer's
	seed        any
	text        []byte    // of run.yaml
	begun       time.Time // when the first step was taken, after so many environment steps
	begunAt     int64
}

// trainer makes the trainer of a configuration, and the text of run.yaml: the configuration with all defaults, drawn
// values and the run's folder. Nothing is written before the run's first step.
func (f *trainFlags) trainer(c runfile.Sections, env envs.Env, run *singleRun, bars tracking.Progress) (
	*trainers.Trainer, error) {
	built := c
	if f.check { // without a GPU
		built = f.checks.buildable(c)
	}
	var errPlace error
	trainer, err := trainers.FromDictIn(run.with.group, built.Of(runfile.Trainers), env,
		func(cfg *trainers.Config) {
			if cfg.Resume = cfg.Resume || f.resume != ""; f.resume != "" && cfg.Name == "" {
				_, cfg.Name = split(f.resume) // place says so, too
			}
			var where agreed
			where, errPlace = run.with.agree(func() (agreed, error) {
				return f.decide(run.with, *cfg, strings.ToUpper(textOf(c.Section("agent")["class"])))
			})
			cfg.Directory, cfg.Name, cfg.Resume = where.Directory, where.Name, where.Resume
			cfg.OtherSections = map[string]any{"environment": run.environment}
			if ranked := c.Section("distributed"); len(ranked) > 0 {
				cfg.OtherSections["distributed"] = ranked
			}
			run.cfg, run.dir, run.resume = *cfg, filepath.Join(cfg.Directory, cfg.Name), cfg.Resume
			cfg.Progress, cfg.OnWarning, cfg.CloseEnvironmentAtExit = bars, f.warner(bars), false
			// as many as env has
			played := maps.Clone(run.environment)
			if cfg.VideoInterval != (agents.Interval{}) && played[renderMode] == "" { // left open
				played[renderMode] = "rgb_array"
			}
			cfg.EvaluationEnv = func(int, int64) (envs.Env, error) { return catalog.New(played) }
			cfg.Callbacks = []trainers.Callback{trainers.StepFunc(func(t *trainers.Trainer, _ *envs.Step) error {
				if run.begun.IsZero() {
					run.begun, run.begunAt = time.Now(), t.Steps()
				}
				return run.plan.Apply(t)
			})}
		})
	if errPlace != nil && err == nil {
		return nil, errors.Join(errPlace, trainer.Agent().Close())
	} else if err = cmp.Or(errPlace, err); err != nil {
		return nil, err
	}
	full := runfile.Sections(trainer.Dict())
	maps.Copy(full, run.cfg.OtherSections)
	section := full.Section("trainer")
	section["resume"] = false // which would not be the same run again
	section["close_environment_at_exit"] = run.cfg.CloseEnvironmentAtExit
	run.seed, run.cfg.Best = full["seed"], section["best"].(string)
	run.text, err = f.checks.asGiven(full).YAML()
	return trainer, err
}

// decide chooses the folder of a run: that of an earlier attempt of these ranks, or else that of place.
func (f *trainFlags) decide(t together, cfg trainers.Config, class string) (a agreed, err error) {
	if f.resume == "" {
		directory := cmp.Or(f.out, cfg.Directory, "runs")
		if name, err := t.begun(directory, cmp.Or(f.name, cfg.Name)); err != nil || name != "" {
			return agreed{directory, name, true}, err
		}
	}
	a.Resume = cfg.Resume
	a.Directory, a.Name, err = f.place(cfg.Directory, cfg.Name, class, cfg.Resume)
	return a, err
}

// write writes run.yaml for a start of the run at a timestep, and the description of the robot that the run trains. An
// environment that has none, or one whose policies cannot drive a robot, leaves it out.
func (r *singleRun) write(env envs.Env, timestep int64) error {
	if r.with.group.Rank() > 0 {
		return nil
	}
	if err := writeRunFile(r.dir, r.text, runfile.Start{Timestep: timestep}); err != nil {
		return err
	}
	if err := r.with.mark(r.dir); err != nil {
		return err
	}
	describer, ok := envs.As[envs.RobotDescriber](env)
	if !ok {
		return nil
	}
	robot, err := describer.Robot()
	_, clips := envs.As[*wrappers.ClipAction](env)
	_, rescales := envs.As[*wrappers.RescaleAction](env)
	if err != nil || clips || rescales || robot.Width() != env.Spaces().Observation.Width() {
		return nil //nolint:nilerr // its policies act in simulators alone
	}
	return durable.WriteFile(filepath.Join(r.dir, robotFile), func(w io.Writer) error { return writeJSON(w, robot) })
}

// several reports whether an error joins others, for example an interruption and a failure to save the run.
func several(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && len(joined.Unwrap()) > 1
}

// report prints the table at the end of a run.
func (r *singleRun) report(out io.Writer, t *trainers.Trainer) error {
	best, rate := "-", "-"
	if seconds, steps := time.Since(r.begun).Seconds(), t.Steps()-r.begunAt; !r.begun.IsZero() && steps != 0 {
		rate = fmt.Sprintf("%.0f", float64(steps)/seconds)
	}
	store, err := checkpoint.NewStore(filepath.Join(t.Dir(), "checkpoints"), checkpoint.Options{})
	if err != nil {
		return err
	}
	if saved, _, err := store.Best(); err == nil {
		best = fmt.Sprintf("timestep %d", saved.Manifest.Step)
		if x, err := saved.Snapshot.Float("trainer", "best"); err == nil {
			best += fmt.Sprintf(" (%s %.4g)", r.cfg.Best, x)
		}
	}
	figure := func(name string) string {
		if x, ok := t.Metrics()[name]; ok {
			return fmt.Sprintf("%.1f", x)
		}
		return "-"
	}
	header := []string{"environment steps", "episodes", "return", "length", "best checkpoint", "environment steps/s"}
	row := tracking.Cells(t.Steps(), t.Episodes(), figure("episode.return"), figure("episode.length"), best, rate)
	if err := tracking.Table(out, header, [][]string{row}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nThe run is in %s. Evaluate it: %s eval %s\n", t.Dir(), program,
		process.QuoteWord(t.Dir()))
	return err
}

// readSchedule reads the file of --schedule, which gorl-pbt replay writes. Without one the timeline has no phases, and
// sets nothing. Unless the command line says it, the run is as long as the schedule. environment is the section with
// all defaults.
func (f *trainFlags) readSchedule(c runfile.Sections, environment map[string]any) (s timeline.Timeline, err error) {
	if f.schedule == "" {
		return s, nil
	}
	if s, err = timeline.Read(f.schedule); err != nil {
		return s, commandline.Usagef("--schedule: %w", err)
	}
	if envs, ok := config.Whole(environment["num_envs"]); ok && envs > 0 && !f.given("timesteps") {
		c.Section("trainer")["timesteps"] = (int(s.Steps) + envs - 1) / envs
	}
	return s, nil
}
