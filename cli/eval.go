package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/trainers"
)

// evalFlags are the flags of gorl eval. gorl view has most of them, too.
type evalFlags struct {
	console
	config, checkpoint, record, device string
	table                              string
	episodes, numEnvs                  int
	seed                               int64
	fps                                float64
	stochastic, json                   bool
	pictures                           bool // the environment must draw itself
	set                                []string
}

func evalCommand() *cobra.Command {
	var f evalFlags
	c := &cobra.Command{
		Use:   "eval RUN|CHECKPOINT",
		Short: "play whole episodes with a checkpoint",
		Long: `
Plays whole episodes with a checkpoint without learning, by the mean or the most probable
action. RUN is the folder of an agent or a population, CHECKPOINT a file (.safetensors).
The configuration is the run's run.yaml, for processes of gorl-pbt the file that they
read, or --config. Of a folder of several runs all are played. Runs that differ by the
seed alone get a table with mean, interquartile mean and 95 % confidence intervals.

Every environment of the batch plays the same number of episodes, at least one. The
environment has the checkpoint's curriculum, but no changes that a population has made.`,
		Example: `
gorl eval runs/cartpole
gorl eval runs/cartpole --episodes 1000 --checkpoint latest --seed 7
gorl eval runs/cartpole-seeds --table latex
gorl eval runs/walker --record walk.gif --fps 50
gorl eval runs/humanoid --set episode_length=600
gorl eval runs/cartpole/checkpoints/agent_2500.safetensors --json`,
		Args: commandline.Arguments(1, 1, "the folder of a run, or a checkpoint"),
	}
	flags := c.Flags()
	f.register(c, "seed of the environments, and of --stochastic")
	flags.IntVar(&f.episodes, "episodes", 100, "least `number` of episodes")
	flags.IntVar(&f.numEnvs, "num-envs", 0, "environments that play together (default: the configuration's, at most "+
		"--episodes)")
	flags.StringVar(&f.record, "record", "", "write the first episode of the first environment to this `file` (GIF; "+
		"MP4, which needs ffmpeg; or twelve pictures of it as PNG), which is replaced where it exists")
	flags.Float64Var(&f.fps, "fps", 0,
		"pictures that --record shows a second, one a step, at most 50, as MP4 60; 0 films in real time")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of a table")
	table := commandline.Choice(c, "table", "", "print a table of several runs for a paper, in this `form`: "+
		"markdown or latex", "markdown", "latex")
	commandline.Once(c, "config")
	commandline.AtLeast(c, 0, "num-envs")
	commandline.AtLeast(c, 1, "episodes")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		f.console, f.table = consoleOf(cmd), *table
		return f.run(cmd.Context(), args[0])
	}
	return c
}

// register adds the flags that gorl eval and gorl view have in common.
func (f *evalFlags) register(c *cobra.Command, seed string) {
	flags := c.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "configuration, a YAML `file`, instead of the run's run.yaml")
	flags.StringVar(&f.checkpoint, "checkpoint", "best",
		"which of the run's `checkpoints`: best, latest, a timestep or a file")
	flags.Int64Var(&f.seed, "seed", 1, seed)
	flags.BoolVar(&f.stochastic, "stochastic", false, "draw actions from the policy's distribution, as in training")
	flags.StringArrayVarP(&f.set, "set", "s", nil,
		"change a setting of the environment: `KEY=VALUE`, the value in YAML (may be repeated)")
	flags.StringVar(&f.device, "device", "", "where tensors live: cpu, cuda, cuda:1 or auto")
	commandline.AtLeast(c, 0, "seed")
}

func (f *evalFlags) run(ctx context.Context, target string) error {
	switch {
	case !(f.fps >= 0 && f.fps <= 60) || f.fps > 50 && !isKind(f.record, ".mp4"):
		return commandline.Usagef("--fps is %g; want 0 or more, and at most 50, as MP4 at most 60", f.fps)
	case f.record != "" && !isKind(f.record, ".gif", ".mp4", ".png"):
		return commandline.Usagef("--record %s: pictures are written as .gif, .mp4 or .png", f.record)
	case f.table != "" && f.json:
		return commandline.Usagef("--table %s and --json: give one of the two", f.table)
	}
	// before all episodes are played
	if _, err := findFFmpeg(); err != nil && isKind(f.record, ".mp4") {
		return commandline.Usagef("--record %s: %w", f.record, err)
	}
	if info, err := os.Stat(filepath.Dir(f.record)); f.record != "" && (err != nil || !info.IsDir()) {
		return commandline.Usagef("--record %s: there is no folder %s", f.record, filepath.Dir(f.record))
	}
	if runs := runsOf(target); len(runs) > 0 {
		return f.runSeveral(ctx, target, runs)
	}
	if f.table != "" {
		return commandline.Usagef("--table %s compares several runs, and %s is one; give the folder of several",
			f.table, target)
	}
	saved, result, err := f.play(ctx, target)
	switch {
	case err != nil:
		return err
	case f.json:
		return f.writeJSON(saved, result)
	}
	return f.write(saved, result)
}

