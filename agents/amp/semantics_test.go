package amp

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// The style reward is what its formula says of the discriminator's logits.
func TestStyleReward(t *testing.T) {
	for loss, formula := range map[string]func(d float64) float64{
		"bce":         func(d float64) float64 { return -math.Log(math.Max(1-1/(1+math.Exp(-d)), 1e-4)) },
		"lsgan":       func(d float64) float64 { return math.Max(0, 1-0.25*(d-1)*(d-1)) },
		"wasserstein": func(d float64) float64 { return math.Exp(math.Tanh(0.3 * d)) },
	} {
		t.Run(loss, func(t *testing.T) {
			a := newAgent(t, plain, 1, map[string]any{"discriminator_loss": loss, "amp_observation_preprocessor": nil})
			w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)
			agenttest.Fill(t, a, w)
			s := noGrad(t, a.learner.Device)
			logits := tensortest.Float32s(t, s, a.learner.discriminator.Forward(s,
				models.Inputs{Observations: a.learner.Rollout.Rows("amp_observations")}))
			rewards := tensortest.Float32s(t, s, a.learner.reward(s))
			far := []float32{-20, -3, 3, 9, 20} // into saturation
			rewards = append(rewards, tensortest.Float32s(t, s, a.learner.styleReward(s, tensor.From(s, far, 5, 1)))...)
			for i, d := range append(logits, far...) {
				near(t, "style reward", float64(rewards[i]), formula(float64(d)), 1e-4)
			}
		})
	}
}

// The discriminator's loss of given logits, and its accuracy.
func TestAdversarialLoss(t *testing.T) {
	fake, real := []float32{-3, -0.5, 0.2, 4}, []float32{2, -1}
	mean := func(x []float32, f func(d float64) float64) float64 {
		sum := 0.0
		for _, d := range x {
			sum += f(float64(d))
		}
		return sum / float64(len(x))
	}
	softplus := func(d float64) float64 { return math.Log1p(math.Exp(d)) }
	for loss, want := range map[string]float64{
		"bce": 0.5 * (mean(fake, softplus) + mean(real, func(d float64) float64 { return softplus(-d) })),
		"lsgan": 0.5 * (mean(fake, func(d float64) float64 { return (d + 1) * (d + 1) }) + mean(real,
			func(d float64) float64 { return (d - 1) * (d - 1) })),
		"wasserstein": mean(fake, func(d float64) float64 { return math.Tanh(0.3 * d) }) - mean(real,
			func(d float64) float64 { return math.Tanh(0.3 * d) }),
	} {
		t.Run(loss, func(t *testing.T) {
			a := newAgent(t, plain, 1, map[string]any{"discriminator_loss": loss})
			s := withGrad(t, a.learner.Device)
			got := a.learner.adversarial(s, tensor.From(s, fake, 4, 1), tensor.From(s, real, 2, 1))
			near(t, "loss", float64(tensortest.Float32s(t, s, got)[0]), want, 1e-5)
		})
	}
}

