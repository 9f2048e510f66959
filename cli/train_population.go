package cli

import (
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
	dir, objective string
	key            string // of the objective
	members        int
	total          int64 // environment steps of each member
	notes          []string
	warnings       []string         // settings that conflict with the length of the run
	full           runfile.Sections // the complete configuration
	// open makes the population, in dir or, if dir is "", in memory. table prints its members.
	open func(dir string, progress func(pbt.Update)) (p *pbt.Population, table func(io.Writer) error, err error)
}

// progressOf describes how far a stopped population has trained.
func progressOf(p *pbt.Population) string {
	first, last := p.Iterations()
	if first != last {
		return fmt.Sprintf("with members in intervals %d to %d", first, last)
	}
	return fmt.Sprintf("in interval %d", first)
}

// pace are the keys of pbt that say whether members in processes wait for each other.
var pace = []string{"synchronous", "synch"}

// trainPopulation trains a population of package pbt in this process.
func (f *trainFlags) trainPopulation(ctx context.Context, c runfile.Sections, stdout, stderr io.Writer) error {
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
	directory, _ := section["directory"].(string)
	workspace, _ := section["workspace"].(string)
	directory, workspace, err = f.place(directory, workspace, "PBT", alone)
	if err != nil {
		return err
	}
	section["directory"], section["workspace"] = directory, workspace
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
			notes = append(notes, "pbt."+
				key+": false has no effect: members of one process wait for each other at the end of every interval; "+
				"pbt.asynchronous: true lets them train on")
		}
	}
	o := settings.Options
	if o.TotalSteps == 0 {
		return commandline.Usagef("pbt.total_steps is missing: the environment steps that every member trains")
	}
	if o.ProgressSteps == 0 {
		o.ProgressSteps = min(8192, o.IntervalSteps)
	}
	o.New = func(m pbt.Member) (pbt.Trainee, error) {
		trainee, _, err := member(nil, f.checks.buildable(c), m.Seed, f.checks.newEnvironment)
		if err != nil {
			return nil, err
		}
		return meeting(trainee, m.ID, 1)
	}
	full, warnings, err := f.populationInEffect(c, settings)
	if err != nil {
		return blame(err)
	}
	if alone && !f.check {
		tell(stderr, append(notes, warnings...))
		return trainAlone(ctx, full, id)
	}
	return f.crowd(ctx, stdout, stderr, crowd{
		dir: settings.Folder(), objective: o.Objective, key: "pbt.objective", members: o.Members, total: o.TotalSteps,
		notes: notes, warnings: warnings, full: full,
		open: func(dir string, progress func(pbt.Update)) (*pbt.Population, func(io.Writer) error, error) {
			o.Directory, o.Progress = dir, progress
			p, err := pbt.New(o)
			if err != nil {
				return nil, nil, err
			}
			return p, func(w io.Writer) error { return p.Table().Write(w) }, nil
		},
	})
}

// populationInEffect returns a population's configuration with all defaults, and notes on settings that conflict with
// the length of the run. It builds a member, so that errors show before anything is written.
func (f *trainFlags) populationInEffect(c runfile.Sections, settings *preset.Settings) (runfile.Sections, []string,
	error) {
	full := maps.Clone(c)
	maps.Copy(full, settings.Dict())
	for _, key := range pace { // otherwise run.yaml would have them as the user's choice
		if _, given := c.Section("pbt")[key]; !given {
			delete(full.Section("pbt"), key)
		}
	}
	environment, err := catalog.Settings(c.Section("environment"))
	if err != nil {
		return nil, nil, err
	}
	full["environment"] = environment
	trainee, own, err := member(nil, f.checks.buildable(c), settings.Options.Seed, f.checks.newEnvironment)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(full, own)
	for _, key := range settings.Unset() {
		delete(full.Section("agent"), key)
	}
	if full["launcher"] != nil {
		text, err := full.YAML()
		if err != nil {
			return nil, nil, errors.Join(err, trainee.Close())
		}
		file, err := launch.Parse(text)
		if err != nil {
			return nil, nil, errors.Join(wrong(err), trainee.Close())
		}
		full["launcher"] = config.Dict(file.Launcher)
	}
	trainee.Plan(settings.Options.TotalSteps)
	return full, append(settings.Options.Notes(), trainee.Notes()...), trainee.Close()
}

