package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/trainers/rlgames"
)

// trainFlags are the flags of gorl train.
type trainFlags struct {
	console
	config, resume, out, name, device, example, env string
	schedule                                        string
	set                                             []string
	seed                                            int64
	timesteps                                       int64
	numEnvs                                         int
	quiet, check                                    bool
	seeds                                           string
	jobs                                            int
	isaac                                           isaacFlags
	ranks                                           rankFlags
	notes                                           []string // about a file of rl_games
	checks                                          checkFlags
	source                                          *runfile.Source
}

func trainCommand() *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train",
		Short: "train an agent or a population from a YAML file",
		Long: `
Trains an agent, or a population of agents, from a YAML file. environment: names an
environment and its settings (docs/environments.md). models:, memory:, agent: and
trainer: are those of skrl's Runner (docs/ppo.md, docs/amp.md, docs/training.md). With
pbt: a population trains (docs/pbt.md), with mutation: and training: one whose networks
evolve (docs/evolution.md). Files of rl_games and Isaac Lab's command lines work, too.

A run has a folder, by default runs/<name>: run.yaml with all defaults and the seed,
metrics, checkpoints. If the name is taken, a number is added. Ctrl-C saves a checkpoint
and ends with status 78; gorl train --resume RUN goes on. --nproc, torchrun, Slurm's srun,
mpirun and Kubernetes start several processes that train one agent (docs/distributed.md).
--seeds trains a run for each seed. Paths are relative to the current folder.`,
		Example: `
gorl train --example cartpole > cartpole.yaml
gorl train --config cartpole.yaml
gorl train -c cartpole.yaml --name fast --set agent.learning_rate=3e-3 --set models.mlp=[128,128]
gorl train --config cartpole.yaml --check
gorl train --config skrl_ppo_cfg.yaml --env gymnasium:Pendulum-v1 --num-envs 16
gorl train --config cartpole.yaml --nproc 2
gorl train --config cartpole.yaml --seeds 1..5 --jobs 2
gorl train --resume runs/cartpole --timesteps 10000`,
		Args: assignments,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.console, f.isaac.assignments = consoleOf(cmd), args
			err := f.run(cmd.Context())
			if _, usage := errors.AsType[*commandline.UsageError](err); usage && f.source != nil {
				return wrong(f.source.Explain(err)) // with the file and the line of the setting
			}
			return err
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "configuration, a YAML `file`; - is the standard input")
	flags.StringVar(&f.resume, "resume", "", "continue the run in this `folder`, from its newest checkpoint")
	flags.StringVarP(&f.env, "env", "e", "", "the environment's `id`, instead of environment.id")
	flags.IntVar(&f.numEnvs, "num-envs", 0,
		"`number` of parallel environments, instead of environment.num_envs")
	flags.Int64Var(&f.seed, "seed", 0, "seed of everything random, instead of the configuration's")
	commandline.CountVar(flags, &f.timesteps, "timesteps",
		"timesteps, each a step of all environments, instead of trainer.timesteps")
	flags.StringVar(&f.device, "device", "", "where tensors live: cpu, cuda, cuda:1 or auto")
	f.checks.register(flags)
	flags.StringVar(&f.example, "example", "", "print a configuration to begin with: "+
		strings.Join(exampleNames(), ", "))
	flags.IntVar(&f.ranks.nproc, "nproc", 0,
		"`number` of processes on this machine that train the agent together, each with environments of its own")
	flags.IntVar(&f.ranks.restarts, "max-restarts", defaultRestarts,
		"`number` of times that the processes of --nproc are started again after one has failed")
	flags.StringVar(&f.seeds, "seeds", "", "train a run for each of these `seeds`, such as 1..5 or 1,4,7")
	f.registerRun(c, "run")
	flags.StringVar(&f.schedule, "schedule", "",
		"`file` of hyperparameters over environment steps, which gorl-pbt replay writes")
	f.isaac.register(flags)
	commandline.Once(c, "config")
	commandline.AtLeast(c, 0, "seed", "timesteps", "max-restarts")
	commandline.AtLeast(c, 1, "num-envs", "nproc", "max-iterations")
	return c
}

func (f *trainFlags) run(ctx context.Context) error {
	if f.example != "" {
		text, err := example(f.example)
		if err != nil {
			return err
		}
		_, err = f.stdout.Write(text)
		return err
	}
	place, _, err := distributed.Detect(os.Getenv)
	if err != nil {
		return wrong(err)
	}
	launches, err := f.launches(place)
	if err != nil {
		return err
	}
	if f.jobs != 0 || f.seeds != "" || f.resume != "" && exists(f.resume, runfile.Batch) {
		return f.trainSeeds(ctx, launches || place.Size > 1)
	}
	var read bytes.Buffer // every process needs it
	f.stdin = io.TeeReader(f.stdin, &read)
	c, err := f.configuration()
	if err != nil {
		return err
	}
	commandline.OutliveReaders()
	if err := f.validate(c); err != nil {
		return wrong(err)
	}
	kind := c.Kind()
	if f.schedule != "" && (kind != runfile.Single || launches || place.Size > 1) {
		return commandline.Usagef("--schedule is for a run of one agent in one process")
	}
	if kind != runfile.Single && (launches || place.Size > 1) && !f.check {
		return noRanks(kind)
	}
	switch {
	case launches:
		return f.startRanks(ctx, place, read.Bytes())
	case kind == runfile.Population:
		return f.trainPopulation(ctx, c)
	case kind == runfile.Evolution:
		return f.trainEvolution(ctx, c)
	case f.check:
		place = distributed.Place{}
	}
	return f.trainRank(ctx, c, place)
}

