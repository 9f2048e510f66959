package testdevice_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

const envs = 6

var (
	rows    = spaces.Set{Observation: spaces.Unbounded(6), Action: spaces.NewBox(-2, 2, 3)}
	choices = spaces.Set{Observation: spaces.Unbounded(6), State: spaces.Unbounded(5),
		Action: spaces.NewMultiDiscrete(3, 2)}
	gait = spaces.Set{Observation: spaces.Unbounded(6), Action: spaces.NewBox(-2, 2, 3),
		AMPObservation: spaces.Unbounded(5)}
	film = spaces.Set{Observation: spaces.NewDict(
		map[string]spaces.Space{"camera": spaces.NewPicture(5, 6, 2), "joints": spaces.Unbounded(2)}),
		Action: spaces.NewBox(-2, 2, 2), AMPObservation: spaces.NewPicture(4, 4, 1)}
	small = models.CNNConfig{Convolutions: []models.Convolution{{Channels: 3, Kernel: 3, Padding: 1},
		{Channels: 2, Kernel: 2, Stride: 2}},
		Features: 6, Hidden: []int{8}, Activation: "tanh"}
)

// variant is one kind of agent: PPO's, or where amp makes its networks AMP's.
type variant struct {
	name     string
	spaces   spaces.Set
	settings map[string]any
	ppo      func(sp spaces.Set) ppo.Models
	amp      func(sp spaces.Set) amp.Models
}

// make makes the agent on a device, with scalers and what the variant changes of the settings.
func (v variant) make(t testing.TB, device string) agenttest.Agent {
	t.Helper()
	settings := map[string]any{"device": device, "rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
		"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"}
	if v.amp != nil {
		maps.Copy(settings, map[string]any{"amp_observation_preprocessor": "RunningStandardScaler",
			"task_reward_scale": 0.5, "amp_batch_size": 20,
			"motion_dataset_size": 50, "reply_buffer_size": 70})
	}
	maps.Copy(settings, v.settings)
	var a agenttest.Agent
	var err error
	if v.amp != nil {
		shown := v.spaces.AMPObservation
		a, err = amp.New(amp.Options{Spaces: v.spaces, Models: v.amp(v.spaces),
			Motions: &agenttest.Motion{Width: shown.Width(), Mean: 0.7, Space: shown},
			Dict:    settings, Seed: 1, NumEnvs: envs})
	} else {
		a, err = ppo.New(ppo.Options{Spaces: v.spaces, Models: v.ppo(v.spaces), Dict: settings, Seed: 1, NumEnvs: envs})
	}
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Close(t, a)
	return a
}

// world returns a world of the variant's spaces. Worlds are alike.
func (v variant) world() *agenttest.World {
	return agenttest.NewWorld(v.spaces, agenttest.Seeds(1, envs)...)
}

// with returns the variant with more settings. Its own settings stay.
func (v variant) with(settings map[string]any) variant {
	settings = maps.Clone(settings)
	maps.Copy(settings, v.settings)
	v.settings = settings
	return v
}

func ppoMLPs(sp spaces.Set) ppo.Models { return ppo.MLPs(sp, []int{32, 32}, "elu") }
func ampMLPs(sp spaces.Set) amp.Models { return amp.MLPs(sp, []int{32, 32}, "elu") }

// activated returns a constructor of AMP's perceptrons: the penalty has a formula for each activation.
func activated(activation string) func(spaces.Set) amp.Models {
	return func(sp spaces.Set) amp.Models { return amp.MLPs(sp, []int{16, 16}, activation) }
}

func ppoGRUs(sp spaces.Set) ppo.Models { return ppo.Recurrent(sp, models.GRU(5), []int{8}, "tanh") }
func ampLSTMs(sp spaces.Set) amp.Models {
	return amp.Recurrent(sp, models.LSTM(4, 2), []int{8}, "tanh")
}
func ppoCNNs(sp spaces.Set) ppo.Models { return ppo.CNNs(sp, small) }
func ampCNNs(sp spaces.Set) amp.Models { return amp.CNNs(sp, small) }

