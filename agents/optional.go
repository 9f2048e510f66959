package agents

import (
	"context"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/models/description"
)

// As returns the first agent in a chain of wrappers that implements T, one of the optional interfaces below or a
// concrete type. The chain is agent itself and what Unwrap() [Agent] methods lead to, outermost first.
func As[T any](agent Agent) (T, bool) {
	for agent != nil {
		if t, ok := agent.(T); ok {
			return t, true
		}
		u, ok := agent.(interface{ Unwrap() Agent })
		if !ok {
			break
		}
		agent = u.Unwrap()
	}
	var none T
	return none, false
}

// Binder is implemented by agents that must know the number of environments in advance, for instance to allocate their
// memory. Trainers bind the agent to their environment; without a Binder they leave it to the first Act.
type Binder interface {
	// NumEnvs is the number of rows that Act and Record expect; 0 until it is known.
	NumEnvs() int
	// Bind fixes the number of environments. A second call with the same number does nothing; another number is an
	// error.
	Bind(numEnvs int) error
}

// Tracker is implemented by agents that have figures to show: losses, learning rates and so on. Trainers write them.
type Tracker interface {
	// Tracked calls f for every value tracked since the last call, by tag in sorted order, and forgets them.
	Tracked(f func(tag string, value float64))
}

// Noter is implemented by agents that report data that harms learning, such as one observation of 1e8 among values
// around 1. Trainers pass the notes to their OnWarning and list them in Notes.
type Noter interface {
	// Noted calls f for every note since the last call, and forgets them.
	Noted(f func(note string))
}

// Tunable is implemented by agents with settings that may change while training. A population tunes them.
type Tunable interface {
	// Hyperparameters returns these settings by their configuration keys.
	Hyperparameters() map[string]float64
	// SetHyperparameters changes some of them, all or (on error) none.
	SetHyperparameters(values map[string]float64) error
}

// Planner is implemented by agents with settings that depend on the length of the run, such as a learning-rate schedule
// with total_iters: auto. Trainers call it before training; a training loop of one's own calls it once.
type Planner interface {
	// Plan says how many timesteps the run has in all, those before a resumed checkpoint included. It may be called
	// again when the run becomes longer. The notes list conflicts of the settings with this length for the user: the
	// run has no update, or the learning rate is 0 for the rest of the run.
	Plan(timesteps int) (notes []string)
}

// Snapshotter is implemented by agents that can be saved. Checkpoints and populations need it.
type Snapshotter interface {
	// Snapshot returns everything needed to continue training from here. It does not share memory with the agent.
	Snapshot(opt SnapshotOptions) (*checkpoint.Snapshot, error)
	// Restore puts a snapshot back, all or (on error) nothing.
	Restore(snap *checkpoint.Snapshot) error
}

// SnapshotOptions selects what a snapshot contains in addition to parameters, optimizer, scalers, schedule, counters
// and random states.
type SnapshotOptions struct {
	// Buffers adds rollout and replay memories, and the states of networks with memory, so that training continues
	// bit for bit. Snapshots are larger then. After a snapshot without them the states of the networks start from zero.
	Buffers bool
}

// Reseeder is implemented by agents with random sequences of their own.
type Reseeder interface {
	// Reseed restarts all of the agent's random sequences from seed. A copy of another agent needs it: otherwise both
	// draw the same numbers.
	Reseed(seed int64) error
}

// Stochastic is implemented by agents that can sample actions in evaluation too.
type Stochastic interface {
	// SetStochastic makes Act sample in evaluation (true), or take the distribution's mean or mode (false, the
	// default). Samples must not change the random numbers of training.
	SetStochastic(on bool)
}

// Evolvable is implemented by agents that can say what architectures their networks have. Snapshots record them, and
// package pbt/evolution changes them.
type Evolvable interface {
	// Architectures returns them by the networks' names, which are the prefixes of their parameters in snapshots:
	// "policy", "value", "discriminator", "style_value". Networks without one are left out.
	Architectures() map[string]description.Architecture
}

// Recurrent is implemented by agents that depend on what they saw before: their networks have memory
// (models.Recurrent), or they estimate advantages over several steps. The agent keeps a state for each environment,
// and resets it if Record says that the episode ended.
type Recurrent interface {
	// HiddenSizes are the widths of the networks' states, by the networks' names ("policy", "value", "style_value").
	// It is empty if no network has memory.
	HiddenSizes() map[string]int
	// ResetHidden says that environments were reset between the last Record and the next Act: those of the given
	// indices, below NumEnvs, or all if none is given. Call it after every Reset but the first, and after an
	// environment's state was replaced.
	//
	// The networks' states start from zero. In training the step recorded last counts as truncated unless its episode
	// ended, so that no advantage is estimated across the reset. The observation that followed that step is not known;
	// the value of the observation before it is used instead. Training and evaluation have states of their own:
	// ResetHidden changes those of the present mode.
	ResetHidden(environments ...int)
}

// Terminator is implemented by agents that may end episodes in training, because what an environment shows has become
// worthless to learn from. Trainers hand what it says to the environment (envs.Terminator) before every step of
// training; a training loop of one's own does the same.
type Terminator interface {
	// Terminates reports whether the agent's settings ask for it, so that the environment must be able to.
	Terminates() bool
	// Terminations says, (N), which environments' episodes the next step is to terminate, as the last Record came to;
	// nil if there are none, and in evaluation. The slice is the agent's and overwritten by the next call. What the
	// agent counts for it starts from 0 at the end of an episode and with ResetHidden.
	Terminations() []bool
}

// Overlapping is implemented by agents whose updates may go on after Update has returned (OnPolicy.Overlap). Whatever
// reads or changes what is learned waits for an update in progress by itself: Snapshot, Restore, SetHyperparameters, an
// evaluation. Trainers call Wait if a run ends.
type Overlapping interface {
	// Wait returns when no update is in progress. Its error is that of the update, which has been undone then; the next
	// Wait or Update makes it again. A cancelled context ends the waiting, and not the update.
	Wait(ctx context.Context) error
}

// Distributed is implemented by agents that several processes may train together. Trainers ask it who else trains.
type Distributed interface {
	// Ranks returns this process's part, nil if it is alone.
	Ranks() *distributed.Group
}

// Composite is implemented by agents that consist of several, each with environments of its own. Trainers then report
// episodes by agent, too.
type Composite interface {
	// AgentOf returns the index of the agent that acts in environment env of the batch.
	AgentOf(env int) int
}