// configuration reads the file, and applies the command line to it.
func (f *trainFlags) configuration() (runfile.Sections, error) {
	path := f.config
	switch {
	case f.resume != "" && (f.out != "" || f.name != ""):
		return nil, commandline.Usagef("--resume names the run's folder; leave out --out and --name")
	case f.resume != "" && path == "":
		path = filepath.Join(f.resume, runFile)
		if !exists(path) && holdsRun(f.resume) {
			return nil, commandline.Usagef("there is a run in %s, but no %s with its configuration; give the "+
				"configuration with --config", f.resume, runFile)
		} else if !exists(path) {
			return nil, commandline.Usagef("there is no run to go on with in %s", f.resume)
		}
	case f.resume != "" && !holdsRun(f.resume):
		return nil, commandline.Usagef("there is no run to go on with in %s", f.resume)
	case path == "" && f.isaac.task != "":
		return nil, commandline.Usagef("--config is missing: Isaac Lab finds the agent's file by --task %s, and gorl "+
			"cannot; give --config FILE with the task's rl_games_ppo_cfg.yaml or skrl_ppo_cfg.yaml, from the folder "+
			"agents beside the task's code in isaaclab_tasks", f.isaac.task)
	case path == "":
		return nil, commandline.Usagef("give --config FILE, --resume RUN or --example NAME; %s train --example "+
			"cartpole prints a file to begin with", program)
	case strings.ContainsAny(f.name, `/\`) || f.name == "." || f.name == "..":
		return nil, commandline.Usagef("--name is %q; it is one folder's name, the folder it lies in is --out", f.name)
	}
	if err := errors.Join(f.isaac.check(f.given), f.checkMode()); err != nil {
		return nil, err
	}
	c, err := f.readAny(path)
	if err != nil {
		return nil, err
	}
	for _, assignment := range f.set {
		if err := knownSection(assignment); err != nil {
			return nil, err
		}
		if err := c.Set(assignment); err != nil {
			return nil, commandline.Usagef("--set %w", err)
		}
		f.source.Set("--set ", assignment)
	}
	if err := check(c); err != nil {
		return nil, wrong(f.source.Explain(err))
	}
	member, err := f.isaac.memberOf()
	switch {
	case err != nil:
		return nil, err
	case f.given("seed") && member >= 0:
		f.notes = append(f.notes, fmt.Sprintf("--seed %d is not used: a population has one seed, and its "+
			"members' seeds follow from it", f.seed))
	case f.given("seed"):
		c["seed"] = f.seed
	}
	if f.device != "" {
		c.Section("agent")["device"] = f.device
	}
	return c, nil
}

// readAny reads a configuration of gorl, skrl or rl_games, and applies the command line to it. f.notes list keys of
// a file of rl_games that have no meaning here.
func (f *trainFlags) readAny(path string) (c runfile.Sections, err error) {
	if err := refuseTensors(path); err != nil {
		return nil, err
	}
	if c, f.source, err = runfile.ReadWithSource(path, f.stdin); err != nil {
		return nil, wrong(err)
	}
	agent, env := f.isaac.split()
	if rlgames.Is(c) {
		c, f.notes, err = f.convert(c, path, agent)
	} else {
		err = f.adjust(c, agent)
	}
	if err != nil {
		return nil, err
	}
	id := f.env
	if f.isaac.task != "" {
		id = "isaaclab:" + f.isaac.task
	}
	if id != "" {
		c.Section("environment")["id"] = id
		f.source.Give("environment.id", "--env "+id)
	}
	if f.given("num-envs") {
		c.Section("environment")["num_envs"] = f.numEnvs
	}
	if f.isaac.task != "" && f.device != "" {
		if kwargs := runfile.Sections(c.Section("environment")).Section("kwargs"); kwargs["device"] == nil {
			kwargs["device"] = f.device // of the simulator, too
		}
	}
	for _, a := range env {
		if err := c.Set("environment.kwargs." + a); err != nil {
			return nil, commandline.Usagef("env.%w", err)
		}
	}
	if f.isaac.track {
		settings := map[string]any{"name": f.isaac.wandbName, "entity": f.isaac.wandbEntity, "project": f.isaac.wandbP}
		maps.DeleteFunc(settings, func(_ string, value any) bool { return value == "" })
		trainer := c.Section("trainer")
		list, _ := trainer["trackers"].([]any)
		trainer["trackers"] = append(list[:len(list):len(list)], map[string]any{"wandb": settings})
	}
	if f.isaac.video {
		trainer := c.Section("trainer")
		trainer["video_interval"], trainer["video_length"] = f.isaac.videoInterval, f.isaac.videoLength
	}
	return c, nil
}

// wrong turns an error of a configuration into a wrong use.
func wrong(err error) error {
	if _, usage := errors.AsType[*commandline.UsageError](err); usage || err == nil {
		return err
	}
	return commandline.Usagef("%w", err)
}

// blame is wrong for errors of settings and of sizes that no memory can hold. It returns other errors as they are.
func blame(err error) error {
	_, setting := errors.AsType[*config.Error](err)
	if _, size := errors.AsType[*capacity.Error](err); size || setting {
		return wrong(err)
	}
	return err
}
