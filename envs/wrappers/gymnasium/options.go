package gymnasium

import (
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

// Every stands, in StepMetrics or EpisodeMetrics of [Options], for every number that the infos hold.
const Every = "*"

// maxColumns is how many numbers of the infos are kept where they are discovered.
const maxColumns = 64

// Options are the settings of [New]. ID or Factory, and NumEnvs, must be set.
type Options struct {
	// Simulator is empty for single environments of Gymnasium, of which the bridge makes a batch, or names what steps a
	// batch by itself, one of [Simulators]. A single child holds the whole batch then.
	Simulator Simulator
	// ID is a registered environment, such as "CartPole-v1"; "module:Name-v0" imports a module first. With a Simulator
	// it is the simulator's name of a task.
	ID string
	// Factory is a Python function that returns a gymnasium.Env, as "module:function"; a class will do. With a
	// Simulator it returns the batch, an object with num_envs, reset and step, and is given num_envs, seed and
	// render_mode where it takes them.
	Factory string
	// Kwargs are passed to gymnasium.make or to the factory. They must fit into JSON. What they mean to a Simulator,
	// docs/simulators.md says.
	Kwargs map[string]any
	// NumEnvs is the number of environments.
	NumEnvs int
	// Children is how many Python processes share the environments, at most NumEnvs. The default 0 means one for each
	// processor Go may use, and one with a Simulator.
	Children int
	// Python is the interpreter, by default python3. Path lists folders that it looks for modules in first, and
	// Environ settings ("NAME=value") added to this process's environment. The children's libraries run one thread each
	// (OMP_NUM_THREADS=1 and its like) unless either environment says otherwise; of simulators only EnvPool's do.
	Python  string
	Path    []string
	Environ []string
	// Seed is that of a first Reset with a negative seed, and that a Simulator is made with. It must not be negative.
	// Environment i is seeded with seed + i, as Gymnasium's vector environments do; a Simulator seeds in its own way.
	Seed int64
	// Autoreset says what a Simulator does when an episode ends, where it does not say so itself, and chooses it for
	// those that [Vector] makes by ID (by default same_step where there is a choice) and for [MJLab] (by default
	// disabled: the bridge resets, and sees the last observation; with same_step a step costs less, and last
	// observations are unknown).
	Autoreset Autoreset
	// RandomEpisodeLengths begins the episodes of a Simulator that has episode_length_buf and max_episode_length (Isaac
	// Lab, mjlab) at random lengths after every Reset, so that environments with a time limit do not end together and a
	// rollout shows all parts of an episode (rsl_rl: init_at_random_ep_len). These first, shorter episodes are not
	// among Step.Episodes, from which evaluations and populations take their figures.
	RandomEpisodeLengths bool
	// ObservationGroups and StateGroups are the groups of a Simulator's observations, where those are a dictionary of
	// groups, that become observations and states; several become a Dict. By default they are "policy" or "actor", and
	// "critic" where there is one; of [Playground] and [Brax] "state" and "privileged_state"; of [Vector], [EnvPool]
	// and [ManiSkill], whose dictionaries are no groups, none.
	ObservationGroups, StateGroups []string
	// RenderMode is passed to the environments; with "rgb_array" the batch is an envs.Renderer.
	RenderMode string
	// Checker keeps Gymnasium's own checker (PassiveEnvChecker) around environments made by ID. The bridge checks
	// shapes and numbers itself, so by default it is left out.
	Checker bool
	// EpisodeMetrics names the numbers of an episode's last info that become its metrics, with dots for dictionaries in
	// it ("episode.r"). Nil, and Every, stand for all (the first 64 that a child meets), an empty list for none.
	EpisodeMetrics []string
	// StepMetrics names the numbers of infos whose mean over the batch becomes a metric of every step; Every
	// stands for all. By default there are none, and infos are only looked at when an episode ends.
	StepMetrics []string
	// Infos keeps what else the infos hold (texts, arrays), as JSON, for Env.Info. It costs time at every step.
	Infos bool
	// AMPObservations is the key of the infos under which AMP observations stand; by default there are none, and of
	// those of [IsaacLab]'s tasks that have them it is amp_obs. How many there are is said by the environment's
	// amp_observation_space or amp_observation_size, or AMPSize, or seen in the infos of a reset. Where a Simulator has
	// reset the row before it wrote them, the row of the last step of the episode stands for that of its end; an
	// episode of one step is an invalid transition then (see [envs.Step]).
	AMPObservations string
	AMPSize         int
	// States is the key of the infos (of reset, too) under which privileged states stand. How many there are is said by
	// the environment's state_space, or StateSize, or seen in the infos of a reset.
	States    string
	StateSize int
	// StartTimeout is how long a child may take to import and make its environments (default 2 minutes, of a Simulator
	// 10 minutes), Timeout how long for a step or a reset of all of its environments (default 1 minute, of a Simulator
	// 5 minutes, because the first steps may wait for a compiler).
	StartTimeout, Timeout time.Duration
	// Replace is how many times in all a child that died, hangs, failed or wrote nonsense is replaced by a new one.
	// The episodes of its environments are then truncated where they were last seen, and the step is not repeated.
	// Negative means without end; with the default 0 it is an error of Step or Reset.
	Replace int
	// OnFault is called with what happened to a child that is replaced, before it is. May be nil.
	OnFault func(*ChildError)
	// Spin is how long a child, and this process, look for work before they let the system wake them. It makes steps
	// faster where every child has a processor to itself, at the cost of those processors. The default 0 never spins.
	Spin time.Duration
	// Stderr receives what the children print. By default it is only kept for error messages, the last lines of it.
	Stderr io.Writer
}

// validate fills in the defaults.
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
	case o.Simulator == Batch && o.Factory == "":
		return fmt.Errorf("gymnasium: the simulator %q needs a Factory", o.Simulator)
	case o.Simulator != "" && o.Children > 1:
		return fmt.Errorf("gymnasium: %d children of the simulator %s; it is one batch, so there is one child",
			o.Children, o.Simulator)
	case o.Simulator != "" && (o.Infos || o.Checker):
		return fmt.Errorf("gymnasium: Infos and Checker are for single environments; %s is a simulator", o.Simulator)
	case o.Simulator == "" && (o.Autoreset != "" || o.RandomEpisodeLengths ||
		len(o.ObservationGroups)+len(o.StateGroups) > 0):
		return errors.New("gymnasium: Autoreset, RandomEpisodeLengths, ObservationGroups and StateGroups are for " +
			"simulators; set Simulator")
	case o.Autoreset != "" && !slices.Contains(autoresets, o.Autoreset):
		return fmt.Errorf("gymnasium: autoreset is %q; it must be one of %q", o.Autoreset, autoresets)
	case o.Children < 0 || o.Children > o.NumEnvs:
		return fmt.Errorf("gymnasium: %d children for %d environments; it must be from 1 to as many (0 means one "+
			"for each processor)", o.Children, o.NumEnvs)
	case o.Seed < 0 || o.Seed > math.MaxInt64-1<<40:
		return fmt.Errorf("gymnasium: seed is %d; it must be from 0 to 2⁶³-2⁴⁰-1", o.Seed)
	case o.Timeout < 0 || o.StartTimeout < 0 || o.Spin < 0:
		return fmt.Errorf("gymnasium: Timeout, StartTimeout and Spin are %v, %v and %v; none may be negative",
			o.Timeout,
			o.StartTimeout, o.Spin)
	case o.AMPSize < 0 || o.StateSize < 0:
		return fmt.Errorf("gymnasium: AMPSize and StateSize are %d and %d; neither may be negative", o.AMPSize,
			o.StateSize)
	case len(o.declared()) > 4096:
		return fmt.Errorf("gymnasium: %d metrics; there may be 4096", len(o.declared()))
	}
	if _, err := json.Marshal(o.Kwargs); err != nil {
		return fmt.Errorf("gymnasium: Kwargs do not fit into JSON: %w", err)
	}
	start, step := 2*time.Minute, time.Minute
	if o.Simulator != "" {
		o.Children, start, step = 1, StartSimulator, StepSimulator
	}
	if o.Children == 0 {
		o.Children = min(o.NumEnvs, runtime.GOMAXPROCS(0))
	}
	if o.Python == "" {
		o.Python = "python3"
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = start
	}
	if o.Timeout == 0 {
		o.Timeout = step
	}
	return nil
}

// declared lists the infos asked for by name.
func (o *Options) declared() []string {
	keys := slices.Concat(o.EpisodeMetrics, o.StepMetrics)
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(k string) bool { return k == Every })
}

// discover reports whether every number of the infos is wanted.
func (o *Options) discover() bool {
	return o.EpisodeMetrics == nil || slices.Contains(o.EpisodeMetrics, Every) || slices.Contains(o.StepMetrics, Every)
}

// columns is how many numbers of an info have a place.
func (o *Options) columns() int {
	if o.discover() {
		return len(o.declared()) + maxColumns
	}
	return len(o.declared())
}