// play evaluates a checkpoint, and films it if the command line says so.
func (f *evalFlags) play(ctx context.Context, target string) (saved *savedRun, result trainers.Evaluation, err error) {
	if saved, err = f.load(target); err != nil {
		return nil, result, err
	}
	env, err := f.makeEnvironment(saved.sections, saved.config)
	if err != nil {
		return nil, result, err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	recorded := &recording{}
	if f.record != "" {
		if recorded, err = newRecording(env, f.record, f.fps); err != nil {
			return nil, result, commandline.Usagef("--record: %w", err)
		}
		env = recorded
	}
	trainer, err := f.player(env, saved)
	if err != nil {
		return nil, result, err
	}
	defer func() { err = errors.Join(err, trainer.Agent().Close()) }()
	result, err = trainer.Evaluate(ctx, trainers.EvaluateOptions{Episodes: f.episodes, Seed: f.seed})
	if err != nil && ctx.Err() != nil {
		err = &commandline.StoppedError{Err: errors.New("stopped before all episodes were played; nothing is written")}
	}
	if err == nil && f.record != "" {
		err = recorded.write(ctx, f.record)
	}
	return saved, result, err
}

// load opens a checkpoint and reads its configuration, with the device of the command line.
func (f *evalFlags) load(target string) (*savedRun, error) {
	saved, err := f.open(target)
	if err != nil {
		return nil, err
	}
	for _, note := range saved.notes {
		fmt.Fprintln(f.stderr, note)
	}
	if saved.sections, err = readConfiguration(saved.config, f.stdin); err != nil {
		return nil, err
	}
	if err := check(saved.sections); err != nil {
		return nil, commandline.Usagef("%s: %w", saved.config, err)
	}
	if f.device != "" {
		saved.sections.Section("agent")["device"] = f.device
	}
	return saved, nil
}

// makeEnvironment makes the environment of a configuration for evaluation, with the settings of the command line.
// source names the configuration in errors.
func (f *evalFlags) makeEnvironment(c runfile.Sections, source string) (envs.Env, error) {
	for _, assignment := range f.set {
		if err := c.Set("environment." + assignment); err != nil {
			return nil, commandline.Usagef("--set %w", err)
		}
	}
	f.adapt(c.Section("environment"))
	env, err := makeEnvironment(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return env, nil
}

// adapt changes the section environment for evaluation.
func (f *evalFlags) adapt(section map[string]any) {
	if n, ok := config.Whole(section["num_envs"]); f.numEnvs == 0 && ok && n > f.episodes {
		section["num_envs"] = f.episodes
	}
	if f.numEnvs > 0 {
		section["num_envs"] = f.numEnvs
	}
	n, _ := config.Whole(section["num_envs"])
	if children, ok := config.Whole(section["children"]); ok && children > max(n, 1) {
		section["children"] = 0
	}
	full, _ := catalog.Settings(section) // makeEnvironment reports errors
	// Only whole episodes are counted, and a score must not depend on earlier failures.
	for key, value := range map[string]any{"random_episode_lengths": false, "failure_starts": 0.0, "measure": true} {
		if given, has := full[key]; has && given != value {
			section[key] = value
		}
	}
	if full[renderMode] == "" && (f.record != "" || f.pictures) {
		section[renderMode] = "rgb_array"
	}
}

// restorable is an agent that can be restored from a checkpoint.
type restorable interface {
	agents.Snapshotter
	agents.Reseeder
}

// player makes the agent of a checkpoint, and a trainer that evaluates it.
func (f *evalFlags) player(env envs.Env, saved *savedRun) (t *trainers.Trainer, err error) {
	c, cfg := saved.sections, trainers.Config{StochasticEvaluation: f.stochastic}
	var agent agents.Agent
	if c.Kind() == runfile.Evolution {
		settings, err := evolutionOf(c)
		if err != nil {
			return nil, commandline.Usagef("%s: %w", saved.config, err)
		}
		if agent, err = evolvedAgent(c, settings.Network, env, f.seed, saved.Snapshot); err != nil {
			return nil, err
		}
	} else {
		// The agent does not learn. Fewer environments than in training may not fill as many minibatches.
		section := c.Section("agent")
		section["mini_batches"], section["mini_batch_size"] = 1, 0
		trainer, err := trainers.FromDict(c.Member(f.seed), env, func(t *trainers.Config) { *t = cfg })
		if err != nil {
			return nil, commandline.Usagef("%s: %w", saved.config, err)
		}
		agent = trainer.Agent()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, agent.Close())
		}
	}()
	restored, ok := agents.As[restorable](agent)
	if !ok {
		return nil, fmt.Errorf("%s: the agent (%T) cannot be restored", saved.config, agent)
	}
	if t, err = trainers.New(env, agent, cfg); err != nil {
		return nil, err
	}
	if err := restored.Restore(withoutRollout(saved.Snapshot)); err != nil {
		return nil, fmt.Errorf("%s does not fit the agent of %s: %w", saved.Path, saved.config, err)
	}
	if err := cmp.Or(t.RestoreStatistics(saved.Snapshot), t.RestoreCurriculum(saved.Snapshot)); err != nil {
		return nil, fmt.Errorf("%s does not fit the environment of %s: %w", saved.Path, saved.config, err)
	}
	return t, restored.Reseed(f.seed)
}

// withoutRollout returns a snapshot without the rollout in progress, which fits only one number of environments.
func withoutRollout(snap *checkpoint.Snapshot) *checkpoint.Snapshot {
	rest := &checkpoint.Snapshot{Arrays: maps.Clone(snap.Arrays), Values: maps.Clone(snap.Values),
		Metadata: snap.Metadata}
	layout.DropRollout(rest)
	return rest
}