// member builds the trainer of a population's member, or of one of its ranks, and returns its sections with all
// defaults. The population saves checkpoints and metrics; of the trainer's settings only those about the member itself
// count. newEnv makes the environment of the sections.
func member(g *distributed.Group, c runfile.Sections, seed int64, newEnv func(runfile.Sections) (envs.Env, error)) (
	*trainers.Trainee, runfile.Sections, error) {
	given := c
	local, err := launch.Localised(given)
	if err != nil {
		return nil, nil, err
	}
	c = local
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
func (f *trainFlags) crowd(ctx context.Context, stdout, stderr io.Writer, crowd crowd) (err error) {
	text, err := f.checks.asGiven(crowd.full).YAML()
	if err != nil {
		return err
	}
	section, err := written(crowd.full)
	if err != nil {
		return err
	}
	if f.check {
		if err := trackers.CheckInstalled(ctx, section.Trackers); err != nil {
			return wrong(err)
		}
		tell(stderr, append(crowd.notes, crowd.warnings...))
		p, _, err := crowd.open("", nil)
		if err == nil {
			err = errors.Join(p.Close(), f.checks.checkFigure(stderr, crowd.full, crowd.key, crowd.objective))
		}
		if err == nil {
			_, err = stdout.Write(text)
		}
		return blame(err)
	}
	if !holdsRun(crowd.dir) {
		tell(stderr, crowd.warnings)
	}
	display := progress.New(stderr, progress.Options{LineEvery: 0.25, Silent: f.quiet})
	defer display.Wait()
	bars, resumed := make([]tracking.Bar, crowd.members), holdsRun(crowd.dir)
	var tracked *memberFigures
	p, table, err := crowd.open(crowd.dir, func(u pbt.Update) {
		tracked.update(u)
		if u.Event == nil {
			text := ""
			if x, ok := u.Metrics[crowd.objective]; ok {
				text = fmt.Sprintf("%s %.5g", crowd.objective, x)
			}
			bars[u.Status.Member].Set(u.Status.Steps, text)
		}
	})
	if err != nil {
		return blame(err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	interval, _ := p.Iterations()
	if err := writeRunFile(crowd.dir, text, runfile.Start{Interval: int64(interval)}); err != nil {
		return err
	}
	for _, note := range crowd.notes {
		display.Printf("%s", note)
	}
	if err := p.Recovered(); err != nil {
		fmt.Fprintln(stderr, "recovered:", err)
	}
	display.Printf("%s: %d members in %v", crowd.dir, crowd.members, crowd.full.Section("environment")["id"])
	for id := range bars {
		bars[id] = display.Bar(fmt.Sprintf("member %d", id), crowd.total)
	}
	if tracked, err = trackMembers(crowd.dir, crowd.full, crowd.total, 1, resumed, func(err error) {
		if f.quiet { // the display is silent then
			fmt.Fprintln(stderr, "note:", err)
			return
		}
		display.Printf("note: %v", err)
	}); err != nil {
		return err
	}
	best, err := p.Train(ctx)
	ended := err
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		ended = context.Canceled // whatever signal it was
	}
	if late := tracked.close(ended); late != nil {
		err = errors.Join(err, late)
	}
	display.Wait()
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) && !several(err):
		return f.stopped(crowd.dir, progressOf(p))
	case err != nil:
		return err
	case f.quiet:
		_, err = fmt.Fprintln(stdout, crowd.dir)
		return err
	}
	if err := table(stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\nBest: member %d after %d environment steps, %s %.5g. The population is in %s. "+
		"Evaluate the best: %s eval %s\n",
		best.Member, best.Steps, crowd.objective, best.Objective, crowd.dir, program,
		process.QuoteWord(filepath.Clean(crowd.dir)))
	return err
}
