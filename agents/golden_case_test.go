package agents_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/test/golden"
	"github.com/gorl-dev/gorl/models"
)

// goldenCase is an agent, and one or more rollouts and updates that follow each other.
type goldenCase struct {
	// Name is the file's, Algorithm "ppo", "amp", or "ppo_rnn" for PPO with networks that have memory.
	Name, Algorithm string
	// Steps is T, Envs N; the others are widths of rows.
	Steps, Envs                                     int
	ObservationSize, ActionSize, AMPObservationSize int
	// Discrete says that actions are the indices of ActionSize choices.
	Discrete bool
	// Activation follows the hidden layers of every network.
	Activation string
	// Config is the agent's configuration, with compatibility set.
	Config map[string]any
	// Init is the state before the first rollout, by the names of a snapshot: policy/net.0.weight,
	// value_preprocessor/running_mean, ...
	Init map[string]golden.Tensor
	// Updates follow each other.
	Updates []goldenUpdate
	// Ranks is how many ranks train the agent, 1 where there is one, and Group is this one's part.
	Ranks int
	Group *distributed.Group

	// Recurrent is the stack of recurrent layers of policy and value network, where they have memory.
	Recurrent models.RecurrentLayer
	// WarmSteps is how many steps the agent has made before, Repaired says that skrl's mistakes about memories are
	// not in the numbers.
	WarmSteps int
	Repaired  bool
	// Hidden has the states before the rollout, (layers, N, H) each: policy_0, and for an LSTM policy_1; value_0 ...
	Hidden map[string]golden.Tensor
}

// goldenUpdate is a rollout and what one update makes of it.
type goldenUpdate struct {
	// Rollout has observations, actions, next_observations, terminated, truncated, rewards_env and amp_observations,
	// which are given, and log_prob and values, which acting must compute; all (T, N, ·).
	Rollout map[string]golden.Tensor
	// Memory has the rewards and, for AMP, next_values as they are stored, (T, N, 1).
	Memory map[string]golden.Tensor
	// Targets has combined_rewards, gae_next_values or last_values, advantages and either returns (before value
	// scaling) or scaled_returns and scaled_values.
	Targets map[string]golden.Tensor
	// State is that after the update, by the names of a snapshot; Moments are the optimizer's exp_avg and exp_avg_sq,
	// by parameter in optimizer order.
	State   map[string]golden.Tensor
	Moments []map[string]golden.Tensor
	// Tracked are the tracked values, LearningRate the rate after the update.
	Tracked      map[string]float64
	LearningRate float64
	// MotionBatches and ReplayBatches are the discriminator's rows, one tensor a minibatch. Without ReplayBatches the
	// replay buffer is empty.
	MotionBatches, ReplayBatches []golden.Tensor
	// Before, Stored and After are the states of networks with memory, by the names of goldenCase.Hidden: before each
	// step (T, N, layers, H), where the update began its sequences (the same shape), and after the last step (layers,
	// N, H).
	Before, Stored, After map[string]golden.Tensor
	// MinibatchRows are the rows t·N + e of every minibatch, where known, through all Epochs where each epoch shuffles
	// them.
	MinibatchRows []golden.Tensor
	Epochs        int
	// Trace has what single optimizer steps computed, where known.
	Trace []goldenStep
}

// goldenStep is an optimizer step.
type goldenStep struct {
	ValueMSE  float64   `json:"value_mse"`
	TotalLoss float64   `json:"total_loss"`
	BCE       []float64 `json:"bce"`
	GradNorm  *float64  `json:"grad_norm_before_clip"`
}

// layers returns the widths of a network's input, hidden layers and output.
func (c *goldenCase) layers(network string) (inputs int, hidden []int, outputs int, err error) {
	var out []int
	for i := 0; ; i += 2 {
		w, ok := c.Init[fmt.Sprintf("%s/net.%d.weight", network, i)]
		if !ok {
			break
		}
		if len(w.Shape) != 2 {
			return 0, nil, 0, fmt.Errorf("golden: %s: %s layer %d has shape %v", c.Name, network, i, w.Shape)
		}
		if i == 0 {
			inputs = w.Shape[1]
		}
		out = append(out, w.Shape[0])
	}
	if len(out) == 0 {
		return 0, nil, 0, fmt.Errorf("golden: %s: there is no network %q", c.Name, network)
	}
	return inputs, out[:len(out)-1], out[len(out)-1], nil
}

// check says what is missing or of the wrong size.
func (c *goldenCase) check() error {
	if !slices.Contains([]string{"ppo", "ppo_rnn", "amp"}, c.Algorithm) {
		return fmt.Errorf("algorithm %q: want ppo, ppo_rnn or amp", c.Algorithm)
	}
	if c.Steps <= 0 || c.Envs <= 0 || c.ObservationSize <= 0 || c.ActionSize <= 0 || len(c.Updates) == 0 {
		return fmt.Errorf("sizes T %d, N %d, observations %d, actions %d, %d updates: all must be positive", c.Steps,
			c.Envs, c.ObservationSize, c.ActionSize, len(c.Updates))
	}
	actions := c.ActionSize
	if c.Discrete {
		actions = 1
	}
	want := map[string]int{"observations": c.ObservationSize, "next_observations": c.ObservationSize,
		"actions":    actions,
		"terminated": 1, "truncated": 1, "rewards_env": 1, "log_prob": 1, "values": 1}
	if c.Algorithm == "amp" {
		want["amp_observations"] = c.AMPObservationSize
	}
	for i, u := range c.Updates {
		for name, width := range want {
			if x, ok := u.Rollout[name]; !ok || len(x.Data) != c.Steps*c.Envs*width {
				return fmt.Errorf("update %d: rollout %s has %d values, want %d × %d × %d", i, name, len(x.Data),
					c.Steps, c.Envs, width)
			}
		}
		if len(u.State) == 0 {
			return fmt.Errorf("update %d: there is nothing to expect", i)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