// The gradient penalty is that of finite differences, at the rows that the settings name, and so is its own gradient by
// the weights, which a second differentiation gives.
func TestGradientPenalty(t *testing.T) {
	const n, width = 5, 3
	for _, loss := range []string{"bce", "wasserstein"} {
		for _, kind := range []string{"motion", "both", "interpolated"} {
			t.Run(loss+" "+kind, func(t *testing.T) {
				a := newAgent(t, plain, 3, map[string]any{"discriminator_loss": loss,
					"discriminator_gradient_penalty_samples": kind})
				s := withGrad(t, a.learner.Device)
				policy, motion := s.Randn(a.learner.Gen, n, width), s.Randn(a.learner.Gen, n, width)
				state := check.Get(a.learner.Gen.State())(t)
				share := tensortest.Float32s(t, s, s.Rand(a.learner.Gen, n, 1))
				p, m := tensortest.Float32s(t, s, policy), tensortest.Float32s(t, s, motion)
				var at []float32
				switch kind {
				case "motion":
					at = m
				case "both":
					at = append(append(at, m...), p...)
				case "interpolated":
					for i := range p {
						at = append(at, m[i]*share[i/width]+p[i]*(1-share[i/width]))
					}
				}
				want := func() float64 {
					s := noGrad(t, a.learner.Device)
					rows := len(at) / width
					logits := func(j int, h float32) []float32 {
						moved := append([]float32(nil), at...)
						for i := range rows {
							moved[i*width+j] += h
						}
						return tensortest.Float32s(t, s, a.learner.discriminator.Forward(s,
							models.Inputs{Observations: tensor.From(s, moved, int64(rows), width)}))
					}
					square := make([]float64, rows)
					const h = 1e-2
					for j := range width {
						up, down := logits(j, h), logits(j, -h)
						for i := range square {
							d := float64(up[i]-down[i]) / (2 * h)
							square[i] += d * d
						}
					}
					sum := 0.0
					for _, x := range square {
						if loss == "wasserstein" {
							x = (math.Sqrt(x) - 1) * (math.Sqrt(x) - 1)
						}
						sum += x / float64(rows)
					}
					return sum
				}
				must(t, a.learner.Gen.SetState(state))
				a.learner.Flat.ZeroGrad(s)
				_, penalty := a.learner.gradientPenalty(s, policy, motion)
				near(t, "penalty", float64(tensortest.Float32s(t, s, penalty)[0]), want(), 1e-3)
				s.Backward(penalty)
				weights := a.learner.discriminator.(models.Linears).LinearWeights()
				for k, w := range weights {
					values, slope := tensortest.Float32s(t, s, w), tensortest.Float32s(t, s, s.GradOf(w))
					for _, i := range []int{0, 5, 7} {
						const h = 2e-2
						set := func(x float32) {
							moved := append([]float32(nil), values...)
							moved[i] = x
							must(t, tensor.Write(w, moved))
						}
						set(values[i] + h)
						up := want()
						set(values[i] - h)
						down := want()
						set(values[i])
						diff := (up - down) / (2 * h)
						check.Near(t, float64(slope[i]), diff, 3e-3+0.03*math.Abs(diff), "layer %d: ∂penalty/∂w[%d]",
							k, i)
					}
				}
			})
		}
	}
}

// The motion dataset is filled before training, and renewed by amp_batch_size rows an update.
func TestMotionDataset(t *testing.T) {
	motion := &agenttest.Motion{Width: 3}
	a := open(t, Options{Spaces: plain, NumEnvs: 3, Models: MLPs(plain, []int{8}, "tanh"), Motions: motion,
		Dict: small(map[string]any{"motion_dataset_size": 33, "amp_batch_size": 20})})
	counts := func() [3]int64 {
		set := a.learner.motionSet
		return [3]int64{set.Len(), set.Next(), int64(motion.Calls)}
	}
	check.Is(t, counts(), [3]int64{33, 0, 1}, "rows, the next one and calls before training")
	agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 2)
	check.Is(t, counts(), [3]int64{33, 40 % 33, 3}, "rows, the next one and calls after two updates")
}

// Until the replay buffer is full it takes every row, then replay_admission_probability's share.
func TestReplayAdmission(t *testing.T) {
	a := newAgent(t, plain, 1, map[string]any{"replay_admission_probability": 0.25, "reply_buffer_size": 40,
		"rollouts": 8})
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...) // 24 rows an update
	for i, want := range [][2]int64{{24, 24}, {40, 8}, {40, 14}, {40, 20}} {
		agenttest.Learn(t, a, w, 1)
		if got := [2]int64{a.learner.replay.Len(), a.learner.replay.Next()}; got != want {
			t.Errorf("update %d: the replay buffer holds %d rows, the next is %d; want %d, %d", i, got[0], got[1],
				want[0], want[1])
		}
	}
}

