package agents_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// arrays are a case's, by the names that they have in the files of one update.
type arrays map[string]golden.Tensor

// under returns the arrays whose names begin with a prefix, without it, in the order of their names.
func (a arrays) under(prefix string) func(yield func(name string, x golden.Tensor) bool) {
	return func(yield func(string, golden.Tensor) bool) {
		for _, key := range slices.Sorted(maps.Keys(a)) {
			if name, ok := strings.CutPrefix(key, prefix); ok && !yield(name, a[key]) {
				return
			}
		}
	}
}

// numbered returns the arrays kind/0, kind/1, ...
func (a arrays) numbered(kind string) (list []golden.Tensor) {
	for {
		x, ok := a[fmt.Sprintf("%s/%d", kind, len(list))]
		if !ok {
			return list
		}
		list = append(list, x)
	}
}

// goldenCase is an agent, and one or more rollouts and updates that follow each other.
type goldenCase struct {
	// Algorithm is "ppo", "amp", or "ppo_rnn" for PPO with networks that have memory.
	Algorithm string
	// Activation follows the hidden layers of every network. Discrete says that actions are indices of choices.
	Activation string
	Discrete   bool
	// ValueReads is what the value network reads: "states", otherwise observations.
	ValueReads string
	// Config is the agent's configuration, with compatibility set.
	Config map[string]any
	// Init has the state before the first rollout: init/NAME by the names of a snapshot, and for networks with memory
	// their states init/rnn_NETWORK_PART, (layers, N, H).
	Init    arrays
	Updates []goldenUpdate
	// Ranks is how many ranks train the agent, and Group is this one's part.
	Ranks int
	Group *distributed.Group
	// Recurrent is the stack of recurrent layers of policy and value network, where they have memory.
	Recurrent models.RecurrentLayer
	// WarmSteps is how many steps the agent has made before. Repaired says that skrl's mistakes about memories are not
	// in the numbers.
	WarmSteps int
	Repaired  bool

	steps, envs int // T and N
	spaces      spaces.Set
}

// goldenUpdate is a rollout and what one update makes of it. Its arrays are:
//   - rollout/NAME, (T, N, ·): what is given, and log_prob and values, which acting must compute. The states
//     rnn_NETWORK_PART in rollout and memory show in log_prob and values, and are not compared;
//   - memory/NAME: what recording stores;
//   - expect/TARGET: what the losses are computed from; expect/NAME: the state after the update by the names of a
//     snapshot; expect/optimizer/I/MOMENT: the optimizer's, by parameter in its order;
//   - motion_batches/I and replay_batches/I: the discriminator's rows, one array a minibatch; without the latter the
//     replay buffer is empty;
//   - minibatch_rows/I: the rows t·N + e of every minibatch of all epochs, where known.
type goldenUpdate struct {
	arrays
	// Tracked are the tracked values, LearningRate the rate after the update.
	Tracked      map[string]float64
	LearningRate float64
	// GradNorm is the mean of the gradient's norms before they were clipped, and Loss that of the total losses, where
	// known.
	GradNorm, Loss float64
}

// widths returns the widths of a network's input, hidden layers and output.
func (c *goldenCase) widths(network string) (out []int) {
	for i := 0; ; i += 2 {
		w, ok := c.Init[fmt.Sprintf("init/%s/net.%d.weight", network, i)]
		if !ok || len(w.Shape) != 2 {
			return out
		}
		if i == 0 {
			out = append(out, w.Shape[1])
		}
		out = append(out, w.Shape[0])
	}
}

// finish takes sizes from the arrays.
func (c *goldenCase) finish(t *testing.T) {
	t.Helper()
	check.Not(t, len(c.Updates) == 0, "a case without updates")
	for _, u := range c.Updates {
		shape := u.arrays["rollout/observations"].Shape
		c.steps, c.envs = shape[0], shape[1]
		c.spaces.Observation = spaces.Unbounded(shape[2])
		if amp, ok := u.arrays["rollout/amp_observations"]; ok {
			c.spaces.AMPObservation = spaces.Unbounded(amp.Shape[2])
		}
	}
	actions := c.widths("policy")
	c.spaces.Action = spaces.Unbounded(actions[len(actions)-1])
	if c.Discrete {
		c.spaces.Action = spaces.NewDiscrete(actions[len(actions)-1])
	}
	if state, ok := c.Updates[0].arrays["rollout/states"]; ok {
		c.spaces.State = spaces.Unbounded(state.Shape[2])
	}
	c.Config["rollouts"] = c.steps
}

// states returns the states of a network with memory as rows of a snapshot, (N, values of a state), at step t of
// arrays kind%d, one for each part of a state: h, and for an LSTM c. They are (layers, N, H), or (T, N, layers, H).
func (c *goldenCase) states(from arrays, kind string, t int) (rows []float32) {
	n, k, h := c.envs, c.Recurrent.Layers, c.Recurrent.HiddenSize
	for env := range n {
		for part := range 2 {
			x, ok := from[fmt.Sprintf("%s_%d", kind, part)]
			for layer := 0; ok && layer < k; layer++ {
				at := (layer*n + env) * h
				if len(x.Shape) == 4 {
					at = ((t*n+env)*k + layer) * h
				}
				for _, v := range x.Data[at : at+h] {
					rows = append(rows, float32(v))
				}
			}
		}
	}
	return rows
}
