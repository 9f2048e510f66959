package catalog

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/motions"
)

func init() {
	add("gymnasium", gymnasiumDefaults, true, func(s gymnasiumSettings, id string) (envs.Env, error) {
		return newPython("gymnasium", id, s.pythonSettings, gymnasium.Options{Children: s.Children})
	})
	add("pettingzoo", pettingZooDefaults, true, func(s pettingZooSettings, id string) (envs.Env, error) {
		return newPython("pettingzoo", id, s.pythonSettings, gymnasium.Options{Children: s.Children, PettingZoo: true,
			AEC: s.AEC})
	})
	for _, simulator := range gymnasium.Simulators {
		add(string(simulator), simulatorDefaults, true, func(s simulatorSettings, id string) (envs.Env, error) {
			clips, err := s.clips()
			if err != nil {
				return nil, err
			}
			env, err := newPython(string(simulator), id, s.pythonSettings, gymnasium.Options{
				Simulator: simulator, Autoreset: gymnasium.Autoreset(s.Autoreset),
				RandomEpisodeLengths: s.RandomEpisodeLengths, ObservationGroups: s.ObservationGroups,
				StateGroups: s.StateGroups, AMPGroup: s.AMPGroup,
			})
			if err != nil || clips == nil {
				return env, err
			}
			return imitate(env.(*gymnasium.Env), clips)
		})
	}
}

// gymnasiumSettings are those of single environments of Gymnasium.
type gymnasiumSettings struct {
	pythonSettings `yaml:",inline"`
	// Children is the number of processes that share the environments; 0 is one per processor.
	Children int `yaml:"children" config:"min=0"`
}

// pettingZooSettings are those of PettingZoo's games, in which several agents act.
type pettingZooSettings struct {
	gymnasiumSettings `yaml:",inline"`
	// AEC plays by turns, even if the agents can act at once.
	AEC bool `yaml:"aec"`
}

// simulatorSettings are those of simulators that are a batch by themselves.
type simulatorSettings struct {
	pythonSettings `yaml:",inline"`
	// Autoreset says when a simulator that does not say so itself resets an environment after an episode, and
	// chooses it for vector and mjlab: in the same step, in the next one, or by the bridge (disabled). Default:
	// vector the same step if it can, mjlab disabled, which keeps last observations.
	Autoreset string `yaml:"autoreset" config:"oneof=|same_step|next_step|disabled"`
	// RandomEpisodeLengths starts all episodes at random lengths, so that time limits do not coincide (rsl_rl:
	// init_at_random_ep_len); for Isaac Lab and mjlab. Evaluations and populations do not count these episodes, the
	// tracked mean return does.
	RandomEpisodeLengths bool `yaml:"random_episode_lengths"`
	// ObservationGroups and StateGroups are the simulator's groups that become observations and states; several
	// become a Dict. Default: "policy" or "actor", and "critic"; playground and brax "state" and "privileged_state";
	// others none.
	ObservationGroups []string `yaml:"observation_groups"`
	StateGroups       []string `yaml:"state_groups"`
	// AMPGroup adds a group of observations named amp, the AMP observation, to a task of mjlab or Isaac Lab.
	AMPGroup gymnasium.AMPGroup `yaml:"amp_group"`
	// Motions are clips of the robot, the reference motion of AMP for the group of observations amp: humanoid_walk,
	// humanoid_run, or paths of files.
	Motions []string `yaml:"motions"`
	// Model is the path of the robot's MJCF file, onto which motions of others are retargeted. Default: motions are of
	// the robot already.
	Model string `yaml:"model"`
}

// clips reads Motions and carries them over to Model. It returns nil if there are none.
func (s *simulatorSettings) clips() ([]*motions.Clip, error) {
	switch {
	case len(s.Motions) == 0 && s.Model != "":
		return nil, errors.New("\"model\" is given without \"motions\", the clips to retarget onto it")
	case len(s.Motions) > 0 && s.ReferenceMotions != "":
		return nil, errors.New("\"motions\" and \"reference_motions\" are both given; give one")
	}
	return loadMotions(s.Motions, func(c *motions.Clip) (*motions.Clip, error) {
		if s.Model == "" {
			return c, nil
		}
		return Retarget(c, s.Model, nil)
	})
}

