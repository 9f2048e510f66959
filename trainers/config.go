package trainers

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// Config says how long a trainer trains, what it shows, and what it writes. The zero value but for Timesteps is good:
// it trains in memory, without a display, and writes nothing.
//
// The first paragraph of a field's comment says what it is, the second when to change it.
type Config struct {
	// Timesteps is the number of timesteps. Each is a step of all N environments: a run sees Timesteps × N
	// environment steps.
	//
	// A resumed run counts those before it, so raising Timesteps and resuming trains on.
	Timesteps int `yaml:"timesteps" config:"min=0"`
	// Directory is the folder of runs, Name the run's folder in it. With both empty nothing is written unless
	// another setting asks for it; then they are "runs" and the time with the agent's name.
	//
	// Give a Name to find the run again, and to resume it. Without Resume a folder that already
	// holds a run is an error.
	Directory string `yaml:"directory"`
	Name      string `yaml:"name"`
	// WriteInterval is the number of timesteps between writes of tracked values (TensorBoard, JSON lines). "auto" is
	// a hundredth of the run, 0 is never.
	//
	// A smaller one gives finer curves and larger files. Values tracked several times in between are written as their
	// mean.
	WriteInterval agents.Interval `yaml:"write_interval"`
	// Trackers also get the tracked values: "wandb" and "mlflow". A tracker that is away never stops or slows
	// training. They need WriteInterval.
	//
	// In Go, a [trackers.Tracker] takes any tracking.Sink of one's own.
	Trackers []trackers.Tracker `yaml:"trackers"`
	// OtherSections are sections of the run's configuration that the trainer does not know, such as the environment's
	// settings. TensorBoard and trackers show them. YAML has no key for them.
	OtherSections map[string]any `yaml:"-"`
	// CheckpointInterval is the number of timesteps between checkpoints. "auto" is a tenth of the run, 0 saves the
	// last only.
	//
	// A smaller one loses less to a crash and takes more time and space. A cancelled run saves in any case. The agent
	// must be an agents.Snapshotter.
	CheckpointInterval agents.Interval `yaml:"checkpoint_interval"`
	// Keep is the number of checkpoints to retain besides the best one; 0 keeps all.
	//
	// Set it where checkpoints are frequent or hold buffers. At least 2 leaves one to go back to where the newest is
	// damaged.
	Keep int `yaml:"keep" config:"min=0"`
	// SaveBuffers also saves rollout and replay memories and the environment's state, so that a resumed run
	// continues bit for bit. An environment that cannot save its state (envs.Stateful, envs.Observer) is reset on
	// resume, and the step before counts as truncated.
	//
	// Checkpoints are larger with it. Without it a resumed run begins new episodes and a new rollout, which is good
	// enough for training.
	SaveBuffers bool `yaml:"save_buffers"`
	// Resume continues from the newest valid checkpoint in the run's folder, if there is one. It needs Name.
	//
	// The same program with Resume set therefore begins a run and continues it. Damaged checkpoints are passed over,
	// see [Trainer.Damaged].
	Resume bool `yaml:"resume"`
	// WarmStart is a run (its best checkpoint) or a checkpoint (.safetensors) from which a new run takes the
	// networks, scalers and statistics of wrappers, see [agents.WarmStart]. A resumed run ignores it.
	//
	// The models must be those of the checkpoint; the algorithm, the reward and all settings may differ.
	WarmStart string `yaml:"warm_start"`
	// Best is the figure of [Trainer.Metrics] that chooses the best checkpoint. Empty is "evaluation.return" with
	// EvaluationInterval, otherwise "episode.return".
	//
	// A larger figure is better. Choose the task's own measure of success where the reward is shaped. By a figure of
	// evaluations ("evaluation.") the checkpoint is saved at the evaluation, and has the weights that were evaluated;
	// by any other it is chosen among those of CheckpointInterval. A name that no figure has is an error: as soon as
	// figures are known where one is two letters or less from it, otherwise at the end of the run.
	Best string `yaml:"best"`

	// EvaluationInterval is the number of timesteps between evaluations. "auto" is a tenth of the run, 0 is never.
	//
	// A smaller one shows more of the course and takes more time. Training comes to the same, bit for bit, with
	// evaluations and without. They are made as [Trainer.EvaluateMetrics] makes them: in an environment of
	// EvaluationEnv or, without one, in the training environment, which must then be able to restore its state.
	EvaluationInterval agents.Interval `yaml:"evaluation_interval"`
	// EvaluationEpisodes is the least number of episodes of an evaluation, the same number in every environment; 0
	// means 10.
	//
	// More make its figures more certain, and take longer.
	EvaluationEpisodes int `yaml:"evaluation_episodes" config:"min=0"`
	// EvaluationSeed seeds the environment of every evaluation, so that all play the same episodes.
	EvaluationSeed int64 `yaml:"evaluation_seed" config:"min=0"`
	// StopAtReturn ends the run when the mean return of an evaluation reaches it; null never does.
	//
	// It needs EvaluationInterval. Give the return from which on the task counts as solved.
	StopAtReturn *float64 `yaml:"stop_at_return"`
	// StopAtEpisodeReturn ends the run when the mean return of the last 100 training episodes exceeds it after an
	// update; null never does (rl_games: score_to_win).
	//
	// It needs no evaluations, which StopAtReturn compares, and counts episodes of older and of exploring policies.
	StopAtEpisodeReturn *float64 `yaml:"stop_at_episode_return"`

	// VideoInterval is the number of timesteps between films, which are written to videos/step-000010000.gif in the
	// run's folder. "auto" is a tenth of the run, 0 is never, the default.
	//
	// A film shows an episode of the first environment by the mean or the most probable action, in real time if the
	// duration of steps is known ([envs.Timed]), otherwise 25 steps a second. It is played as evaluations are
	// (EvaluationInterval), with EvaluationSeed, by the weights of its timestep. The first film is made before
	// training. A film costs VideoLength steps of all environments, its pictures, all of which are in memory, and, with
	// EvaluationEnv, a new environment. Training comes to the same without films.
	VideoInterval agents.Interval `yaml:"video_interval"`
	// VideoLength is the largest number of steps in a film, which also ends with its episode; 0 means 200.
	VideoLength int `yaml:"video_length" config:"min=0"`

	// Headless and RenderInterval are skrl's and do nothing: gorl opens no window, VideoInterval makes films.
	Headless       bool `yaml:"headless"`
	RenderInterval int  `yaml:"render_interval" config:"min=0"`
	// DisableProgressbar hides the progress bar.
	DisableProgressbar bool `yaml:"disable_progressbar"`
	// CloseEnvironmentAtExit closes the environment with the trainer.
	//
	// Leave it false where several trainers use one environment.
	CloseEnvironmentAtExit bool `yaml:"close_environment_at_exit"`
	// EnvironmentInfo is skrl's and does nothing: all metrics are tracked.
	EnvironmentInfo string `yaml:"environment_info"`
	// StochasticEvaluation samples actions in evaluations instead of taking the mean or mode. Films show the mean or
	// mode in any case.
	//
	// The mean is usually better and repeatable. Sample where the policy must stay random, for instance to mix its
	// choices.
	StochasticEvaluation bool `yaml:"stochastic_evaluation"`
	// Seed seeds the environment at its first reset; a negative one does not.
	//
	// The agent has a seed of its own. The same two seeds on the same machine make the same run.
	Seed int64 `yaml:"seed"`
	// StopTimeout is the time that a step or reset in progress may take after the context is cancelled; 0 means 10
	// seconds.
	//
	// Training ends without saving when it is over ([ErrBlocked]): raise it where one step can take longer.
	StopTimeout time.Duration `yaml:"stop_timeout" config:"min=0"`

	// Progress draws the bars; progress.New of tracking/progress makes one for a terminal.
	Progress tracking.Progress `yaml:"-"`
	// OnWarning gets errors that do not stop training, such as a tracker that cannot be reached; nil logs them with
	// package slog. It may be called by another goroutine than the trainer's, but by one at a time.
	OnWarning func(err error) `yaml:"-"`
	// EvaluationEnv makes an environment for one evaluation, seeded and of as many environments as that which trains;
	// it is closed after it. See [Trainer.EvaluateMetrics].
	//
	// Give it where the training environment cannot restore its state, or where evaluation should see another task,
	// such as one without shaped rewards.
	EvaluationEnv func(numEnvs int, seed int64) (envs.Env, error) `yaml:"-"`
	// Callbacks are called while the trainer trains, in this order; see [Callback], and [StatefulCallback] for those
	// whose state checkpoints keep.
	Callbacks []Callback `yaml:"-"`
}