var variants = []variant{
	{name: "ppo", spaces: rows, ppo: ppoMLPs},
	{name: "ppo, choices and states", spaces: choices, ppo: ppoMLPs},
	{name: "ppo, memory", spaces: rows, ppo: ppoGRUs, settings: map[string]any{"sequence_length": 4}},
	{name: "ppo, pictures", spaces: spaces.Set{Observation: film.Observation, Action: film.Action}, ppo: ppoCNNs},
	{name: "ppo by the divergence", spaces: rows, ppo: ppoMLPs,
		settings: map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
			"entropy_loss_scale": 0.01, "bounds_loss_scale": 0.1}},
	{name: "ppo with frozen scalers", spaces: rows, ppo: ppoMLPs, settings: map[string]any{
		"observation_preprocessor_kwargs": map[string]any{"freeze_after": 60},
		"value_preprocessor_kwargs":       map[string]any{"freeze_after": 1000}}},
	{name: "ppo as skrl 2.0", spaces: rows, ppo: ppoMLPs, settings: map[string]any{"compatibility": "skrl-2.0"}},
	{name: "ppo as skrl 2.1", spaces: rows, ppo: ppoMLPs, settings: map[string]any{"compatibility": "skrl-2.1"}},
	{name: "ppo, acting while it learns", spaces: rows, ppo: ppoMLPs, settings: map[string]any{"overlap": true}},
	{name: "amp", spaces: gait, amp: ampMLPs},
	{name: "amp, acting while it learns", spaces: gait, amp: ampMLPs,
		settings: map[string]any{"overlap": true, "separate_critics": true}},
	{name: "amp, memory", spaces: gait, amp: ampLSTMs,
		settings: map[string]any{"sequence_length": 4, "separate_critics": true}},
	{name: "amp, pictures", spaces: film, amp: ampCNNs},
	{name: "amp, two critics and optimizers", spaces: gait, amp: activated("relu"),
		settings: map[string]any{"discriminator_optimizer": "separate",
			"separate_critics": true, "discriminator_gradient_penalty_samples": "both"}},
	{name: "amp, wasserstein", spaces: gait, amp: ampMLPs, settings: map[string]any{"discriminator_loss": "wasserstein",
		"discriminator_gradient_penalty_samples": "interpolated", "replay_admission_probability": 0.3}},
	{name: "amp, least squares", spaces: gait, amp: activated("sigmoid"),
		settings: map[string]any{"discriminator_loss": "lsgan", "value_clip": 0}},
	{name: "amp as skrl 2.0", spaces: gait, amp: activated("tanh"),
		settings: map[string]any{"compatibility": "skrl-2.0"}},
	{name: "amp as skrl 2.1", spaces: gait, amp: activated("softplus"),
		settings: map[string]any{"compatibility": "skrl-2.1"}},
}

// numbers returns the arrays of a snapshot, without random numbers, which are a device's own. Floats are decoded.
func numbers(s *checkpoint.Snapshot) map[string]any {
	out := map[string]any{}
	for name, a := range s.Arrays {
		single, _ := a.Float32s()
		switch {
		case strings.HasPrefix(name, "random/"):
		case a.DType == checkpoint.F64:
			out[name], _ = a.Float64s()
		case single != nil:
			out[name] = single
		default:
			out[name] = a
		}
	}
	return out
}

// Every kind of agent learns and does on a device what it learns and does on the CPU.
func TestSameAsOnTheCPU(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			a, b, u, w := v.make(t, "cpu"), v.make(t, testdevice.Name(1)), v.world(), v.world()
			for i := range 2 {
				agenttest.Learn(t, a, u, 1)
				elsewhere := testdevice.During(0, func() { agenttest.Learn(t, b, w, 1) })
				if elsewhere != (testdevice.Counts{}) {
					t.Errorf("an agent of device 1 does %+v on device 0", elsewhere)
				}
				must.Equal(t, fmt.Sprint("the agents differ after update ", i+1), numbers(agenttest.Snapshot(t, a)),
					numbers(agenttest.Snapshot(t, b)), cmpopts.EquateApprox(1e-5, 1e-5))
			}
			a.SetTraining(false)
			b.SetTraining(false)
			must.Equal(t, "in evaluation the actions differ", must.Get(a.Act(u.Now()))(t), must.Get(b.Act(u.Now()))(t),
				cmpopts.EquateApprox(0, 1e-5))
		})
	}
}
