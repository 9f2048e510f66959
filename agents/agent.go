// Package agents declares what every agent does. The algorithms are in the sub-packages ppo and amp.
package agents

import (
	"context"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// Agent acts, remembers what came of it, and learns. Agents are used by one goroutine at a time; two
// agents may be used by two goroutines at once.
type Agent interface {
	// Name is the algorithm's name, e.g. "PPO".
	Name() string
	// Spaces are those the agent was constructed for.
	Spaces() spaces.Set
	// NumEnvs is the number of rows that Act and Record expect; 0 until it is known.
	NumEnvs() int
	// Bind fixes the number of environments where the agent's construction left it open. A trainer does it.
	Bind(numEnvs int) error
	// SetTraining switches between training (actions are sampled, transitions recorded, updates made) and
	// evaluation (the distribution's mean or mode, nothing recorded). A new agent trains.
	SetTraining(on bool)
	// Training reports the mode.
	Training() bool
	// Act returns one row of actions per environment, (N, A). The slice is the agent's and overwritten by the next call.
	Act(in Observation) ([]float32, error)
	// Record stores the transition that followed the last Act. In evaluation it does nothing.
	Record(t Transition) error
	// Ready reports whether a rollout is complete, so that Update has something to learn from.
	Ready() bool
	// Update learns from the rollout. A cancelled context stops it between minibatches with the context's error.
	Update(ctx context.Context) error
	// Tracked calls f for every value tracked since the last call (losses, learning rate, ...), by tag in
	// sorted order, and forgets them.
	Tracked(f func(tag string, value float64))
	// Hyperparameters are the settings that may change while training, by their configuration keys.
	Hyperparameters() map[string]float64
	// SetHyperparameters changes some of them, all or (on error) none.
	SetHyperparameters(values map[string]float64) error
	// Snapshot returns everything needed to continue training from here; Restore puts it back, all or
	// (on error) nothing. The snapshot does not share memory with the agent.
	Snapshot(opt SnapshotOptions) (*checkpoint.Snapshot, error)
	Restore(snap *checkpoint.Snapshot) error
	// Reseed starts all of the agent's random sequences anew, as a copy of another agent needs.
	Reseed(seed int64) error
	// Close releases every tensor the agent holds. It may be called twice.
	Close() error
}

// Evolvable is implemented by agents that can say what architectures their networks have. [Agent.Snapshot] records them.
type Evolvable interface {
	// Architectures returns them by the networks' names, which are the prefixes of their parameters in snapshots:
	// "policy", "value", "discriminator", "style_value". Networks without one (models.Shaped) are left out.
	Architectures() map[string]models.Architecture
}

// Observation is what N environments show before an action.
type Observation struct {
	// Observations is (N, O), States (N, S) or nil where there is no state space.
	Observations, States []float32
}

// Transition is what N environments returned for the last actions. The slices are only read, and not kept.
type Transition struct {
	// Rewards, Terminated and Truncated are (N).
	Rewards               []float32
	Terminated, Truncated []bool
	// NextObservations is (N, O) and NextStates (N, S): what comes next (after an auto-reset, the new episode's first).
	NextObservations, NextStates []float32
	// FinalObservations and FinalStates hold the finished episodes' last rows, see envs.Step; nil when nothing finished.
	FinalObservations, FinalStates []float32
	// AMPObservations is (N, M) for agents with a discriminator, else nil.
	AMPObservations []float32
}

// SnapshotOptions says what a snapshot contains beside parameters, optimizer, scalers, schedule, counters and
// random states.
type SnapshotOptions struct {
	// Buffers adds rollout and replay memories, so that training continues bit for bit.
	Buffers bool
}
