package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/shellword"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/progress"
	"github.com/gorl-dev/gorl/trainers"
)

// crowd is a population that a configuration describes: one of package pbt, or one that evolves.
type crowd struct {
	dir, objective string
	members        int
	total          int64 // environment steps of each member
	notes          []string
	// member makes one member, to see whether that works before anything is written.
	member func() (pbt.Trainee, error)
	// open makes it, in dir or, where dir is "", in memory.
	open func(dir string, progress func(pbt.Update)) (*opened, error)
}

// opened is a population that can train.
type opened struct {
	*pbt.Population
	train func(ctx context.Context) (*pbt.Result, error)
	table func(w io.Writer) error
	close func() error
}

// trainPopulation trains a population of package pbt in this process.
func (f *trainFlags) trainPopulation(ctx context.Context, c runfile.Sections, stdout, stderr io.Writer) error {
	section := c.Section("pbt")
	if f.given("timesteps") {
		return commandline.Usagef("a population's length is in environment steps of each member: --set pbt.total_steps=N instead of --timesteps")
	}
	if f.given("seed") {
		delete(section, "seed") // which would come first
	} else if section["seed"] == nil {
		c.DrawSeed()
	}
	directory, _ := section["directory"].(string)
	workspace, _ := section["workspace"].(string)
	directory, workspace, err := f.place(directory, workspace, "PBT", false)
	if err != nil {
		return err
	}
	section["directory"], section["workspace"] = directory, workspace
	settings, err := preset.FromDict(c)
	if err != nil {
		return wrong(err)
	}
	notes := settings.Notes
	if c["launcher"] != nil {
		notes = append(notes, "launcher: is not used: all members train in this process; gorl-pbt run starts a process for each")
	}
	if c.Section("trainer")["trackers"] != nil {
		notes = append(notes, "trainer.trackers: is not used: members of a population have no trackers; the population's journal has its figures")
	}
	o := settings.Options
	if o.TotalSteps == 0 {
		return commandline.Usagef("pbt.total_steps is missing: the environment steps that every member trains")
	}
	if o.ProgressSteps == 0 {
		o.ProgressSteps = min(8192, o.IntervalSteps)
	}
	o.New = func(m pbt.Member) (pbt.Trainee, error) { return member(c, m.Seed) }
	return f.crowd(ctx, c, stdout, stderr, crowd{
		dir: settings.Folder(), objective: o.Objective, members: o.Members, total: o.TotalSteps, notes: notes,
		member: func() (pbt.Trainee, error) { return member(c, o.Seed) },
		open: func(dir string, progress func(pbt.Update)) (*opened, error) {
			o.Directory, o.Progress = dir, progress
			p, err := pbt.New(o)
			if err != nil {
				return nil, err
			}
			return &opened{p, p.Train, func(w io.Writer) error { return p.Table().Write(w) }, p.Close}, nil
		},
	})
}

// member builds the trainer of a population's member. The population saves; trainers write nothing themselves.
func member(c runfile.Sections, seed int64) (*trainers.Trainee, error) {
	env, err := makeEnvironment(c)
	if err != nil {
		return nil, err
	}
	trainer, err := trainers.FromDict(c.Member(seed), env, func(cfg *trainers.Config) {
		*cfg = trainers.Config{Seed: cfg.Seed, SaveBuffers: cfg.SaveBuffers, StochasticEvaluation: cfg.StochasticEvaluation, Best: cfg.Best}
	})
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return trainer.Trainee(), nil
}

// crowd trains a population.
func (f *trainFlags) crowd(ctx context.Context, c runfile.Sections, stdout, stderr io.Writer, crowd crowd) (err error) {
	text, err := c.YAML()
	if err != nil {
		return err
	}
	if f.check {
		p, err := crowd.open("", nil)
		if err == nil {
			err = p.close()
		}
		if err == nil {
			_, err = stdout.Write(text)
		}
		return blame(err)
	}
	if !holdsRun(crowd.dir) {
		m, err := crowd.member()
		if err == nil {
			err = m.Close()
		}
		if err != nil {
			return blame(err)
		}
	}
	display := progress.New(stderr, progress.Options{LineEvery: 0.25, Silent: f.quiet})
	defer display.Wait()
	bars := make([]tracking.Bar, crowd.members)
	p, err := crowd.open(crowd.dir, func(u pbt.Update) {
		if u.Event == nil {
			text := ""
			if x, ok := u.Metrics[crowd.objective]; ok {
				text = fmt.Sprintf("%s %.1f", crowd.objective, x)
			}
			bars[u.Status.Member].Set(u.Status.Steps, text)
		}
	})
	if err != nil {
		return blame(err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := writeRunFile(crowd.dir, text); err != nil {
		return err
	}
	for _, note := range crowd.notes {
		display.Printf("%s", note)
	}
	if err := p.Recovered(); err != nil {
		fmt.Fprintln(stderr, "recovered:", err)
	}
	display.Printf("%s: %d members in %v", crowd.dir, crowd.members, c.Section("environment")["id"])
	for id := range bars {
		bars[id] = display.Bar(fmt.Sprintf("member %d", id), crowd.total)
	}
	best, err := p.train(ctx)
	display.Wait()
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) && !several(err):
		return stopped(crowd.dir, fmt.Sprintf("in interval %d", p.Generation().Iteration))
	case err != nil:
		return err
	case f.quiet:
		_, err = fmt.Fprintln(stdout, crowd.dir)
		return err
	}
	if err := p.table(stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\nBest: member %d after %d steps, %s %.1f. The population is in %s. Evaluate the best: gorl eval %s\n",
		best.Member, best.Steps, crowd.objective, best.Objective, crowd.dir, shellword.Quote(filepath.Clean(crowd.dir)))
	return err
}
