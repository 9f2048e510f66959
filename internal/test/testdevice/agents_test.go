package testdevice_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/spaces"
)

const envs = 6

var (
	rows = spaces.Set{Observation: spaces.Unbounded(6), Action: spaces.NewBox(-2, 2, 3)}
	gait = spaces.Set{Observation: spaces.Unbounded(6), Action: spaces.NewBox(-2, 2, 3), AMPObservation: spaces.Unbounded(5)}
)

// variant is one kind of agent.
type variant struct {
	name     string
	spaces   spaces.Set
	settings map[string]any
	make     func(t testing.TB, v variant, device string) agents.Agent
}

// settings are those of all variants, with scalers, and what a variant changes of them.
func (v variant) all(device string) map[string]any {
	out := map[string]any{"device": device, "rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
		"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"}
	maps.Copy(out, v.settings)
	return out
}

func newPPO(t testing.TB, v variant, device string) agents.Agent {
	t.Helper()
	a, err := ppo.New(ppo.Options{Spaces: v.spaces, Models: ppo.MLPs(v.spaces, []int{32, 32}, "elu"), Dict: v.all(device), Seed: 1, NumEnvs: envs})
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Close(t, a)
	return a
}

func newAMP(t testing.TB, v variant, device string) agents.Agent {
	t.Helper()
	settings := map[string]any{"amp_observation_preprocessor": "RunningStandardScaler", "task_reward_scale": 0.5, "amp_batch_size": 20,
		"motion_dataset_size": 50, "reply_buffer_size": 70}
	maps.Copy(settings, v.all(device))
	a, err := amp.New(amp.Options{Spaces: v.spaces, Models: amp.MLPs(v.spaces, []int{32, 32}, "elu"),
		Motions: &agenttest.Motion{Width: 5, Mean: 0.7, Space: v.spaces.AMPObservation}, Dict: settings, Seed: 1, NumEnvs: envs})
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Close(t, a)
	return a
}

var variants = []variant{
	{"ppo", rows, nil, newPPO},
	{"ppo by the divergence", rows, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "entropy_loss_scale": 0.01, "bounds_loss_scale": 0.1}, newPPO},
	{"ppo as skrl 2.0", rows, map[string]any{"compatibility": "skrl-2.0"}, newPPO},
	{"ppo as skrl 2.1", rows, map[string]any{"compatibility": "skrl-2.1"}, newPPO},
	{"amp", gait, nil, newAMP},
	{"amp, two critics and optimizers", gait, map[string]any{"discriminator_optimizer": "separate", "separate_critics": true,
		"discriminator_gradient_penalty_samples": "both"}, newAMP},
	{"amp, wasserstein", gait, map[string]any{"discriminator_loss": "wasserstein", "discriminator_gradient_penalty_samples": "interpolated",
		"replay_admission_probability": 0.3}, newAMP},
	{"amp, least squares", gait, map[string]any{"discriminator_loss": "lsgan"}, newAMP},
	{"amp as skrl 2.0", gait, map[string]any{"compatibility": "skrl-2.0"}, newAMP},
	{"amp as skrl 2.1", gait, map[string]any{"compatibility": "skrl-2.1"}, newAMP},
}

// worst returns where two snapshots differ most, relative to the size of the numbers.
func worst(t testing.TB, a, b *checkpoint.Snapshot) (name string, difference float64) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(a.Arrays)) {
		x, y := a.Arrays[k], b.Arrays[k]
		if x.DType != y.DType || !slices.Equal(x.Shape, y.Shape) {
			if k != "random/generator" {
				t.Errorf("%s is %v %v and %v %v", k, x.DType, x.Shape, y.DType, y.Shape)
			}
			continue
		}
		var p, q []float64
		switch x.DType {
		case checkpoint.F32:
			u, _ := x.Float32s()
			v, _ := y.Float32s()
			for i := range u {
				p, q = append(p, float64(u[i])), append(q, float64(v[i]))
			}
		case checkpoint.F64:
			p, _ = x.Float64s()
			q, _ = y.Float64s()
		default:
			if !slices.Equal(x.Data, y.Data) {
				t.Errorf("%s differs", k)
			}
		}
		for i := range p {
			if d := math.Abs(p[i]-q[i]) / (1 + math.Abs(p[i])); d > difference || math.IsNaN(d) {
				name, difference = k, d
			}
		}
	}
	return name, difference
}

// Every kind of agent learns on a device what it learns on the CPU.
func TestSameAsOnTheCPU(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			a, b := v.make(t, v, "cpu"), v.make(t, v, testdevice.Name(1))
			u, w := agenttest.NewWorld(v.spaces, agenttest.Seeds(1, envs)...), agenttest.NewWorld(v.spaces, agenttest.Seeds(1, envs)...)
			for i := range 2 {
				agenttest.Learn(t, a, u, 1)
				elsewhere := testdevice.During(0, func() { agenttest.Learn(t, b, w, 1) })
				if elsewhere != (testdevice.Counts{}) {
					t.Errorf("an agent of device 1 does %+v on device 0", elsewhere)
				}
				if name, d := worst(t, agenttest.Snapshot(t, a), agenttest.Snapshot(t, b)); !(d < 1e-5) {
					t.Errorf("after update %d %s differs by %.2g", i+1, name, d)
				}
			}
		})
	}
}
