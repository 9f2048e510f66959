// Package agents declares what every agent does. The algorithms are in the sub-packages ppo and amp; trainers drive any
// of them, and a training loop of one's own needs nothing but [Agent].
package agents

import (
	"context"
	"fmt"

	"github.com/gorl-dev/gorl/spaces"
)

// Agent acts in N environments at once, records what follows, and learns from it. A training loop needs no more.
// Optional interfaces hold what else an agent can do, such as saving itself or changing its settings; [As] finds
// them.
//
// A step of a training loop is Act, the environment's step, Record, and Update when the agent is Ready. An agent is
// used by one goroutine at a time; two agents may be used by two goroutines at once. PPO and AMP refuse a call that
// overlaps with another call, and every call after Close.
type Agent interface {
	// Name returns the algorithm's name, e.g. "PPO".
	Name() string
	// Spaces returns the spaces that the agent was made for.
	Spaces() spaces.Set
	// SetTraining switches between training (actions are sampled, transitions recorded, updates made) and evaluation
	// (the distribution's mean or mode, nothing recorded), and returns whether the agent was training. A new agent
	// trains. SetTraining(false) begins an evaluation, whose memories are empty. Training keeps its own memories.
	SetTraining(on bool) (was bool)
	// Act returns one row of actions per environment, (N, A). The slice is the agent's and overwritten by the next
	// call.
	Act(in Observation) ([]float32, error)
	// Record stores the transition that followed the last Act. In evaluation it stores nothing: agents with memory (see
	// Recurrent) only learn which episodes have ended, and other agents need no Record.
	Record(t Transition) error
	// Ready reports whether enough is recorded for Update to learn from.
	Ready() bool
	// Update learns from what is recorded. A cancelled context stops it between minibatches with the context's error;
	// Update can then be called again.
	Update(ctx context.Context) error
	// Close releases every tensor the agent holds, and its networks. It may be called twice. If another method is
	// running, Close returns an error and releases nothing.
	Close() error
}

// Observation is what N environments show before they get actions.
type Observation struct {
	// Observations is (N, O), row by row. States is (N, S), or nil if there is no state space.
	Observations, States []float32
	// ActionMasks is (N, K): the choices that are allowed (1) and those that are not (0), see spaces.NewActionMask. It
	// is nil if the agent's spaces have no action mask.
	ActionMasks []float32
	// Active is (N, K): which of the K seats of each environment act, see spaces.SeatStep. It is nil if the agent's
	// spaces have no seats.
	Active []bool
}

// Transition is what N environments returned for the last actions. Record reads the slices and does not keep them.
type Transition struct {
	// Rewards, Terminated and Truncated are (N). An episode is terminated if the task ended it: what follows is worth
	// nothing. It is truncated if something else ended it, such as a time limit.
	Rewards               []float32
	Terminated, Truncated []bool
	// NextObservations is (N, O) and NextStates (N, S): what comes next (after an auto-reset, the new episode's first).
	NextObservations, NextStates []float32
	// FinalObservations and FinalStates hold the finished episodes' last rows, see envs.Step; nil when nothing
	// finished.
	FinalObservations, FinalStates []float32
	// FinalUnknown and Invalid are (N), or nil if no row is set: episodes that ended without their last observation
	// being known, and rows that show no transition to learn from, see envs.Step.
	FinalUnknown, Invalid []bool
	// Idle and NextIdle are (N), or nil if no row is set: rows in which the agent has no turn while the episode goes
	// on, in this step and in the next one. An idle row's action is not learned from. Its reward and its end belong to
	// the row's last action of the episode. PPO learns from steps with turns; AMP and compatibility with skrl refuse
	// them.
	Idle, NextIdle []bool
	// AMPObservations is (N, M) for agents with a discriminator, else nil.
	AMPObservations []float32
	// Seats is what the step brought to each of K seats, (N, K), if the agent's spaces have seats.
	Seats spaces.SeatStep
}

// DivergedError says that training has produced numbers that are not finite. The agent stands as it did before the
// update that produced them.
type DivergedError struct {
	// Agent is the algorithm and Detail what was not finite.
	Agent, Detail string
}

// Error implements error.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("%s diverged: %s; lower the learning rate, limit gradients (grad_norm_clip) or actions "+
		"(clip_actions), or check the environment's observations", e.Agent, e.Detail)
}
