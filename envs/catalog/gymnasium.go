package catalog

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
)

func init() {
	add("gymnasium", gymnasiumDefaults(), true, func(s gymnasiumSettings, id string) (envs.Env, error) {
		return newPython("gymnasium", id, s.pythonSettings, gymnasium.Options{Children: s.Children, Checker: s.Checker})
	})
	for _, simulator := range gymnasium.Simulators {
		add(string(simulator), simulatorDefaults(), true, func(s simulatorSettings, id string) (envs.Env, error) {
			return newPython(string(simulator), id, s.pythonSettings, gymnasium.Options{
				Simulator: simulator, Autoreset: gymnasium.Autoreset(s.Autoreset),
				RandomEpisodeLengths: s.RandomEpisodeLengths, ObservationGroups: s.ObservationGroups,
				StateGroups: s.StateGroups,
			})
		})
	}
}

// gymnasiumSettings are those of single environments of Gymnasium.
type gymnasiumSettings struct {
	pythonSettings `yaml:",inline"`
	// Children is how many Python processes share the environments; 0 means one for each processor.
	Children int `yaml:"children" config:"min=0"`
	// Checker keeps Gymnasium's own checker (PassiveEnvChecker) around the environments.
	Checker bool `yaml:"checker"`
}

// simulatorSettings are those of simulators that are a batch by themselves.
type simulatorSettings struct {
	pythonSettings `yaml:",inline"`
	// Autoreset says what the simulator does when an episode ends, where it does not say so itself: it resets the
	// environment in the same step, or in the next one, or leaves it to the bridge (disabled). vector and mjlab do as
	// it says; without it vector has the same step where it can, and mjlab disabled, which keeps last observations.
	Autoreset string `yaml:"autoreset" config:"oneof=|same_step|next_step|disabled"`
	// RandomEpisodeLengths begins all episodes at random lengths, so that environments with a time limit do not end
	// together (rsl_rl: init_at_random_ep_len). The simulator must be one of Isaac Lab or mjlab. Evaluations and
	// populations do not count these first, shorter episodes; the mean return tracked while training does.
	RandomEpisodeLengths bool `yaml:"random_episode_lengths"`
	// ObservationGroups and StateGroups are the groups of the simulator's observations that become observations and
	// states; several become a Dict. By default they are "policy" or "actor", and "critic"; of playground and brax
	// "state" and "privileged_state"; of vector, envpool and maniskill none.
	ObservationGroups []string `yaml:"observation_groups"`
	StateGroups       []string `yaml:"state_groups"`
}

// pythonSettings are those of gymnasium.Options that a file can say of both.
type pythonSettings struct {
	Batch `yaml:",inline"`
	// Factory is a Python function that returns the environment, as "module:function", where the id is the word before
	// the colon alone: gymnasium's returns a gymnasium.Env, a simulator's the whole batch.
	Factory string `yaml:"factory"`
	// Kwargs are passed to gymnasium.make or to the factory; a simulator has keys of its own (docs/simulators.md).
	Kwargs map[string]any `yaml:"kwargs"`
	// Python is the interpreter. Path lists folders that it looks for modules in first, and Environ settings
	// ("NAME=value") added to this process's environment.
	Python  string   `yaml:"python"`
	Path    []string `yaml:"path"`
	Environ []string `yaml:"environ"`
	// RenderMode is passed to the environments; "rgb_array" lets them be drawn.
	RenderMode string `yaml:"render_mode"`
	// EpisodeMetrics names the numbers of an episode's last info that become its metrics, with dots for dictionaries in
	// it; "*" stands for all.
	EpisodeMetrics []string `yaml:"episode_metrics"`
	// StepMetrics names the numbers of infos whose mean over the batch becomes a metric of every step; "*" stands for
	// all.
	StepMetrics []string `yaml:"step_metrics"`
	// AMPObservations is the key of the infos under which AMP observations stand; AMPSize is how many there are, where
	// the environment does not say so.
	AMPObservations string `yaml:"amp_observations"`
	AMPSize         int    `yaml:"amp_size" config:"min=0"`
	// ReferenceMotions is the path of a file with rows of AMP observations to imitate: a NumPy array (npy, or npz with
	// one array, or one named reference_motions) or a safetensors file, likewise, of shape (rows, AMP observations).
	// Without it AMP asks the environment's own collect_reference_motions.
	ReferenceMotions string `yaml:"reference_motions"`
	// States is the key of the infos (of reset, too) under which privileged states stand; StateSize is how many there
	// are, where the environment does not say so.
	States    string `yaml:"states"`
	StateSize int    `yaml:"state_size" config:"min=0"`
	// StartTimeout is how long a child may take to make its environments, Timeout how long for a step or a reset.
	StartTimeout time.Duration `yaml:"start_timeout"`
	Timeout      time.Duration `yaml:"timeout"`
	// Replace is how many times in all a child that died, hangs, failed or wrote nonsense is replaced by a new one;
	// negative means without end.
	Replace int `yaml:"replace"`
	// Spin is how long a child, and this process, look for work before they let the system wake them.
	Spin time.Duration `yaml:"spin"`
}

