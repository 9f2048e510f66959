package agents_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// suite is what every agent must hold, whatever the algorithm, its networks and its spaces.
type suite struct {
	name     string
	spaces   spaces.Set
	settings map[string]any // over those of quick updates
	// ppo or amp gives the models; the one that is set says which agent it is.
	ppo func(spaces.Set) ppo.Models
	amp func(spaces.Set) amp.Models
}

// conformance lists agents for continuous actions, with privileged states, and for choices, with every kind of
// discriminator, and with networks that can be evolved.
func conformance() []suite {
	four, parts := spaces.Unbounded(4), map[string]spaces.Space{"goal": spaces.Unbounded(2),
		"joints": spaces.Unbounded(3)}
	one, two := spaces.NewBox(-2, 2, 1), spaces.NewBox(-2, 2, 2)
	plain := spaces.Set{Observation: four, Action: two, AMPObservation: spaces.Unbounded(3)}
	states := spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(5), Action: one}
	choices := spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(5), Action: spaces.NewDiscrete(3),
		AMPObservation: spaces.Unbounded(2)}
	masked := spaces.Set{Observation: four, Action: spaces.NewMultiDiscrete(3, 2)}
	masked.ActionMask = spaces.NewActionMask(masked.Action)
	maskedChoices := choices
	maskedChoices.ActionMask = spaces.NewActionMask(choices.Action)
	parted := description.Architecture{ // the fast gradient penalty cannot read it
		Parts:  []description.Part{{Name: "left", Width: 1}, {Name: "right", Width: 2}},
		Latent: 3, Head: description.Stack{Hidden: []int{6}}, Activation: "tanh",
	}
	half := map[string]any{"mixed_precision": true}
	if tensor.BFloat16.Supported(tensor.CPU) != nil {
		half = nil // the same agents in float32
	}
	// Of pictures the policy sees one of bytes and joints beside it, the value another, and the discriminator a third.
	camera := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(5, 6, 2),
		"joints": spaces.Unbounded(2), "mode": spaces.Unbounded(1)})
	seen := spaces.Set{Observation: camera, State: spaces.NewTuple(spaces.Unbounded(3), spaces.NewPicture(6, 4, 1)),
		Action: two}
	watched := spaces.Set{Observation: spaces.NewPicture(5, 6, 3), Action: two,
		AMPObservation: spaces.NewDict(map[string]spaces.Space{"body": spaces.Unbounded(2),
			"film": spaces.NewPicture(4, 4, 1)})}
	// What rl_games' recipes ask for, all at once.
	rlGames := map[string]any{"mini_batch_size": 8, "mini_batch_order": "environments", "bounds_loss_scale": 0.1,
		"bounds_loss_limit":              0.1,
		"learning_rate_scheduler":        "KLAdaptiveLR",
		"learning_rate_scheduler_kwargs": map[string]any{"step": "minibatch", "divergence": "gaussian"}}
	overlap := map[string]any{"overlap": true}
	return []suite{
		{name: "PPO/overlap", ppo: ppoMLPs, spaces: states, settings: overlap},
		{name: "PPO/overlap/pictures", ppo: ppoCNNs, spaces: seen, settings: overlap},
		{name: "PPO/overlap/rl_games", ppo: ppoMLPs, spaces: states, settings: both(overlap, rlGames)},
		{name: "AMP/overlap", amp: ampMLPs, spaces: maskedChoices, settings: both(overlap,
			map[string]any{"discriminator_optimizer": "separate"})},
		{name: "AMP/overlap/lstm", amp: ampRecurrent, spaces: plain, settings: both(overlap,
			map[string]any{"sequence_length": 4,
				"separate_critics": true})},
		{name: "AMP/mixed precision", amp: ampMLPs, spaces: plain, settings: half},
		{name: "AMP/mixed precision/pictures", amp: ampCNNs, spaces: watched, settings: half},
		{name: "PPO/mixed precision/GRU", ppo: ppoRecurrent, spaces: states, settings: half},
		{name: "PPO/pictures", ppo: ppoCNNs, spaces: seen,
			settings: map[string]any{"state_preprocessor": "RunningStandardScaler"}},
		{name: "AMP/pictures", amp: ampCNNs, spaces: watched, settings: map[string]any{
			"discriminator_gradient_penalty_samples": "both", "observation_preprocessor": nil,
			"separate_critics": true}},
		{name: "PPO/rl_games", ppo: ppoMLPs, spaces: states, settings: rlGames},
		{name: "AMP/rl_games", amp: ampMLPs, spaces: plain, settings: rlGames},
		{name: "PPO/box", ppo: ppoMLPs, spaces: spaces.Set{Observation: four, Action: two}},
		{name: "PPO/multi-discrete", ppo: ppoMLPs, spaces: spaces.Set{Observation: four,
			Action: spaces.NewMultiDiscrete(3, 2)}},
		{name: "PPO/masks/overlap/lstm/shared", ppo: ppoSharedLSTM, spaces: masked, settings: overlap},
		{name: "PPO/evolvable", ppo: ppoEvolvable, spaces: spaces.Set{Observation: spaces.NewDict(parts), Action: two}},
		{name: "PPO/gru", ppo: ppoRecurrent, spaces: states, settings: map[string]any{"sequence_length": 4}},
		{name: "PPO/lstm/shared", ppo: ppoSharedLSTM, spaces: spaces.Set{Observation: four,
			Action: spaces.NewDiscrete(3)}},
		{name: "AMP/lstm", amp: ampRecurrent, spaces: plain, settings: map[string]any{"sequence_length": 4,
			"separate_critics": true}},
		{name: "AMP/frames", amp: ampFrames, spaces: plain,
			settings: map[string]any{"discriminator_loss": "wasserstein"}},
		{name: "AMP/lsgan", amp: ampMLPs, spaces: choices, settings: map[string]any{
			"discriminator_loss": "lsgan", "discriminator_optimizer": "separate",
			"discriminator_gradient_penalty_samples": "both", "termination_style_reward": 0.5, "termination_steps": 2,
		}},
		{name: "AMP/critic", amp: ampMLPs, spaces: plain, settings: map[string]any{
			"discriminator_loss": "wasserstein", "separate_critics": true,
			"discriminator_gradient_penalty_samples": "interpolated", "replay_admission_probability": 0.3,
		}},
		{name: "AMP/differential/overlap", amp: ampMLPs, spaces: plain, settings: both(overlap, map[string]any{
			"discriminator_mode": "differential", "amp_observation_preprocessor": "RunningMeanAbsScaler"})},
		{name: "AMP/skills", amp: ampSkills, spaces: plain, settings: map[string]any{"latent_size": 2,
			"discriminator_masked_features": "1"}},
		{name: "AMP/skills/overlap", amp: ampSkills, spaces: plain, settings: both(overlap,
			map[string]any{"latent_size": 2})},
		{name: "AMP/evolvable", amp: ampEvolvable(parted), spaces: plain},
	}
}

