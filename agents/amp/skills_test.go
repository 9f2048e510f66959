package amp

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// skilled returns an agent whose observations end with a latent of 2 dimensions.
func skilled(t *testing.T, m Models, settings map[string]any) *Agent {
	t.Helper()
	all := small(map[string]any{"latent_size": 2})
	maps.Copy(all, settings)
	return open(t, Options{Spaces: plain, Models: m, Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Dict: all,
		Seed: 4})
}

// layered is a network of one hidden layer of tanh in float64: its outputs for a row.
func layered(t *testing.T, params []tensor.Parameter) func(x []float64) []float64 {
	t.Helper()
	var p [4][]float64 // weight and bias of two layers
	for i := range p {
		p[i] = wide(check.Get(tensor.Float32s(params[i].Tensor))(t))
	}
	linear := func(w, b, x []float64) []float64 {
		out := append([]float64(nil), b...)
		for i := range out {
			for j, v := range x {
				out[i] += w[i*len(x)+j] * v
			}
		}
		return out
	}
	return func(x []float64) []float64 {
		hidden := linear(p[0], p[1], x)
		for i := range hidden {
			hidden[i] = math.Tanh(hidden[i])
		}
		return linear(p[2], p[3], hidden)
	}
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// skillCases is the content of testdata/skills.json. testdata/skills.py makes it with PyTorch in float64.
type skillCases struct {
	Minibatches map[string]skillCase
	Returns     struct {
		Parameters, Arrays map[string]golden.Tensor
		Weights            struct{ Task, Style, Encoder float64 }
		Gamma, Lambda      float64
	}
}

type skillCase struct {
	Settings struct {
		Calm, Shared, Mismatched, States bool
		Masked                           []int
		Penalty                          float64
		Scales                           struct{ Value, Discriminator, Encoder, Diversity, Logits, Decay float64 }
	}
	Parameters, Gradients, Inputs map[string]golden.Tensor
	Scalers                       map[string]struct{ Mean, Variance golden.Tensor }
	Losses                        map[string]float64
}

func readSkillCases(t *testing.T) (c skillCases) {
	t.Helper()
	must(t, json.Unmarshal(check.Read(t, "testdata/skills.json"), &c))
	return c
}

// skillSpaces have latents of 2 dimensions, and bounds of actions that are not ±1.
func skillSpaces(states bool) spaces.Set {
	sp := spaces.Set{Observation: spaces.Unbounded(4), AMPObservation: spaces.Unbounded(3),
		Action: spaces.Space{Kind: spaces.Box, Shape: []int{2}, Low: []float32{-0.5, -1}, High: []float32{1.5, 3}}}
	if states {
		sp.State = spaces.Unbounded(3)
	}
	return sp
}

// skillAgent makes an agent with the given parameters and statistics.
func skillAgent(t *testing.T, sp spaces.Set, m Models, dict map[string]any, parameters map[string]golden.Tensor,
	statistics map[string][]float64) *Agent {
	t.Helper()
	const seed = 7 // skills.py has it, too
	a := open(t, Options{Spaces: sp, NumEnvs: 2, Models: m, Motions: &overlapping{agenttest.Motion{Width: 3}},
		Dict: dict, Seed: seed})
	snap := check.Get(a.Snapshot(agents.SnapshotOptions{}))(t)
	for name, x := range parameters {
		snap.Arrays[name] = checkpoint.ArrayFloat32(snap.Arrays[name].Shape, x.Float32s())
	}
	for name, x := range statistics {
		snap.Arrays[name] = checkpoint.ArrayFloat64(snap.Arrays[name].Shape, x)
	}
	must(t, a.Restore(snap))
	return a
}

// The losses of one minibatch of ASE and CALM, and the gradients by every parameter of every network, are those of an
// independent program (relative error at most golden.Tolerance): which network learns from which loss, the latents
// that CALM encodes again, with gradient for policy and value and without for the discriminator, and ASE's limits of
// actions.
func TestSkillGradients(t *testing.T) {
	for name, c := range readSkillCases(t).Minibatches {
		t.Run(name, func(t *testing.T) {
			set, sp, hidden := c.Settings, skillSpaces(c.Settings.States), []int{5}
			m := MLPs(sp, hidden, "tanh")
			if set.Shared {
				m = WithEncoder(m, 2)
			} else {
				m = WithSeparateEncoder(m, sp, 2, hidden, "tanh")
			}
			dict := map[string]any{"latent_size": 2, "learning_rate": 1e-12, "grad_norm_clip": 0, "rollouts": 8,
				"mini_batches": 2, "motion_dataset_size": 10,
				"observation_preprocessor":     "RunningStandardScaler",
				"amp_observation_preprocessor": "RunningStandardScaler",
				"value_loss_scale":             set.Scales.Value, "discriminator_loss_scale": set.Scales.Discriminator,
				"encoder_loss_scale": set.Scales.Encoder, "diversity_loss_scale": set.Scales.Diversity,
				"discriminator_batch_size":                 4,
				"discriminator_gradient_penalty_scale":     set.Penalty,
				"discriminator_logit_regularization_scale": set.Scales.Logits,
				"discriminator_weight_decay_scale":         set.Scales.Decay, "entropy_loss_scale": 0, "value_clip": 0}
			if len(set.Masked) > 0 {
				dict["discriminator_masked_features"] = "1"
			}
			if set.Calm {
				m = WithConditionalDiscriminator(m, sp, 2, hidden, "tanh")
				dict["latent_mode"], dict["mismatched_negatives"] = "calm", set.Mismatched
			}
			if set.States {
				dict["state_preprocessor"] = "RunningStandardScaler"
			}
			statistics := map[string][]float64{}
			for name, x := range c.Scalers {
				if name == layout.StateScaler && !set.States {
					continue
				}
				statistics[layout.Statistic(name, layout.RunningMean)] = x.Mean.Data
				statistics[layout.Statistic(name, layout.RunningVariance)] = x.Variance.Data
			}
			a := skillAgent(t, sp, m, dict, c.Parameters, statistics)
			l := a.learner
			if set.Scales.Diversity > 0 && strings.HasPrefix(l.Device.String(), "cuda") {
				t.Skip("the golden numbers are of latents that the CPU has drawn")
			}
			s := withGrad(t, l.Device)
			input := func(name string) tensor.Tensor {
				x := c.Inputs[name]
				return tensor.From(s, x.Float32s(), int64(x.Shape[0]), int64(x.Shape[1]))
			}
			var states tensor.Tensor
			if set.States {
				states = input("states")
			}
			l.Draw = fixed{input("demo"), input("replay")}
			if !set.Calm { // rows alone
				demo, _ := l.splitRows(s, input("demo"))
				replay, _ := l.splitRows(s, input("replay"))
				l.Draw = fixed{demo, replay}
			}
			compare := golden.NewComparison(t)
			for tag, want := range map[string]string{"Loss / Policy loss": "policy", "Loss / Value loss": "value",
				"Loss / Encoder loss":   "encoder",
				"Loss / Diversity loss": "diversity", "Loss / Discriminator loss": "discriminator",
				"Discriminator / Gradient penalty": "penalty"} {
				if want == "penalty" && set.Penalty == 0 { // it is not computed then
					continue
				}
				must(t, a.Reseed(7))
				b := onpolicy.Batch{Rows: 6, Inputs: l.Inputs(s, input("observations"), states),
					Actions: input("actions"), LogProb: input("log_prob"),
					Advantages: input("advantages"), Returns: input("returns"), Values: input("returns"),
					Raw:    input("observations"),
					Fields: map[string]tensor.Tensor{"amp_observations": input("motion"), "windows": input("windows")}}
				meter := onpolicy.NewMeter(s, l.figures(new(losses)))
				_, _, err := l.minibatch(s, b, meter)
				must(t, err)
				compare.Scalar(tag, check.Get(meter.EpochMean(tag))(t), c.Losses[want])
			}
			grads := tensortest.Float32s(t, s, l.Flat.Grads)
			for _, e := range l.Flat.Entries() {
				golden.Compare(compare, "∂/∂"+e.Name, grads[e.Offset:e.Offset+e.Size], c.Gradients[e.Name])
			}
			check.Is(t, len(l.Flat.Entries()), len(c.Gradients), "number of parameters")
		})
	}
}

// What follows a step counts as the value network estimates it for the latent of the step, where the environment has
// drawn another one since, at the rollout's end and at a truncation, too: returns are those of an independent program.
func TestSkillReturns(t *testing.T) {
	c := readSkillCases(t).Returns
	sp := skillSpaces(false)
	a := skillAgent(t, sp, WithEncoder(MLPs(sp, []int{5}, "tanh"), 2), map[string]any{"latent_size": 2, "rollouts": 6,
		"mini_batches": 1, "learning_epochs": 1,
		"task_reward_scale": c.Weights.Task, "style_reward_scale": c.Weights.Style,
		"encoder_reward_scale": c.Weights.Encoder,
		"discount_factor":      c.Gamma, "gae_lambda": c.Lambda, "motion_dataset_size": 10, "amp_batch_size": 4},
		c.Parameters, nil)
	row := func(name string, t int) []float32 {
		x := c.Arrays[name]
		w := len(x.Data) / x.Shape[0]
		return x.Float32s()[t*w:][:w]
	}
	flags := func(name string, t int) []bool { return []bool{row(name, t)[0] != 0, row(name, t)[1] != 0} }
	for i := range 6 {
		check.Get(a.Act(agents.Observation{Observations: row("observations", i)}))(t)
		must(t, a.Record(agents.Transition{Rewards: row("rewards", i), Terminated: flags("terminated", i),
			Truncated: flags("truncated", i), NextObservations: row("observations", i+1),
			FinalObservations: row("final", i), AMPObservations: row("motion", i)}))
	}
	must(t, a.Update(context.Background()))
	s := noGrad(t, a.learner.Device)
	golden.Compare(golden.NewComparison(t), "returns", tensortest.Float32s(t, s, a.learner.Rollout.Rows("returns")),
		c.Arrays["returns"])
}
