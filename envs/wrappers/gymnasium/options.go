package gymnasium

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Every, in StepMetrics or EpisodeMetrics of [Options], stands for every number that the infos hold.
const Every = "*"

// Ignore, in ActionMasks of [Options], ignores the action masks of environments, and in States the states of games.
const Ignore = "ignore"

// maxColumns is how many numbers of the infos are kept in addition to those asked for by name, when all are wanted.
// The memory is laid out before the first info is seen, so the number must be fixed.
const maxColumns = 64

// Options are the settings of [New]. ID or Factory, and NumEnvs, must be set. The keys are those by which the children
// read what concerns them.
type Options struct {
	// Simulator names a simulator that steps a batch by itself, one of [Simulators]. A single child then holds the
	// whole batch. Empty stands for single environments of Gymnasium, which the bridge makes into a batch.
	Simulator Simulator `json:"simulator"`
	// PettingZoo makes games in which several agents act (spaces.Set.Seats). ID is then a module, such as
	// "mpe2.simple_spread_v3" or "classic.connect_four_v3", and Factory returns a ParallelEnv or an AECEnv. States is
	// empty, so that the environment's method state gives the states if there is one, or [Ignore].
	PettingZoo bool `json:"-"`
	// AEC plays a game of PettingZoo by turns, even if its agents can act at once.
	AEC bool `json:"aec"`
	// ID is a registered environment, such as "CartPole-v1"; "module:Name-v0" imports a module first. With a Simulator
	// it is the simulator's name of a task.
	ID string `json:"id"`
	// Factory is a Python function or class that returns a gymnasium.Env, as "module:function". With a Simulator it
	// returns the batch, an object with num_envs, reset and step. It is then given num_envs, seed and render_mode if
	// it takes them.
	Factory string `json:"factory"`
	// Kwargs are passed to gymnasium.make or to the factory. They must fit into JSON. For a Simulator,
	// docs/simulators.md says what they mean. Gymnasium's own checker is left out of environments made by ID, because
	// the bridge checks shapes and numbers itself; "disable_env_checker": false keeps it.
	Kwargs map[string]any `json:"kwargs"`
	// NumEnvs is the number of environments.
	NumEnvs int `json:"-"`
	// Children is the number of Python processes that share the environments, at most NumEnvs. The default 0 means
	// one for each processor that Go may use, and one with a Simulator.
	Children int `json:"-"`
	// Python is the interpreter, by default python3. Path lists folders that it searches for modules first. Environ
	// are settings ("NAME=value") added to this process's environment. The children's numerical libraries run one
	// thread each (OMP_NUM_THREADS=1 and its like), unless either environment says otherwise. Of simulators this
	// holds for EnvPool only.
	Python  string   `json:"-"`
	Path    []string `json:"-"`
	Environ []string `json:"-"`
	// Seed is used by a first Reset with a negative seed, and to make a Simulator. It must not be negative.
	// Environment i is seeded with seed + i, like Gymnasium's vector environments; a Simulator seeds in its own way.
	Seed int64 `json:"seed"`
	// Autoreset says what a Simulator does when an episode ends, if the Simulator does not say so itself. For
	// environments that [Vector] makes by ID, and for [MJLab], it also chooses the mode. Vector's default is
	// same_step if there is a choice. MJLab's default is disabled: the bridge resets, and sees the last observation.
	// With same_step its steps cost less, and last observations are unknown.
	Autoreset Autoreset `json:"autoreset"`
	// RandomEpisodeLengths begins the episodes of a Simulator at random lengths after every Reset (rsl_rl:
	// init_at_random_ep_len). Environments with a time limit then do not end together, and a rollout shows all parts
	// of an episode. The Simulator needs episode_length_buf and max_episode_length (Isaac Lab, mjlab). These first,
	// shorter episodes are not in Step.Episodes, which evaluations and populations count.
	RandomEpisodeLengths bool `json:"random_lengths"`
	// ObservationGroups and StateGroups choose what becomes observations and states, for a Simulator whose
	// observations are a dictionary of groups. Several groups become a Dict. By default these are "policy" or
	// "actor", and "critic" if it exists; for [Playground] and [Brax] "state" and "privileged_state". [Vector],
	// [EnvPool] and [ManiSkill] have none by default, because their dictionaries are no groups.
	ObservationGroups []string `json:"observation_groups"`
	StateGroups       []string `json:"state_groups"`
	// AMPGroup adds a group of observations named amp to a task of [MJLab] or [IsaacLab] before it is made. A group of
	// that name is the AMP observation, also if the task itself has it.
	AMPGroup AMPGroup `json:"amp_group"`
	// RenderMode is passed to the environments; with "rgb_array" the batch is an envs.Renderer.
	RenderMode string `json:"render_mode"`
	// EpisodeMetrics names the numbers of an episode's last info that become its metrics. A dot leads into a
	// dictionary ("episode.r"). nil and Every stand for all (the first 64 that a child meets), an empty list for
	// none.
	EpisodeMetrics []string `json:"-"`
	// StepMetrics names the numbers of infos whose mean over the batch becomes a metric of every step; Every stands
	// for all. By default there are none, and infos are read only when an episode ends.
	StepMetrics []string `json:"-"`
	// Infos keeps the other entries of infos (texts, arrays) as JSON, for Env.Info. It costs time at every step.
	Infos bool `json:"infos"`
	// AMPObservations is the key of the infos that holds AMP observations. By default they are the group of
	// observations named amp of a Simulator whose observations are in groups, for tasks of [IsaacLab] also amp_obs of
	// the infos, and otherwise there are none. The number of values in the infos is the environment's
	// amp_observation_space or amp_observation_size, or AMPSize, or is read from the infos of a reset.
	//
	// A Simulator may reset a row before it writes the AMP observation. The row of the step before then stands for
	// the end of the episode. An episode of a single step has no such row, and its transition is invalid (see
	// [envs.Step]).
	AMPObservations string `json:"amp"`
	AMPSize         int    `json:"amp_size"`
	// States is the key of the infos (of reset, too) that holds privileged states. Their number of values is the
	// environment's state_space, or StateSize, or is read from the infos of a reset.
	States    string `json:"states"`
	StateSize int    `json:"state_size"`
	// ActionMasks is the key of the infos (of reset, too) that holds action masks, such as action_mask: 1 or True for
	// every choice that is allowed, index after index. Without a key the masks are those of the environment's method
	// action_masks (a batch's of all rows), if it has one. [Ignore] ignores masks. Masks in the infos under
	// action_mask that are neither used nor ignored are an error of Reset.
	ActionMasks string `json:"masks"`
	// StartTimeout is how long a child may take to import and make its environments: by default 2 minutes, 10 for a
	// Simulator. Timeout is how long a step or a reset of all of its environments may take: by default 1 minute, 5
	// for a Simulator, because the first steps may wait for a compiler.
	StartTimeout, Timeout time.Duration `json:"-"`
	// Replace is how many times in all a child that died, hangs, failed or wrote invalid data is replaced by a new
	// one. The episodes of its environments are truncated at their last observations, and the step is not repeated. If
	// that is the first step of all, and there are AMP observations, the transitions are invalid (see [envs.Step]). A
	// negative number sets no limit. With the default 0, Step or Reset returns the error.
	Replace int `json:"-"`
	// OnFault is called with the reason before a failed child is replaced. May be nil.
	OnFault func(*ChildError) `json:"-"`
	// Stderr receives what the children print. By default only the last lines are kept, for error messages.
	Stderr io.Writer `json:"-"`
}

