package catalog

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
)

func init() {
	add("gymnasium", gymnasiumDefaults(), true, newGymnasium)
}

// gymnasiumSettings are those of gymnasium.Options that a file can say.
type gymnasiumSettings struct {
	Batch `yaml:",inline"`
	// Factory is a Python function that returns a gymnasium.Env, as "module:function", where the id is gymnasium alone.
	Factory string `yaml:"factory"`
	// Kwargs are passed to gymnasium.make or to the factory.
	Kwargs map[string]any `yaml:"kwargs"`
	// Children is how many Python processes share the environments; 0 means one for each processor.
	Children int `yaml:"children" config:"min=0"`
	// Python is the interpreter. Path lists folders that it looks for modules in first, and Environ settings
	// ("NAME=value") added to this process's environment.
	Python  string   `yaml:"python"`
	Path    []string `yaml:"path"`
	Environ []string `yaml:"environ"`
	// RenderMode is passed to the environments; "rgb_array" lets them be drawn.
	RenderMode string `yaml:"render_mode"`
	// Checker keeps Gymnasium's own checker (PassiveEnvChecker) around the environments.
	Checker bool `yaml:"checker"`
	// EpisodeMetrics names the numbers of an episode's last info that become its metrics, with dots for dictionaries in
	// it; "*" stands for all.
	EpisodeMetrics []string `yaml:"episode_metrics"`
	// StepMetrics names the numbers of infos whose mean over the batch becomes a metric of every step; "*" stands for all.
	StepMetrics []string `yaml:"step_metrics"`
	// AMPObservations is the key of the infos under which AMP observations stand; AMPSize is how many there are, where the
	// environment does not say so.
	AMPObservations string `yaml:"amp_observations"`
	AMPSize         int    `yaml:"amp_size" config:"min=0"`
	// ReferenceMotions is the path of a file with rows of AMP observations to imitate: a NumPy array (npy, or npz with one
	// array, or one named reference_motions) or a safetensors file, likewise, of shape (rows, AMP observations). Without
	// it AMP asks the environment's own collect_reference_motions.
	ReferenceMotions string `yaml:"reference_motions"`
	// States is the key of the infos (of reset, too) under which privileged states stand; StateSize is how many there are,
	// where the environment does not say so.
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

func gymnasiumDefaults() gymnasiumSettings {
	return gymnasiumSettings{Batch: Defaults(), Python: "python3", EpisodeMetrics: []string{gymnasium.Every},
		StartTimeout: 2 * time.Minute, Timeout: time.Minute}
}

func newGymnasium(s gymnasiumSettings, id string) (envs.Env, error) {
	if (id == "") == (s.Factory == "") {
		return nil, errors.New("give an environment, as gymnasium:CartPole-v1, or the id gymnasium and a \"factory\"")
	}
	var rows []float32
	width := 0
	if s.ReferenceMotions != "" {
		var err error
		if rows, width, err = readMotions(s.ReferenceMotions); err != nil {
			return nil, err
		}
		if s.AMPObservations == "" {
			return nil, errors.New("\"reference_motions\" is given without \"amp_observations\", the key of the infos that holds what is to be like them")
		}
	}
	if s.EpisodeMetrics == nil {
		s.EpisodeMetrics = []string{} // none, where nil would be all
	}
	env, err := gymnasium.New(gymnasium.Options{
		ID: id, Factory: s.Factory, Kwargs: s.Kwargs, NumEnvs: s.NumEnvs, Seed: s.Seed, Children: s.Children, Python: s.Python, Path: s.Path, Environ: s.Environ,
		RenderMode: s.RenderMode, Checker: s.Checker, EpisodeMetrics: s.EpisodeMetrics, StepMetrics: s.StepMetrics,
		AMPObservations: s.AMPObservations, AMPSize: s.AMPSize, States: s.States, StateSize: s.StateSize,
		StartTimeout: s.StartTimeout, Timeout: s.Timeout, Replace: s.Replace, Spin: s.Spin,
	})
	if err != nil {
		return nil, err
	}
	if s.ReferenceMotions == "" {
		return env, nil
	}
	space := env.Spaces().AMPObservation
	err = nil
	if width != space.Width() {
		err = fmt.Errorf("\"reference_motions\": the rows of %s have %d numbers, the AMP observations %d", s.ReferenceMotions,
			width, space.Width())
	} else if bad := space.Check(rows, len(rows)/width); bad != nil {
		err = fmt.Errorf("\"reference_motions\": %s: %w", s.ReferenceMotions, bad)
	}
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return &imitating{Env: env, rows: rows, width: width}, nil
}
