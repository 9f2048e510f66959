package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/trainers/rlgames"
)

// isaacFlags are the flags of Isaac Lab's train.py, so that its command lines work unchanged. The rare ones are
// hidden; docs/reference/rl-games.md lists all.
type isaacFlags struct {
	task, checkpoint               string
	headless, distributed, track   bool
	wandbName, wandbEntity, wandbP string
	maxIterations                  int
	video                          bool
	videoInterval, videoLength     int
	sigma                          float64
	assignments                    []string // agent.KEY=VALUE and env.KEY=VALUE
}

func (f *isaacFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.task, "task", "", "Isaac Lab's name of --env isaaclab:`TASK`")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "refused: gorl does not read `file`s of rl_games' weights")
	flags.BoolVar(&f.headless, "headless", false, "as in Isaac Lab; it changes nothing, as simulators open no window")
	flags.BoolVar(&f.distributed, "distributed", false, "nothing: the launcher's variables say which rank a process is")
	flags.BoolVar(&f.track, "track", false, "send figures to Weights & Biases: the tracker wandb")
	flags.StringVar(&f.wandbName, "wandb-name", "", "its `name` of the run")
	flags.StringVar(&f.wandbEntity, "wandb-entity", "", "its `entity`")
	flags.StringVar(&f.wandbP, "wandb-project-name", "", "its `project`")
	flags.IntVar(&f.maxIterations, "max-iterations", 0, "`number` of updates, instead of the configuration's timesteps")
	flags.Float64Var(&f.sigma, "sigma", 0, "`number` that log σ begins with, of a file of rl_games")
	flags.BoolVar(&f.video, "video", false, "film while training: trainer.video_interval and video_length")
	flags.IntVar(&f.videoInterval, "video-interval", 2000, "`timesteps` between films of --video")
	flags.IntVar(&f.videoLength, "video-length", 200, "the longest film of --video in `timesteps`")
	for _, name := range []string{"checkpoint", "distributed", "wandb-name", "wandb-entity", "wandb-project-name",
		"sigma", "video", "video-interval", "video-length"} {
		_ = flags.MarkHidden(name)
	}
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-")) // --num_envs
	})
}

// split returns the assignments to the agent's file and to the environment, each without its root.
func (f *isaacFlags) split() (agent, env []string) {
	for _, a := range f.assignments {
		a = strings.TrimLeft(a, "+") // Hydra's mark of a key that is not there yet
		if short, ok := strings.CutPrefix(a, "env."); ok {
			env = append(env, short)
		} else {
			agent = append(agent, strings.TrimPrefix(a, "agent."))
		}
	}
	return agent, env
}

// assignments refuses arguments that are not assignments to keys.
func assignments(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		key, _, ok := strings.Cut(strings.TrimLeft(arg, "+"), "=")
		if !ok || !strings.HasPrefix(key, "agent.") && !strings.HasPrefix(key, "env.") {
			return commandline.Usagef("what is %q for? Give a configuration with --config, a run to go on with by "+
				"--resume, a setting with --set; arguments are agent.KEY=VALUE and env.KEY=VALUE, as Isaac Lab has "+
				"them", arg)
		}
	}
	return nil
}

// memberOf returns the member that agent.pbt.policy_idx=N makes of this process, or -1.
func (f *isaacFlags) memberOf() (int, error) {
	member := -1
	agent, _ := f.split()
	for _, a := range agent {
		if value, ok := strings.CutPrefix(a, "pbt.policy_idx="); ok {
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return 0, commandline.Usagef("agent.pbt.policy_idx is %q; want the number of a member, from 0", value)
			}
			member = n
		}
	}
	return member, nil
}

// convert makes a configuration from a file of rl_games.
func (f *trainFlags) convert(c runfile.Sections, path string, overrides []string) (runfile.Sections, []string, error) {
	o := rlgames.Options{Overrides: overrides, NumEnvs: f.numEnvs}
	for _, s := range f.set {
		if n, ok := strings.CutPrefix(s, "environment.num_envs="); ok {
			o.NumEnvs, _ = strconv.Atoi(n) // catalog.New refuses what is not a number
		}
	}
	if f.isaac.maxIterations > 0 {
		o.Overrides = append(o.Overrides, fmt.Sprintf("params.config.max_epochs=%d", f.isaac.maxIterations))
	}
	if f.given("sigma") {
		o.Overrides = append(o.Overrides,
			fmt.Sprintf("params.network.space.continuous.sigma_init.val=%g", f.isaac.sigma))
	}
	made, err := rlgames.Convert(c, o)
	if path != "-" { // with the files that it names under defaults:
		made, err = rlgames.Read(path, o)
	}
	if err != nil {
		return nil, nil, wrong(err)
	}
	return made.Sections, made.Notes, nil
}

// adjust applies Isaac Lab's flags and assignments to a file that is not of rl_games. agent.trainer.timesteps=N names a
// key of the file as Hydra does, agent.learning_rate=N one of the section agent.
func (f *trainFlags) adjust(c runfile.Sections, assignments []string) error {
	for _, a := range assignments {
		section, _, _ := strings.Cut(strings.SplitN(a, "=", 2)[0], ".")
		if !runfile.Has(section) {
			a = "agent." + a
		}
		if err := c.Set(a); err != nil {
			return commandline.Usagef("%w", err)
		}
		f.source.Set("", a)
	}
	if f.given("sigma") {
		return commandline.Usagef("--sigma is for a file of rl_games; give --set models.policy.initial_log_std=%g",
			f.isaac.sigma)
	}
	if f.isaac.maxIterations > 0 {
		rollouts, ok := config.Whole(c.Section("agent")["rollouts"])
		if !ok {
			return commandline.Usagef("--max-iterations counts updates, each after agent.rollouts timesteps, which " +
				"the configuration does not give; give --timesteps N")
		}
		c.Section("trainer")["timesteps"] = f.isaac.maxIterations * rollouts
	}
	return nil
}

// check refuses flags that make no sense.
func (f *isaacFlags) check(given func(string) bool) error {
	switch {
	case f.checkpoint != "":
		return commandline.Usagef("--checkpoint %s: gorl does not read weights of rl_games, and goes on with runs of "+
			"its own by --resume RUN", f.checkpoint)
	case f.task != "" && given("env"):
		return commandline.Usagef("--task %s and --env name an environment both; give one of them", f.task)
	case given("max-iterations") && given("timesteps"):
		return commandline.Usagef("--max-iterations and --timesteps say both how long the run is; give one of them")
	case !f.track && cmp.Or(f.wandbName, f.wandbEntity, f.wandbP) != "":
		return commandline.Usagef("--wandb-name, --wandb-entity and --wandb-project-name need --track")
	case f.video && (f.videoInterval < 1 || f.videoLength < 1):
		return commandline.Usagef("--video-interval is %d and --video-length %d; want at least 1 timestep",
			f.videoInterval, f.videoLength)
	case !f.video && (given("video-interval") || given("video-length")):
		return commandline.Usagef("--video-interval and --video-length need --video")
	}
	return nil
}