// DefaultConfig returns skrl's defaults: 100 000 timesteps in "runs", with checkpoints and tracked values, without
// pictures.
func DefaultConfig() Config {
	return Config{Timesteps: 100_000, Directory: "runs", WriteInterval: agents.Interval{Auto: true},
		CheckpointInterval: agents.Interval{Auto: true},
		EvaluationEpisodes: defaultEvaluationEpisodes, VideoLength: defaultVideoLength, Headless: true,
		RenderInterval:         1,
		CloseEnvironmentAtExit: true, StopTimeout: defaultStopTimeout}
}

// Validate returns an error that names the first invalid setting, or the first two that contradict each other.
func (c *Config) Validate() error {
	if err := config.Check(*c, "trainers"); err != nil {
		return err
	}
	if err := cmp.Or(trackers.Check(c.Trackers), durable.CheckName(c.Name),
		durable.CheckName(c.Directory)); err != nil {
		return fmt.Errorf("trainers: %w", err)
	}
	switch {
	case c.Resume && c.Name == "":
		return fmt.Errorf("trainers: \"resume\" needs \"name\", the folder of the run to continue")
	case len(c.Trackers) > 0 && c.WriteInterval == (agents.Interval{}):
		return fmt.Errorf("trainers: \"trackers\" needs \"write_interval\": without one nothing is tracked; give " +
			"\"auto\"")
	case strings.ContainsAny(c.Name, `/\`):
		return fmt.Errorf("trainers: \"name\" is %q; it is one folder's name, the folder it lies in is \"directory\"",
			c.Name)
	case !c.evaluates() && c.StopAtReturn != nil:
		return fmt.Errorf("trainers: \"stop_at_return\" needs \"evaluation_interval\": it is compared with returns " +
			"of evaluations")
	case !c.evaluates() && c.byEvaluation():
		return fmt.Errorf("trainers: \"best\" is %q, a figure of evaluations, which need \"evaluation_interval\"",
			c.Best)
	}
	return nil
}

// complete replaces zero values by defaults. New calls it after Validate. The default of Best depends on
// EvaluationInterval.
func (c *Config) complete() {
	if c.Best == "" && c.evaluates() {
		c.Best = evaluationFigure + "return"
	}
	c.Best = cmp.Or(c.Best, episodeFigure+"return")
	c.EvaluationEpisodes = cmp.Or(c.EvaluationEpisodes, defaultEvaluationEpisodes)
	c.VideoLength = cmp.Or(c.VideoLength, defaultVideoLength)
	c.StopTimeout = cmp.Or(c.StopTimeout, defaultStopTimeout)
}

// defaultEvaluationEpisodes is used if Config.EvaluationEpisodes is 0.
const defaultEvaluationEpisodes = 10

// writes reports whether the run has a folder: a setting names the folder or asks for files in it.
func (c *Config) writes() bool {
	return c.Directory != "" || c.Name != "" || c.WriteInterval != (agents.Interval{}) ||
		c.CheckpointInterval != (agents.Interval{}) || c.films()
}
