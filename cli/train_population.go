package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/tracking/trackers"
	"github.com/gorl-dev/gorl/trainers"
)

// crowd is a population that a configuration describes: of package pbt, or an evolution.
type crowd struct {
	dir      string
	key      string       // of the objective
	options  *pbt.Options // those that open uses
	notes    []string
	warnings []string         // settings that conflict with the length of the run
	full     runfile.Sections // the configuration, with all defaults after complete
	// member builds a member, and returns its sections with all defaults.
	member func() (*trainers.Trainee, runfile.Sections, error)
	// open makes the population, in memory if options.Directory is "". table prints its members.
	open func() (p *pbt.Population, table func(io.Writer) error, err error)
}

// complete adds all defaults to the configuration. It builds a member, so that errors show before anything is written.
func (x *crowd) complete() error {
	environment, err := catalog.Settings(x.full.Section("environment"))
	if err != nil {
		return blame(err)
	}
	x.full["environment"] = environment
	trainee, own, err := x.member()
	if err != nil {
		return blame(err)
	}
	maps.Copy(x.full, own)
	trainee.Plan(x.options.TotalSteps)
	x.warnings = append(x.warnings, trainee.Notes()...)
	return trainee.Close()
}

// pace are the keys of pbt that say whether members in processes wait for each other.
var pace = []string{"synchronous", "synch"}

// trainPopulation trains a population of package pbt in this process.
func (f *trainFlags) trainPopulation(ctx context.Context, c runfile.Sections) error {
	c = preset.WithSelfPlay(c)
	section := c.Section("pbt")
	id, err := f.isaac.memberOf()
	if err != nil {
		return err
	}
	alone := id >= 0 // a member of a population whose others are processes elsewhere
	if f.given("timesteps") {
		return commandline.Usagef("a population's length is in environment steps of each member: --set " +
			"pbt.total_steps=N instead of --timesteps")
	}
	switch {
	case alone && section["seed"] == nil && c["seed"] == nil:
		return commandline.Usagef("agent.pbt.policy_idx makes this process one of a population's, which share a " +
			"seed: give agent.pbt.seed=N, the same to all")
	case f.given("seed") && !alone:
		delete(section, "seed") // which would come first
	case section["seed"] == nil:
		c.DrawSeed()
	}
	section["directory"], section["workspace"], err = f.place(textOf(section["directory"]),
		textOf(section["workspace"]), "PBT", alone)
	if err != nil {
		return err
	}
	settings, err := preset.FromDict(c)
	if err != nil {
		return wrong(err)
	}
	notes := append(f.notes, settings.Notes...)
	if c["launcher"] != nil {
		notes = append(notes, "launcher: is not used: all members train in this process; gorl-pbt run starts a "+
			"process for each, with launcher.command: ["+program+", member]")
	}
	for _, key := range pace {
		if section[key] == false && !settings.Options.Asynchronous {
			notes = append(notes, "pbt."+key+": false has no effect: members of one process wait for each "+
				"other at the end of every interval; pbt.asynchronous: true lets them train on")
		}
	}
	o := &settings.Options
	if o.TotalSteps == 0 {
		return commandline.Usagef("pbt.total_steps is missing: the environment steps that every member trains")
	}
	o.New = func(m pbt.Member) (pbt.Trainee, error) {
		trainee, _, err := member(nil, f.checks.buildable(c), m.Seed, f.checks.newEnvironment)
		if err != nil {
			return nil, err
		}
		return meeting(trainee, m.ID, 1)
	}
	x := &crowd{dir: settings.Folder(), key: "pbt.objective", options: o, notes: notes, warnings: o.Notes()}
	if x.full, err = populationInEffect(c, settings); err != nil {
		return err
	}
	x.member = func() (*trainers.Trainee, runfile.Sections, error) {
		trainee, own, err := member(nil, f.checks.buildable(c), o.Seed, f.checks.newEnvironment)
		if err != nil {
			return nil, nil, err
		}
		for _, key := range settings.Unset() {
			delete(own.Section("agent"), key)
		}
		return trainee, own, nil
	}
	x.open = func() (*pbt.Population, func(io.Writer) error, error) {
		p, err := pbt.New(*o)
		return p, func(w io.Writer) error { return p.Table().Write(w) }, err
	}
	if err := x.complete(); err != nil {
		return err
	}
	if alone && !f.check {
		f.note(append(notes, x.warnings...)...)
		return trainAlone(ctx, x.full, id)
	}
	return f.crowd(ctx, x)
}

// populationInEffect returns a population's configuration with the defaults of the population and its launcher.
func populationInEffect(c runfile.Sections, settings *preset.Settings) (runfile.Sections, error) {
	full := maps.Clone(c)
	maps.Copy(full, settings.Dict())
	for _, key := range pace { // otherwise run.yaml would have them as the user's choice
		if _, given := c.Section("pbt")[key]; !given {
			delete(full.Section("pbt"), key)
		}
	}
	if full["launcher"] == nil {
		return full, nil
	}
	file, err := launchFile(full)
	if err != nil {
		return nil, wrong(err)
	}
	full["launcher"] = config.Dict(file.Launcher)
	return full, nil
}

// launchFile returns a population's configuration as launchers read it.
func launchFile(c runfile.Sections) (*launch.File, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	return launch.Parse(text)
}