// validate returns an error for settings that are not allowed, and fills in the defaults.
func (o *Options) validate() error {
	switch {
	case (o.ID == "") == (o.Factory == ""):
		return errors.New("gymnasium: set one of ID and Factory")
	case o.Factory != "" && !strings.Contains(strings.Trim(o.Factory, ":"), ":"):
		return fmt.Errorf("gymnasium: the factory is %q; it must be \"module:function\"", o.Factory)
	case o.NumEnvs <= 0 || o.NumEnvs > 1<<20:
		return fmt.Errorf("gymnasium: the number of environments is %d; it must be from 1 to 2²⁰", o.NumEnvs)
	case o.Simulator != "" && !slices.Contains(Simulators, o.Simulator):
		return fmt.Errorf("gymnasium: the simulator is %q; it must be one of %q", o.Simulator, Simulators)
	case o.AEC && !o.PettingZoo || o.PettingZoo && o.Simulator != "":
		return errors.New("gymnasium: AEC is for PettingZoo, and Simulator is not")
	case o.PettingZoo && (o.AMPObservations != "" || o.States != "" && o.States != Ignore || o.StateSize != 0):
		return fmt.Errorf("gymnasium: AMPObservations, States and StateSize are not for PettingZoo: States may only "+
			"be %q", Ignore)
	case o.Simulator == Batch && o.Factory == "":
		return fmt.Errorf("gymnasium: the simulator %q needs a Factory", o.Simulator)
	case o.Simulator != "" && o.Children > 1:
		return fmt.Errorf("gymnasium: %d children of the simulator %s; it is one batch, so there is one child",
			o.Children, o.Simulator)
	case o.Simulator != "" && o.Infos:
		return fmt.Errorf("gymnasium: Infos are for single environments; %s is a simulator", o.Simulator)
	case o.Simulator == "" && (o.Autoreset != "" || o.RandomEpisodeLengths ||
		len(o.ObservationGroups)+len(o.StateGroups) > 0):
		return errors.New("gymnasium: Autoreset, RandomEpisodeLengths, ObservationGroups and StateGroups are for " +
			"simulators; set Simulator")
	case len(o.AMPGroup.Terms) > 0 && (o.Simulator != MJLab && o.Simulator != IsaacLab || o.ID == ""):
		return errors.New("gymnasium: AMPGroup is for tasks of mjlab and isaaclab made by ID; set Simulator and ID, " +
			"or have the Factory make the group")
	case o.Autoreset != "" && !slices.Contains(autoresets, o.Autoreset):
		return fmt.Errorf("gymnasium: autoreset is %q; it must be one of %q", o.Autoreset, autoresets)
	case o.Children < 0 || o.Children > o.NumEnvs:
		return fmt.Errorf("gymnasium: %d children for %d environments; it must be from 1 to as many (0 means one "+
			"for each processor)", o.Children, o.NumEnvs)
	case o.Seed < 0 || o.Seed > math.MaxInt64-1<<40:
		return fmt.Errorf("gymnasium: seed is %d; it must be from 0 to 2⁶³-2⁴⁰-1", o.Seed)
	}
	if err := o.AMPGroup.validate(o.AMPObservations); err != nil {
		return err
	}
	if _, err := json.Marshal(o.Kwargs); err != nil {
		return fmt.Errorf("gymnasium: Kwargs do not fit into JSON: %w", err)
	}
	children, start, step := min(o.NumEnvs, runtime.GOMAXPROCS(0)), 2*time.Minute, time.Minute
	if o.Simulator != "" {
		children, start, step = 1, StartSimulator, StepSimulator
	}
	o.Children, o.Python = cmp.Or(o.Children, children), cmp.Or(o.Python, "python3")
	o.StartTimeout, o.Timeout = cmp.Or(o.StartTimeout, start), cmp.Or(o.Timeout, step)
	return nil
}

// declared returns the names of infos asked for, sorted, without [Every].
func (o *Options) declared() []string {
	keys := slices.Concat(o.EpisodeMetrics, o.StepMetrics)
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(k string) bool { return k == Every })
}

// discover reports whether every number of the infos is wanted.
func (o *Options) discover() bool {
	return o.EpisodeMetrics == nil || slices.Contains(o.EpisodeMetrics, Every) || slices.Contains(o.StepMetrics, Every)
}

// columns returns how many numbers of an info have a place in the shared memory, K.
func (o *Options) columns() int {
	if o.discover() {
		return len(o.declared()) + maxColumns
	}
	return len(o.declared())
}