// AMP shares what PPO has for rl_games' recipes. It adds the loss for means out of bounds, whose formula is in
// TestBoundsLoss of package ppo. It steps the learning rate as often as the schedule says.
func TestRLGames(t *testing.T) {
	const rate, epochs, parts = 1e-12, 2, 3
	for step, times := range map[string]float64{"minibatch": epochs * parts, "epoch": epochs, "update": 1} {
		// A threshold that no divergence comes near raises the rate by half at every step of the schedule; the rate
		// itself is too small to change the means within the update.
		a := newAgent(t, plain, 1, map[string]any{"bounds_loss_scale": 0.3, "bounds_loss_type": "square",
			"learning_rate": rate, "learning_epochs": epochs, "mini_batches": parts,
			"learning_rate_scheduler": "KLAdaptiveLR",
			"learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": 1e3, "max_lr": 1, "min_lr": 1e-20,
				"step": step, "divergence": "gaussian"}})
		agenttest.Fill(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...))
		means := check.Get(agenttest.Snapshot(t, a).Arrays["rollout/mean"].Float32s())(t)
		must(t, a.Update(t.Context()))
		got := map[string]float64{}
		a.Tracked(func(tag string, v float64) { got[tag] = v })
		near(t, step+": loss", got["Loss / Bounds loss"], 0.3*dot(wide(means), wide(means))/(8*3), 1e-5)
		near(t, step+": rate", got["Learning / Learning rate"]/rate, math.Pow(1.5, times), 1e-9)
	}
}

// An AMP observation has two frames of three features, and the second feature is masked. The discriminator's output,
// the style reward and the gradient penalty do not depend on the masked feature of either frame. They depend on all
// others.
func TestMaskedFeatures(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.Unbounded(2), AMPObservation: spaces.Unbounded(6)}
	a := newAgent(t, sp, 1, map[string]any{"amp_observation_frames": 2, "discriminator_masked_features": "1",
		"amp_observation_preprocessor": nil})
	s := withGrad(t, a.learner.Device)
	rows := tensortest.Float32s(t, s, s.Randn(a.learner.Gen, 4, 6))
	judge := func(rows []float32) (logits []float32, penalty float32) {
		x := tensor.From(s, rows, 4, 6)
		_, p := a.learner.gradientPenalty(s, x, x)
		return tensortest.Float32s(t, s, a.learner.logits(s, x)), tensortest.Float32s(t, s, p)[0]
	}
	logits, penalty := judge(rows)
	for j := range 6 {
		moved := slices.Clone(rows)
		for i := range 4 {
			moved[6*i+j] += 0.5
		}
		l, p := judge(moved)
		if same := slices.Equal(l, logits) && p == penalty; same != (j == 1 || j == 4) {
			t.Errorf("another value of feature %d changes nothing: %v", j, same)
		}
	}
}

// The discriminator tells motion from policy after a while.
func TestDiscriminatorLearns(t *testing.T) {
	a := open(t, Options{Spaces: plain, Models: MLPs(plain, []int{16}, "tanh"),
		Motions: &agenttest.Motion{Width: 3, Mean: 4}, Seed: 1,
		Dict: small(map[string]any{"discriminator_loss": "lsgan", "learning_rate": 1e-2,
			"discriminator_gradient_penalty_scale": 0.1, "discriminator_batch_size": 8})})
	agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 4)...), 21)
	got := map[string]float64{}
	a.Tracked(func(tag string, v float64) { got[tag] = v })
	for _, tag := range []string{"Discriminator / Accuracy (motion)", "Discriminator / Accuracy (policy)"} {
		check.Not(t, !(got[tag] >= 0.8), "%s is %g", tag, got[tag])
	}
}

// A graph with operations of the engine and of libtorch adds gradients up in one order, however many nodes either made
// before: equal agents stay equal, bit for bit.
func TestMaskedUpdatesRepeat(t *testing.T) {
	runtime.LockOSThread() // libtorch counts nodes by thread
	defer runtime.UnlockOSThread()
	updated := func(settings map[string]any) *checkpoint.Snapshot {
		a := newAgent(t, plain, 2, settings)
		defer a.Close()
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 4)...), 2)
		return agenttest.Snapshot(t, a)
	}
	masked := map[string]any{"discriminator_masked_features": "1"}
	want := updated(masked)
	for name, others := range map[string]func(){
		"the engine's": func() {
			for range 20 {
				updated(nil)
			}
		},
		"libtorch's": func() {
			s := tensortest.WithGrad(t, tensor.CPU)
			for range 20_000 {
				x := s.RequireGrad(s.Ones(2))
				s.Grad(s.Sum(s.Exp(x)), true, x)
				s.Reset()
			}
		},
	} {
		others()
		if d := agenttest.Differences(want, updated(masked)); len(d) > 0 {
			t.Errorf("after nodes of %s, %q differ", name, d)
		}
	}
}