// gymnasiumDefaults returns the defaults for single environments, simulatorDefaults those for simulators.
func gymnasiumDefaults() gymnasiumSettings {
	return gymnasiumSettings{pythonSettings: pythonDefaults(gymnasiumStart, gymnasiumStep)}
}

// gymnasiumStart and gymnasiumStep are how long single environments may take to start and to step, by default.
const gymnasiumStart, gymnasiumStep = 2 * time.Minute, time.Minute

func simulatorDefaults() simulatorSettings {
	return simulatorSettings{pythonSettings: pythonDefaults(gymnasium.StartSimulator, gymnasium.StepSimulator)}
}

// pythonDefaults returns the defaults that both share, with the given time limits for a start and for a step.
func pythonDefaults(start, step time.Duration) pythonSettings {
	return pythonSettings{Batch: Defaults(), Python: "python3", EpisodeMetrics: []string{gymnasium.Every},
		StartTimeout: start, Timeout: step}
}

// newPython makes the environment registered as name, with the given id. o holds the options that only one kind of
// environment has; newPython adds those of s.
func newPython(name, id string, s pythonSettings, o gymnasium.Options) (envs.Env, error) {
	if (id == "") == (s.Factory == "") {
		return nil, fmt.Errorf("give an environment, as %s:<id>, or the id %s and a \"factory\"", name, name)
	}
	var rows []float32
	width := 0
	if s.ReferenceMotions != "" {
		var err error
		if rows, width, err = readMotions(s.ReferenceMotions); err != nil {
			return nil, err
		}
		if s.AMPObservations == "" {
			return nil, errors.New("\"reference_motions\" is given without \"amp_observations\", the key of the " +
				"infos that holds what is to be like them")
		}
	}
	// nil is none here (null in a file). To gymnasium.Options nil would be all.
	if s.EpisodeMetrics == nil {
		s.EpisodeMetrics = []string{}
	}
	o.ID, o.Factory, o.Kwargs, o.NumEnvs, o.Seed = id, s.Factory, s.Kwargs, s.NumEnvs, s.Seed
	o.Python, o.Path, o.Environ, o.RenderMode = s.Python, s.Path, s.Environ, s.RenderMode
	o.EpisodeMetrics, o.StepMetrics = s.EpisodeMetrics, s.StepMetrics
	o.AMPObservations, o.AMPSize, o.States, o.StateSize = s.AMPObservations, s.AMPSize, s.States, s.StateSize
	o.StartTimeout, o.Timeout, o.Replace, o.Spin = s.StartTimeout, s.Timeout, s.Replace, s.Spin
	env, err := gymnasium.New(o)
	if err != nil {
		return nil, err
	}
	if s.ReferenceMotions == "" {
		return env, nil
	}
	space := env.Spaces().AMPObservation
	err = nil
	if width != space.Width() {
		err = fmt.Errorf("\"reference_motions\": the rows of %s have %d numbers, the AMP observations %d",
			s.ReferenceMotions,
			width, space.Width())
	} else if bad := space.Check(rows, len(rows)/width); bad != nil {
		err = fmt.Errorf("\"reference_motions\": %s: %w", s.ReferenceMotions, bad)
	}
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return &imitating{Env: env, rows: rows, width: width}, nil
}