// pythonSettings are those of gymnasium.Options that a file can say of both.
type pythonSettings struct {
	Batch `yaml:",inline"`
	// Factory is a function, "module:function", that returns a gymnasium.Env or the simulator's whole batch; the id
	// then has no colon.
	Factory string `yaml:"factory"`
	// Kwargs are the arguments of gymnasium.make or the factory; simulators have keys of their own
	// (docs/simulators.md).
	Kwargs map[string]any `yaml:"kwargs"`
	// Python is the interpreter, Path its first folders of modules, Environ additions to its environment
	// ("NAME=value").
	Python  string   `yaml:"python"`
	Path    []string `yaml:"path"`
	Environ []string `yaml:"environ"`
	// RenderMode is that of the environments; "rgb_array" lets gorl draw them.
	RenderMode string `yaml:"render_mode"`
	// EpisodeMetrics are the numbers of an episode's last info that become its metrics, dotted through dictionaries;
	// "*" is all.
	EpisodeMetrics []string `yaml:"episode_metrics"`
	// StepMetrics are the numbers of infos whose mean over the batch becomes a metric of every step; "*" is all.
	StepMetrics []string `yaml:"step_metrics"`
	// AMPObservations is the key of AMP observations in infos, AMPSize their number if the environment does not say
	// it.
	AMPObservations string `yaml:"amp_observations"`
	AMPSize         int    `yaml:"amp_size" config:"min=0"`
	// ReferenceMotions is a file with reference motion of shape (rows, AMP observations): npy or npz with one
	// array or one named reference_motions. Without it AMP calls the environment's collect_reference_motions.
	ReferenceMotions string `yaml:"reference_motions"`
	// States is the key of privileged states in infos (of reset, too), StateSize their number if the environment
	// does not say it. For pettingzoo states are those of the method state, and "ignore" uses none.
	States    string `yaml:"states"`
	StateSize int    `yaml:"state_size" config:"min=0"`
	// ActionMasks is the key of action masks in infos (of reset, too), for example action_mask. Without it the
	// environment's method action_masks gives them, if there is one; "ignore" uses no masks.
	ActionMasks string `yaml:"action_masks"`
	// StartTimeout is the time that a child may take to make its environments, Timeout that for a step or reset.
	StartTimeout time.Duration `yaml:"start_timeout"`
	Timeout      time.Duration `yaml:"timeout"`
	// Replace is the number of restarts of failed, dead or hanging children in all; negative is no limit.
	Replace int `yaml:"replace"`
}

// The defaults of single environments, of games and of simulators.
var (
	gymnasiumDefaults  = gymnasiumSettings{pythonSettings: pythonDefaults(2*time.Minute, time.Minute)}
	pettingZooDefaults = pettingZooSettings{gymnasiumSettings: gymnasiumDefaults}
	simulatorDefaults  = simulatorSettings{
		pythonSettings: pythonDefaults(gymnasium.StartSimulator, gymnasium.StepSimulator)}
)

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
	// nil is none here (null in a file). To gymnasium.Options nil would be all.
	if s.EpisodeMetrics == nil {
		s.EpisodeMetrics = []string{}
	}
	o.ID, o.Factory, o.Kwargs, o.NumEnvs, o.Seed = id, s.Factory, s.Kwargs, s.NumEnvs, s.Seed
	o.Python, o.Path, o.Environ, o.RenderMode = s.Python, s.Path, s.Environ, s.RenderMode
	o.EpisodeMetrics, o.StepMetrics = s.EpisodeMetrics, s.StepMetrics
	o.AMPObservations, o.AMPSize, o.States, o.StateSize = s.AMPObservations, s.AMPSize, s.States, s.StateSize
	o.ActionMasks = s.ActionMasks
	o.StartTimeout, o.Timeout, o.Replace = s.StartTimeout, s.Timeout, s.Replace
	if s.ReferenceMotions == "" {
		return made(gymnasium.New(o))
	}
	rows, width, err := readMotions(s.ReferenceMotions)
	if err != nil {
		return nil, err
	}
	if s.AMPObservations == "" {
		return nil, errors.New("\"reference_motions\" is given without \"amp_observations\", the key of the " +
			"infos that holds what is to be like them")
	}
	env, err := gymnasium.New(o)
	if err != nil {
		return nil, err
	}
	if err := env.Spaces().AMPObservation.Check(rows, len(rows)/width); err != nil {
		return nil, errors.Join(fmt.Errorf("\"reference_motions\": %s, whose rows have %d numbers: %w",
			s.ReferenceMotions, width, err), env.Close())
	}
	return &imitating{Env: env, rows: rows, width: width}, nil
}