// member builds the trainer of a population's member, or of one of its ranks, and returns its sections with all
// defaults. The population saves checkpoints and metrics; of the trainer's settings only those about the member itself
// count. newEnv makes the environment of the sections.
func member(g *distributed.Group, c runfile.Sections, seed int64, newEnv func(runfile.Sections) (envs.Env, error)) (
	*trainers.Trainee, runfile.Sections, error) {
	given := c
	c, err := launch.Localised(given)
	if err != nil {
		return nil, nil, err
	}
	env, err := newEnv(c)
	if err != nil {
		return nil, nil, err
	}
	alone, list := "", []trackers.Tracker{}
	trainer, err := trainers.FromDictIn(g, c.Member(seed), env, func(cfg *trainers.Config) {
		switch none := (agents.Interval{}); {
		case cfg.EvaluationInterval != none:
			alone = "trainer.evaluation_interval is for a single agent; a population evaluates its members itself: " +
				"pbt.measure.evaluation_episodes"
		case cfg.VideoInterval != none:
			alone = "trainer.video_interval is for a single agent; gorl eval --record films the best member of a " +
				"population"
		case cfg.WriteInterval == none && len(cfg.Trackers) > 0:
			alone = "trainer.trackers needs trainer.write_interval, which is 0; give \"auto\""
		}
		list = append(list, cfg.Trackers...) // the population starts them
		*cfg = trainers.Config{Seed: cfg.Seed, SaveBuffers: cfg.SaveBuffers,
			StochasticEvaluation: cfg.StochasticEvaluation, Best: cfg.Best, WarmStart: cfg.WarmStart}
	})
	if err != nil {
		return nil, nil, errors.Join(err, env.Close())
	}
	if alone != "" {
		return nil, nil, errors.Join(commandline.Usagef("%s", alone), trainer.Trainee().Close())
	}
	full := runfile.Sections(trainer.Dict())
	delete(full, "seed")
	section, inEffect := maps.Clone(c.Section("trainer")), full.Section("trainer")
	for _, key := range []string{"save_buffers", "stochastic_evaluation", "best", "warm_start"} {
		section[key] = inEffect[key]
	}
	section["trackers"] = list
	full["trainer"] = section
	if d, ok := given.Section("agent")["device"]; ok {
		full.Section("agent")["device"] = d // the same for all members, of whatever device
	}
	return trainer.Trainee(), full, nil
}

// crowd trains a population.
func (f *trainFlags) crowd(ctx context.Context, x *crowd) (err error) {
	text, err := f.checks.asGiven(x.full).YAML()
	if err != nil {
		return err
	}
	section, err := written(x.full)
	if err != nil {
		return err
	}
	o := x.options
	if o.ProgressSteps == 0 {
		o.ProgressSteps = min(8192, o.IntervalSteps)
	}
	objective := cmp.Or(o.Objective, "episode.return")
	if f.check {
		if err := trackers.CheckInstalled(ctx, section.Trackers); err != nil {
			return wrong(err)
		}
		f.note(append(x.notes, x.warnings...)...)
		o.Directory = ""
		p, _, err := x.open()
		if err == nil {
			err = errors.Join(p.Close(), f.checkFigure(x.full, x.key, objective))
		}
		if err == nil {
			_, err = f.stdout.Write(text)
		}
		return blame(err)
	}
	resumed := holdsRun(x.dir)
	if !resumed {
		f.note(x.warnings...)
	}
	display := progress.New(f.stderr, progress.Options{LineEvery: 0.25, Silent: f.quiet})
	defer display.Wait()
	bars := make([]tracking.Bar, o.Members)
	var tracked *memberFigures
	o.Directory, o.Progress = x.dir, func(u pbt.Update) {
		tracked.update(u)
		if u.Event == nil {
			text := ""
			if value, ok := u.Metrics[objective]; ok {
				text = fmt.Sprintf("%s %.5g", objective, value)
			}
			bars[u.Status.Member].Set(u.Status.Steps, text)
		}
	}
	p, table, err := x.open()
	if err != nil {
		return blame(err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	interval, _ := p.Iterations()
	if err := writeRunFile(x.dir, text, runfile.Start{Interval: int64(interval)}); err != nil {
		return err
	}
	for _, note := range x.notes {
		display.Printf("%s", note)
	}
	if err := p.Recovered(); err != nil {
		fmt.Fprintln(f.stderr, "recovered:", err)
	}
	display.Printf("%s: %d members in %v", x.dir, o.Members, x.full.Section("environment")["id"])
	for id := range bars {
		bars[id] = display.Bar(fmt.Sprintf("member %d", id), o.TotalSteps)
	}
	if tracked, err = trackMembers(x.dir, x.full, o.TotalSteps, 1, resumed, f.warner(display)); err != nil {
		return err
	}
	best, err := p.Train(ctx)
	ended, interrupted := err, err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if interrupted {
		ended = context.Canceled // whatever signal it was
	}
	if late := tracked.close(ended); late != nil {
		err = errors.Join(err, late)
	}
	display.Wait()
	switch {
	case interrupted && !several(err):
		first, last := p.Iterations()
		if first == last {
			return f.stopped(x.dir, fmt.Sprintf("in interval %d", first))
		}
		return f.stopped(x.dir, fmt.Sprintf("with members in intervals %d to %d", first, last))
	case err != nil:
		return err
	case f.quiet:
		_, err = fmt.Fprintln(f.stdout, x.dir)
		return err
	}
	if err := table(f.stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.stdout, "\nBest: member %d after %d environment steps, %s %.5g. The population is in %s. "+
		"Evaluate the best: %s eval %s\n", best.Member, best.Steps, objective, best.Objective, x.dir, program,
		process.QuoteWord(filepath.Clean(x.dir)))
	return err
}