// both are two groups of settings together.
func both(a, b map[string]any) map[string]any {
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

// overlaps reports whether settings have agents act while they learn.
func overlaps(settings map[string]any) bool { return settings["overlap"] == true }

func ppoMLPs(sp spaces.Set) ppo.Models { return ppo.MLPs(sp, []int{8}, "tanh") }
func ampMLPs(sp spaces.Set) amp.Models { return amp.MLPs(sp, []int{8}, "tanh") }
func ampSkills(sp spaces.Set) amp.Models {
	return amp.WithEncoder(ampMLPs(sp), 2)
}

// cnn is a small convolutional network.
var cnn = models.CNNConfig{Convolutions: []description.Convolution{{Channels: 3, Kernel: 3, Padding: 1}, {Channels: 2,
	Kernel: 2, Stride: 2}},
	Features: 6, Hidden: []int{8}, Activation: "tanh"}

func ppoCNNs(sp spaces.Set) ppo.Models { return ppo.CNNs(sp, cnn) }
func ampCNNs(sp spaces.Set) amp.Models { return amp.CNNs(sp, cnn) }

func ppoRecurrent(sp spaces.Set) ppo.Models {
	return ppo.Recurrent(sp, models.GRU(5), []int{8}, "tanh")
}
func ampRecurrent(sp spaces.Set) amp.Models {
	return amp.Recurrent(sp, models.LSTM(4, 2), []int{8}, "tanh")
}

// ppoSharedLSTM has a policy and a value network on one LSTM.
func ppoSharedLSTM(sp spaces.Set) ppo.Models {
	return ppo.Models{Make: func(seed int64) (models.Policy, models.Network, error) {
		net := func(cfg models.MLPConfig) *models.Net {
			m, err := models.NewMLP(cfg, seed)
			if err != nil {
				panic(err)
			}
			return m
		}
		dist, err := models.NewDistribution(sp.Action, models.DefaultGaussianConfig())
		if err != nil {
			return nil, nil, err
		}
		trunk := net(models.MLPConfig{Inputs: sp.Observation.Width(), Outputs: 6, Recurrent: models.LSTM(4),
			OutputActivation: "tanh"})
		shared, err := models.NewShared(trunk, net(models.MLPConfig{Inputs: 6, Outputs: dist.Outputs()}),
			net(models.MLPConfig{Inputs: 6, Outputs: 1}), dist)
		if err != nil {
			return nil, nil, err
		}
		return shared.Policy(), shared.Value(), nil
	}}
}

// ampFrames has a recurrent value network beside a policy without memory, and a discriminator that reads the three
// values of a row one after the other.
func ampFrames(sp spaces.Set) amp.Models {
	return amp.Models{Make: func(seed int64) (m amp.Models, err error) {
		if m.Policy, m.Value, err = models.ActorCritic(sp, []int{8}, "tanh", amp.DefaultGaussian(), seed); err != nil {
			return m, err
		}
		m.Value.Close()
		if m.Value, err = models.RecurrentValue(sp, models.RNN(4), []int{8}, "tanh", seed); err != nil {
			return m, err
		}
		m.Discriminator, err = models.NewMLP(models.MLPConfig{Inputs: 3, Outputs: 1,
			Recurrent: models.GRU(4).OfFrames(3), Hidden: []int{8}, Activation: "tanh"}, seed)
		return m, err
	}}
}

func ppoEvolvable(sp spaces.Set) ppo.Models {
	policy := architecture(sp.Observation, []int{6}, 4, []int{8}, "tanh")
	value := architecture(sp.Observation, nil, 4, nil, "tanh")
	return ppo.Evolvable(sp, policy, value, models.DefaultGaussianConfig())
}

func ampEvolvable(discriminator description.Architecture) func(spaces.Set) amp.Models {
	return func(sp spaces.Set) amp.Models {
		policy := architecture(sp.Observation, []int{6}, 4, []int{8}, "elu")
		value := architecture(sp.Observation, nil, 0, []int{8}, "elu")
		return amp.Evolvable(sp, policy, value, discriminator, amp.DefaultGaussian())
	}
}

func architecture(s spaces.Space, encoder []int, latent int, head []int, activation string) description.Architecture {
	a, err := description.NewArchitecture(s, encoder, latent, head, activation)
	if err != nil {
		panic(err)
	}
	return a
}

// TestConformance runs every test of the suite for every agent.
func TestConformance(t *testing.T) {
	for _, x := range conformance() {
		for _, test := range []struct {
			name string
			run  func(t *testing.T)
		}{
			{"seeds", x.seeds}, {"goroutines", x.goroutines}, {"leaks", x.leaks}, {"resume", x.resume},
			{"foreign snapshots", x.foreign}, {"hyperparameters", x.hyperparameters},
			{"divergence", x.divergence}, {"cancellation", x.cancellation}, {"evaluation", x.evaluation},
			{"misuse", x.misuse}, {"shaping", x.shaping}, {"first steps", x.firstSteps}, {"reseed", x.reseed},
			{"invalid", x.invalid}, {"unknown", x.unknown}, {"closed", x.closed}, {"not finite", x.notFinite},
		} {
			t.Run(fmt.Sprintf("%s/%s", x.name, test.name), func(t *testing.T) {
				agenttest.CheckLive(t)
				test.run(t)
			})
		}
	}
}

const rows = 3

// make makes an agent for so many rows, of settings over those of the suite, and closes it with the test.
func (x suite) make(t testing.TB, seed int64, settings map[string]any) onpolicy.Algorithm {
	t.Helper()
	a := x.unbound(t, seed, settings)
	must(t, a.Bind(rows))
	agenttest.Close(t, a)
	return a
}

// unbound makes an agent that does not know the number of rows, and that the caller closes.
func (x suite) unbound(t testing.TB, seed int64, settings map[string]any) (a onpolicy.Algorithm) {
	t.Helper()
	const scaler = "RunningStandardScaler"
	all := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 3, "observation_preprocessor": scaler,
		"value_preprocessor": scaler}
	if x.amp != nil {
		maps.Copy(all, map[string]any{"learning_rate": 1e-3, "amp_observation_preprocessor": scaler,
			"task_reward_scale": 0.5,
			"amp_batch_size":    20, "motion_dataset_size": 50, "reply_buffer_size": 60})
	}
	if settings["compatibility"] == nil { // skrl has none of those of the suite
		maps.Copy(all, x.settings)
	}
	maps.Copy(all, settings)
	var err error
	if x.amp != nil {
		motions := &agenttest.Motion{Width: x.spaces.AMPObservation.Width(), Mean: 0.7, Space: x.spaces.AMPObservation}
		a, err = amp.New(amp.Options{Spaces: x.spaces, Models: x.amp(x.spaces), Motions: motions, Dict: all,
			Seed: seed})
	} else {
		a, err = ppo.New(ppo.Options{Spaces: x.spaces, Models: x.ppo(x.spaces), Dict: all, Seed: seed})
	}
	must(t, err)
	return a
}

func (x suite) world(seed int64) *agenttest.World {
	return agenttest.NewWorld(x.spaces, agenttest.Seeds(seed, rows)...)
}

// must ends the test if its error is not nil.
var must = check.Do

// unchanged fails the test where the agent differs from an earlier snapshot of it; when says what has happened since.
func unchanged(t testing.TB, a agents.Agent, before *checkpoint.Snapshot, when string) {
	t.Helper()
	check.Same(t, agenttest.Differences(before, agenttest.Snapshot(t, a)), nil, "what has changed %s", when)
}
