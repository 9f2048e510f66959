package trainers

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tracking"
)

// Config says how long a trainer trains, what it shows, and what it writes. The zero value but for Timesteps is good:
// it trains in memory, without a display, and writes nothing.
type Config struct {
	// Timesteps is the number of steps of the whole batch of environments; a run of N environments sees Timesteps × N
	// environment steps.
	Timesteps int `yaml:"timesteps" config:"min=0"`
	// Directory is where the run's folder is made, and Name is its name. With both empty nothing is written, unless the
	// other settings below ask for it; then they are "runs" and the time with the agent's name.
	Directory string `yaml:"directory"`
	Name      string `yaml:"name"`
	// WriteInterval is the number of timesteps between writes of tracked values (TensorBoard and JSON lines). "auto" is a
	// hundredth of the run, 0 writes none.
	WriteInterval agents.Interval `yaml:"write_interval"`
	// CheckpointInterval is the number of timesteps between checkpoints. "auto" is a tenth of the run, 0 writes none but
	// the last.
	CheckpointInterval agents.Interval `yaml:"checkpoint_interval"`
	// Keep is the number of checkpoints kept; 0 keeps all. The best one is kept besides.
	Keep int `yaml:"keep" config:"min=0"`
	// SaveBuffers stores rollout and replay memories, and the environment's state where it can be had, in checkpoints: a
	// resumed run is then the same, bit for bit.
	SaveBuffers bool `yaml:"save_buffers"`
	// Resume continues from the newest valid checkpoint in the run's folder, where there is one. It needs Name.
	Resume bool `yaml:"resume"`
	// Best names the figure of [Trainer.Metrics] by which the best checkpoint is chosen, default "episode.return".
	Best string `yaml:"best"`

	// Headless does not call the environment's Render; otherwise OnRender is given a picture of environment 0 every
	// RenderInterval timesteps.
	Headless       bool `yaml:"headless"`
	RenderInterval int  `yaml:"render_interval" config:"min=0"`
	// DisableProgressbar shows no progress bar. Without a Progress none is shown either.
	DisableProgressbar bool `yaml:"disable_progressbar"`
	// CloseEnvironmentAtExit closes the environment with the trainer.
	CloseEnvironmentAtExit bool `yaml:"close_environment_at_exit"`
	// EnvironmentInfo is accepted for skrl's sake: all of an environment's metrics are tracked.
	EnvironmentInfo string `yaml:"environment_info"`
	// StochasticEvaluation samples actions in evaluation instead of taking the distribution's mean or mode.
	StochasticEvaluation bool `yaml:"stochastic_evaluation"`
	// Seed seeds the environment at its first reset; negative leaves it as it is.
	Seed int64 `yaml:"seed"`

	// Progress draws the bars; tracking.NewProgress makes one for a terminal.
	Progress tracking.Progress `yaml:"-"`
	// OnRender is given pictures, see Headless.
	OnRender RenderFunc `yaml:"-"`
	// EvaluationEnv makes an environment for one evaluation, seeded and of as many environments as that which trains; it is
	// closed after it. See [Trainer.EvaluateMetrics].
	EvaluationEnv func(numEnvs int, seed int64) (envs.Env, error) `yaml:"-"`
	// OnStep is called after every timestep; an error ends the run.
	OnStep func(t *Trainer) error `yaml:"-"`
}

// DefaultConfig returns skrl's defaults: 100 000 timesteps, checkpoints and tracked values on.
func DefaultConfig() Config {
	return Config{Timesteps: 100_000, Directory: "runs", WriteInterval: agents.Interval{Auto: true}, CheckpointInterval: agents.Interval{Auto: true},
		Best: "episode.return", Headless: true, RenderInterval: 1, CloseEnvironmentAtExit: true}
}

// Validate says which setting makes no sense.
func (c *Config) Validate() error {
	if err := config.Check(*c, "trainers"); err != nil {
		return err
	}
	if c.Resume && c.Name == "" {
		return fmt.Errorf("trainers: \"resume\" needs \"name\", the folder of the run to continue")
	}
	if strings.ContainsAny(c.Name, `/\`) {
		return fmt.Errorf("trainers: \"name\" is %q; it is one folder's name, the folder it lies in is \"directory\"", c.Name)
	}
	return nil
}

// writes reports whether the run has a folder.
func (c *Config) writes() bool {
	return c.Directory != "" || c.Name != "" || c.WriteInterval != (agents.Interval{}) || c.CheckpointInterval != (agents.Interval{})
}
