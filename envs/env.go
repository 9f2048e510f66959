// Package envs declares what an environment is.
//
// An [Env] is a batch of N environments that step together. It owns its buffers: the next call overwrites what Reset
// and Step return, so a caller that keeps something copies it. Rows are float32, contiguous, environment-major: row i
// of an (N, W) batch is s[i*W : (i+1)*W].
//
// Environments that end are reset at once (auto-reset in the same step). Observations then holds the first
// observation of the next episode, and FinalObservations the last one of the finished episode, which time-limit
// bootstrapping needs. Simulators that step as a batch may not keep that last observation, or may take a step of
// their own to reset; [Step] has a flag per row for each.
package envs

import (
	"image"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/spaces"
)

// Env is a vectorised environment. One goroutine at a time may use it. An implementation may use goroutines or
// processes of its own.
type Env interface {
	// NumEnvs is the number of environments in the batch, N.
	NumEnvs() int
	// Spaces describes one environment of the batch.
	Spaces() spaces.Set
	// Reset starts a new episode in every environment. With seed ≥ 0 all randomness is seeded first (environment i
	// from seed and i). With a negative seed the random numbers continue.
	Reset(seed int64) (*Step, error)
	// Step applies one row of actions (N, A) to every environment.
	Step(actions []float32) (*Step, error)
	// Close releases what the environment holds. It may be called twice.
	Close() error
}

// Step is what N environments returned. After Reset only Observations, States, ActionMasks and Seats.Active are set.
type Step struct {
	// Observations is (N, O): what to act on next (after an auto-reset, the new episode's first).
	Observations []float32
	// States is (N, S): the privileged states that go with Observations, nil if the state space is None.
	States []float32
	// ActionMasks is (N, K): which choices are allowed as the next action (1) and which are not (0), see
	// [spaces.NewActionMask]. It is nil if the action mask space is None.
	ActionMasks []float32
	// Rewards is (N): what agents learn from.
	Rewards []float32
	// RawRewards is (N): the environment's own rewards, if a wrapper has changed Rewards; otherwise nil.
	RawRewards []float32
	// Terminated and Truncated are (N). Terminated: the task ended the episode. Truncated: it was cut, for instance
	// by a time limit.
	Terminated, Truncated []bool
	// FinalObservations is (N, O) and FinalStates (N, S). A row of an environment that has just terminated or been
	// truncated holds the finished episode's last observation. Other rows are undefined. Both are nil if no episode
	// ended.
	FinalObservations, FinalStates []float32
	// FinalUnknown is (N), or nil if every final observation is known. A row that is set belongs to an episode whose
	// last observation was not kept, by a simulator that resets within its step. Its rows of FinalObservations and
	// FinalStates are undefined. If such an episode was truncated, agents bootstrap from the value of the observation
	// that the last action was chosen for.
	FinalUnknown []bool
	// Invalid is (N), or nil if all transitions are valid. A row that is set shows no transition, and agents do not
	// learn from it. There are two cases. In the first, a simulator with next-step autoreset has reset and ignored
	// the action: the row belongs to no episode, its reward is 0, and it has no end. In the second, the AMP
	// observation of an episode's last step is unknown: the row ends its episode as usual.
	Invalid []bool
	// AMPObservations is (N, M): what the discriminator sees of this transition (before any reset). It is nil if the
	// AMP observation space is None.
	AMPObservations []float32
	// Episodes lists every episode that ended in this step, in order of Env. Reported returns and evaluations count
	// these entries.
	Episodes []Episode
	// Metrics are numbers about the whole batch at this step, by name ("walker/speed"). May be nil.
	Metrics map[string]float64
	// Seats is what the step brought to each seat of an environment with several agents (spaces.Set.Seats). Rewards
	// are then sums over the seats, and Terminated and Truncated are of the environment's episode, which ends when no
	// seat can act any more. The last observation of a seat that ends earlier is in Observations.
	Seats spaces.SeatStep
}

// Raw returns the environment's own rewards, (N), whatever wrappers have made of them.
func (s *Step) Raw() []float32 {
	if s.RawRewards != nil {
		return s.RawRewards
	}
	return s.Rewards
}

// Ended reports whether the episode of environment i ended with this step.
func (s *Step) Ended(i int) bool { return s.Terminated[i] || s.Truncated[i] }

// FinalKnown reports whether the episode of environment i ended with this step and its row of FinalObservations is its
// last observation.
func (s *Step) FinalKnown(i int) bool {
	return s.Ended(i) && (s.FinalUnknown == nil || !s.FinalUnknown[i])
}

// ResetOnly reports whether environment i did nothing but reset in this step. Its row then belongs to no episode.
func (s *Step) ResetOnly(i int) bool { return s.Invalid != nil && s.Invalid[i] && !s.Ended(i) }

// Episode is one finished episode.
type Episode struct {
	// Env is the environment's index in the batch.
	Env int
	// Return is the undiscounted sum of the environment's own rewards, whatever wrappers make of them. Length is the
	// number of steps.
	Return float64
	Length int
	// Metrics are the task's own figures for the episode ("success", "distance"). May be nil.
	Metrics map[string]float64
}

// MotionSource is implemented by environments (and clip libraries) that can show how a motion should look.
type MotionSource interface {
	// CollectReferenceMotions returns n rows of reference AMP observations, n × M values, drawn with rng.
	CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error)
}

// OverlappingMotionSource is implemented by environments (and clip libraries) that can show pairs of overlapping
// windows of a motion.
type OverlappingMotionSource interface {
	// CollectOverlappingMotions returns n pairs of rows of reference AMP observations, n × 2M values, drawn with rng.
	// The first of a pair is drawn as by CollectReferenceMotions. The second begins a few steps later, within the
	// first.
	CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error)
}

// Renderer is implemented by environments that can draw themselves.
type Renderer interface {
	// Render returns a picture of environment i as it stands now.
	Render(i int) (image.Image, error)
}

// Stateful is implemented by environments whose whole state can be saved and restored, so that a
// resumed run continues exactly. MarshalState returns bytes that RestoreState of an identically
// configured environment accepts.
type Stateful interface {
	MarshalState() ([]byte, error)
	RestoreState([]byte) error
}

// Single is one environment, for wrappers that run many of them as a batch. Implementations write into
// the given rows and allocate nothing.
type Single interface {
	// Spaces must return the same spaces at every call.
	Spaces() spaces.Set
	// Reset starts a new episode with the generator given and writes the first observation (and state).
	Reset(rng *rand.Rand, out Row) error
	// Step applies action, writes into out, and returns the reward and how the episode stands.
	Step(action []float32, out Row) (reward float64, terminated, truncated bool, err error)
	// Close releases what the environment holds.
	Close() error
}

// Row is where a Single writes: slices into the batch. A slice is nil if its space is None.
type Row struct {
	// The widths are those of the spaces: O, S, M and K. Reset and Step write every value of Observation, State and
	// ActionMask; Step also writes AMPObservation.
	Observation, State, AMPObservation, ActionMask []float32
	// Seats is for environments with several agents. Reset writes its Active; Step writes all of it, and returns the
	// sum of the seats' rewards.
	Seats spaces.SeatStep
}

// Metered is implemented by a Single that reports figures of its own when an episode ends. The map is
// copied by the caller.
type Metered interface {
	EpisodeMetrics() map[string]float64
}
