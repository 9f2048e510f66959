package ppo

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// What PPO has for the recipes of rl_games, against its formulas in plain Go.

// beyond is the loss for mean actions out of bounds, row by row and without its scale.
func beyond(kind string, limit float64, means []float64) float64 {
	sum := 0.0
	for _, m := range means {
		if kind == "square" {
			sum += m * m
			continue
		}
		over, under := math.Max(m-limit, 0), math.Min(m+limit, 0)
		sum += over*over + under*under
	}
	return sum
}

// The value of the loss for means out of bounds is that of the formula, and its gradient that of finite differences.
func TestBoundsLoss(t *testing.T) {
	const rows, width, scale, others = 4, 2, 0.3, 0.75
	means := []float64{0.2, -0.9, 1.4, -1.6, 2.5, 0, -1.25, 1.05}
	for _, kind := range []string{"limit", "square"} {
		for _, limit := range []float64{1.1, 0.5} {
			t.Run(fmt.Sprint(kind, limit), func(t *testing.T) {
				agenttest.CheckLive(t)
				a := newAgent(t, plain, 1, map[string]any{"bounds_loss_scale": scale, "bounds_loss_limit": limit,
					"bounds_loss_type": kind})
				s := withGrad(t, a.learner.Device)
				given := make([]float32, len(means))
				for i, m := range means {
					given[i] = float32(m)
				}
				mean := s.RequireGrad(tensor.From(s, given, rows, width))
				sum, bounds := a.learner.BoundsLoss(s, models.Evaluation{Mean: mean}, s.Scalar(others))
				want := func() float64 { return scale * beyond(kind, limit, means) / rows }
				near(t, "term", tensortest.Float32s(t, s, bounds)[0], want())
				near(t, "sum", tensortest.Float32s(t, s, sum)[0], others+want())
				for i, got := range tensortest.Float32s(t, s, s.Grad(sum, false, mean)[0]) {
					const h = 1e-6
					was := means[i]
					means[i] = was + h
					up := want()
					means[i] = was - h
					down := want()
					means[i] = was
					near(t, fmt.Sprintf("gradient by mean %d", i), got, (up-down)/(2*h))
				}
			})
		}
	}
}

// Settings that only Gaussian policies have are refused for others, and those that skrl does not have with its modes.
func TestRefusesRLGames(t *testing.T) {
	choices := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewDiscrete(3)}
	kl := func(compatibility string, kwargs map[string]any) map[string]any {
		return map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "learning_rate_scheduler_kwargs": kwargs,
			"compatibility": compatibility}
	}
	for want, test := range map[string]struct {
		sp       spaces.Set
		settings map[string]any
	}{
		`"bounds_loss_scale"|not Gaussian`:  {choices, map[string]any{"bounds_loss_scale": 1e-4}},
		`"divergence" is gaussian|estimate`: {choices, kl("", map[string]any{"divergence": "gaussian"})},
		`divergence|rollout`:                {plain, kl("", map[string]any{"divergence": "gauss"})},
		`bounds_loss_scale|skrl-2.0`: {plain, map[string]any{"bounds_loss_scale": 1,
			"compatibility": "skrl-2.0"}},
		`"step"|skrl-2.1`:                         {plain, kl("skrl-2.1", map[string]any{"step": "minibatch"})},
		`"mini_batch_size" is 6|"rollouts" 7 × 3`: {plain, map[string]any{"rollouts": 7, "mini_batch_size": 6}},
	} {
		agenttest.CheckLive(t)
		_, err := New(Options{Spaces: test.sp, NumEnvs: 3, Models: MLPs(test.sp, []int{8}, "tanh"),
			Dict: test.settings})
		for _, part := range strings.Split(want, "|") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v\n does not say %q", err, part)
			}
		}
	}
	a := newAgent(t, choices, 1, nil)
	err := a.SetHyperparameters(map[string]float64{"bounds_loss_scale": 1, "ratio_clip": 0.1})
	if err == nil || a.Hyperparameters()["ratio_clip"] != 0.2 {
		t.Errorf("%v; the settings are %v", err, a.Hyperparameters())
	}
	_, err = New(Options{Spaces: plain, NumEnvs: 3, Models: Recurrent(plain, models.GRU(4), []int{8}, "tanh"),
		Dict: map[string]any{"rollouts": 8, "sequence_length": 4, "mini_batch_size": 6}})
	if err == nil || !strings.Contains(err.Error(), `"mini_batch_size" is 6, which is no multiple of the 4 timesteps`) {
		t.Error(err)
	}
}

// numbered writes the number of each row of a complete rollout into its returns, so that minibatches show which rows
// they have.
func numbered(a *Agent, s *tensor.Scope) {
	r := a.learner.Rollout
	s.Copy(r.Rows("returns"), s.Reshape(s.As(s.Arange(int64(r.Steps()*r.Envs())), tensor.Float32), -1, 1))
}

// By environment, minibatches have the whole rollouts of the same environments in every pass, step after step; with
// memory as well. A size in rows makes as many minibatches as fit.
func TestMinibatchesByEnvironment(t *testing.T) {
	const steps, n = 8, 3
	for name, test := range map[string]struct {
		nets     Models
		settings map[string]any
		sizes    []int
		want     func(i int) int // the row in place i of a pass
	}{
		"rows": {MLPs(plain, []int{8}, "tanh"), map[string]any{"mini_batch_size": 8}, []int{8, 8, 8},
			func(i int) int { return i%steps*n + i/steps }},
		"pieces": {MLPs(plain, []int{8}, "tanh"), map[string]any{"mini_batch_size": 4}, []int{4, 4, 4, 4, 4, 4},
			func(i int) int { return i%steps*n + i/steps }},
		"parts": {MLPs(plain, []int{8}, "tanh"), map[string]any{"mini_batches": 2}, []int{12, 12},
			func(i int) int { return i%steps*n + i/steps }},
		// Sequences of 4 stand side by side: the two of an environment, time by time.
		"memory": {Recurrent(plain, models.GRU(4), []int{8}, "tanh"), map[string]any{"mini_batch_size": 8,
			"sequence_length": 4}, []int{8, 8, 8},
			func(i int) int { return (i%8/2+i%2*4)*n + i/8 }},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			settings := small(test.settings)
			settings["mini_batch_order"] = "environments"
			a := open(t, Options{Spaces: plain, NumEnvs: n, Models: test.nets, Dict: settings, Seed: 1})
			agenttest.Fill(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, n)...))
			s := noGrad(t, a.learner.Device)
			numbered(a, s)
			for epoch := range 2 {
				var sizes, rows []int
				for b := range a.learner.Epoch(s, epoch) {
					sizes = append(sizes, int(b.Rows))
					for _, id := range tensortest.Float32s(t, s, b.Returns) {
						rows = append(rows, int(id))
					}
				}
				want := make([]int, steps*n)
				for i := range want {
					want[i] = test.want(i)
				}
				if !slices.Equal(sizes, test.sizes) || !slices.Equal(rows, want) {
					t.Errorf("pass %d has minibatches of %v rows, %v; want %v, %v", epoch, sizes, rows, test.sizes,
						want)
				}
			}
		})
	}
}

// With mini_batch_order "random_once" every epoch of an update has the same random order, with rows and
// with sequences. The next update has another one.
func TestRandomOnce(t *testing.T) {
	for name, nets := range map[string]Models{"rows": MLPs(plain, []int{8}, "tanh"),
		"sequences": Recurrent(plain, models.GRU(4), []int{8}, "tanh")} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			a := open(t, Options{Spaces: plain, NumEnvs: 12, Models: nets, Seed: 1,
				Dict: small(map[string]any{"mini_batch_order": "random_once", "sequence_length": 2})})
			agenttest.Fill(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 12)...))
			s := noGrad(t, a.learner.Device)
			numbered(a, s)
			var orders [4][]float32 // two updates of two epochs
			for i := range orders {
				for b := range a.learner.Epoch(s, i%2) {
					orders[i] = append(orders[i], tensortest.Float32s(t, s, b.Returns)...)
				}
			}
			if len(orders[0]) != 8*12 || !slices.Equal(orders[0], orders[1]) || !slices.Equal(orders[2], orders[3]) {
				t.Errorf("the epochs of an update have the orders %v", orders)
			}
			if slices.Equal(orders[0], orders[2]) || slices.IsSorted(orders[0]) {
				t.Errorf("two updates have the orders %v and %v", orders[0], orders[2])
			}
		})
	}
}

// normal is a Gaussian policy's mean and standard deviation for rows, in double precision.
type normal struct{ mean, std []float64 }

// of evaluates the policy, on rows of the rollout.
func (x *normal) of(t *testing.T, s *tensor.Scope, e models.Evaluation) {
	x.mean = tensortest.Float64s(t, s, e.Mean)
	std := tensortest.Float64s(t, s, e.StdDev)
	x.std = make([]float64, len(x.mean))
	for i := range x.std {
		x.std[i] = std[i%len(std)]
	}
}

// closedForm is rl_games' divergence of two such policies, the mean over n rows.
func closedForm(now, before normal, n int) float64 {
	sum := 0.0
	for i, m := range now.mean {
		s0, s1, d := before.std[i], now.std[i], before.mean[i]-m
		sum += math.Log(s0/s1+1e-5) + (s1*s1+d*d)/(2*(s0*s0+1e-5)) - 0.5
	}
	return sum / float64(n)
}

// threshold is the divergence that schedules of these tests aim at.
const threshold = 5e-4

// update does what Update does, with a learning rate that a loop of plain Go chooses: b has no schedule, and no
// scaler of observations. It returns the rate after each optimizer step.
func update(t *testing.T, b *Agent, rate *float64, period, divergence string) (rates []float64) {
	t.Helper()
	const width = 2
	l := b.learner
	adapt := func(kl float64) {
		if kl > 2*threshold {
			*rate = math.Max(*rate/1.5, 1e-6)
		}
		if kl < threshold/2 {
			*rate = math.Min(*rate*1.5, 1e-2)
		}
		for i := range l.Optimizer.Groups {
			l.Optimizer.Groups[i].LearningRate = *rate
		}
	}
	mean := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		return sum / float64(len(x))
	}
	err := l.Attempt(t.Context(), func(s *tensor.Scope) error {
		l.estimate(s)
		r := l.Rollout
		n := r.Steps() * r.Envs()
		// The old policy of every row, not recorded but computed anew.
		var old normal
		old.of(t, s, l.Policy.Evaluate(s, l.Inputs(s, r.Rows("observations"), tensor.Tensor{}), r.Rows("actions")))
		all := tensortest.Float32s(t, s, r.Rows("observations"))
		number := map[[4]float32]int{}
		for i := range n {
			number[[4]float32(all[4*i:])] = i
		}
		var total []float64
		for epoch := range l.Config.LearningEpochs {
			var kls []float64
			for batch := range l.Epoch(s, epoch) {
				g := tensor.NewScope().On(l.Device)
				e, predicted := models.EvaluateBoth(g, l.Policy, l.Value, batch.Of(layout.Policy),
					batch.Of(layout.Value), batch.Actions)
				policyLoss, _, _ := g.Surrogate(e.LogProb, batch.LogProb, batch.Advantages, l.Config.RatioClip)
				valueLoss := g.MulScalar(l.ValueLoss(g, predicted, batch.Values, batch.Returns),
					l.Config.ValueLossScale)
				_, entropyLoss := l.EntropyLoss(g, e)
				now, logProb, was := tensortest.Float64s(t, g, e.LogProb), 0.0, tensortest.Float64s(t, g, batch.LogProb)
				for i := range now {
					d := now[i] - was[i]
					logProb += (math.Exp(d) - 1 - d) / float64(len(now))
				}
				var present, before normal
				present.of(t, g, e)
				observations := tensortest.Float32s(t, g, batch.Inputs.Observations)
				rows := make([]int, batch.Rows)
				for i := range rows {
					row := number[[4]float32(observations[4*i:])]
					rows[i] = row
					before.mean = append(before.mean, old.mean[row*width:(row+1)*width]...)
					before.std = append(before.std, old.std[row*width:(row+1)*width]...)
				}
				kl := logProb
				if divergence != schedulers.EstimatedKL {
					kl = closedForm(present, before, len(rows))
				}
				for i, row := range rows {
					if divergence == schedulers.GaussianRolloutKL {
						break // the rollout's policy stays the reference
					}
					copy(old.mean[row*width:], present.mean[i*width:(i+1)*width])
					copy(old.std[row*width:], present.std[i*width:(i+1)*width])
				}
				l.Differentiate(g, g.Add(g.Add(policyLoss, entropyLoss), valueLoss))
				l.Step(g)
				if err := g.Err(); err != nil {
					return err
				}
				g.Close()
				if kls, total = append(kls, kl), append(total, kl); period == schedulers.EveryMinibatch {
					adapt(kl)
				}
				rates = append(rates, *rate)
			}
			if period == schedulers.EveryEpoch {
				adapt(mean(kls))
			}
		}
		if period == schedulers.EveryUpdate {
			adapt(mean(total))
		}
		return l.Finish(s)
	})
	must(t, err)
	return rates
}

// The learning rate follows the divergence step by step, over several epochs and updates: after every minibatch,
// epoch or update, by the estimate or by the closed form against the policy that last passed over the same rows or
// the rollout's.
func TestAdaptiveRate(t *testing.T) {
	for _, period := range []string{schedulers.EveryEpoch, schedulers.EveryMinibatch, schedulers.EveryUpdate} {
		for _, divergence := range []string{schedulers.EstimatedKL, schedulers.GaussianKL,
			schedulers.GaussianRolloutKL} {
			var up, down bool
			for order, first := range map[string]float64{"random": 1e-3, "environments": 8e-3} {
				t.Run(period+" "+divergence+" "+order, func(t *testing.T) {
					agenttest.CheckLive(t)
					rate := first
					settings := map[string]any{"observation_preprocessor": nil, "learning_rate": rate,
						"learning_epochs": 4, "mini_batch_size": 8,
						"mini_batch_order": order, "entropy_loss_scale": 0.01}
					b := newAgent(t, plain, 1, settings)
					settings["learning_rate_scheduler"] = "KLAdaptiveLR"
					settings["learning_rate_scheduler_kwargs"] = map[string]any{"kl_threshold": threshold,
						"step": period, "divergence": divergence}
					a := newAgent(t, plain, 1, settings)
					wa, wb := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), agenttest.NewWorld(plain,
						agenttest.Seeds(1, 3)...)
					for i := range 6 {
						agenttest.Fill(t, a, wa)
						agenttest.Fill(t, b, wb)
						must(t, a.Update(t.Context()))
						before := rate
						for _, after := range update(t, b, &rate, period, divergence) {
							up, down, before = up || after > before, down || after < before, after
						}
						up, down = up || rate > before, down || rate < before
						if got := a.learner.LearningRate(); math.Abs(got-rate) > 1e-12 {
							t.Fatalf("after update %d the rate is %g, want %g", i, got, rate)
						}
						want := agenttest.Parameters(t, b)
						for name, x := range agenttest.Parameters(t, a) {
							for k := range x {
								near(t, fmt.Sprintf("update %d: %s[%d]", i, name, k), x[k], float64(want[name][k]))
							}
						}
					}
				})
			}
			if !up || !down {
				t.Errorf("%s %s: rates went up %v, down %v; want both", period, divergence, up, down)
			}
		}
	}
}

// The threshold of the schedule may change while training: an agent that is given another one learns like one that was
// made with it.
func TestScheduleKLThreshold(t *testing.T) {
	agenttest.CheckLive(t)
	make := func(threshold float64) *Agent {
		a := newAgent(t, plain, 1, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
			"learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": threshold, "step": "minibatch"}})
		return a
	}
	const key = "schedule_kl_threshold"
	a, b, other := make(1e-2), make(1e-5), make(1e-2)
	if got := a.Hyperparameters()[key]; got != 1e-2 {
		t.Errorf("%s is %g, want that of the schedule, 0.01", key, got)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if err := a.SetHyperparameters(map[string]float64{key: bad}); err == nil || !strings.Contains(err.Error(),
			key) {
			t.Errorf("%g: %v", bad, err)
		}
	}
	must(t, a.SetHyperparameters(map[string]float64{key: 1e-5}))
	if got := a.Settings().LearningRateSchedulerKwargs["kl_threshold"]; got != 1e-5 {
		t.Errorf("the schedule's setting is %v", got)
	}
	for _, x := range []*Agent{a, b, other} {
		agenttest.Learn(t, x, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 2)
	}
	agenttest.Same(t, a, b)
	if got, was := a.learner.LearningRate(), other.learner.LearningRate(); got >= was {
		t.Errorf("the rate is %g with a small threshold, %g with a large one", got, was)
	}
	plainAgent := newAgent(t, plain, 1, nil)
	if err := plainAgent.SetHyperparameters(map[string]float64{key: 0.01}); err == nil ||
		!strings.Contains(err.Error(), "KLAdaptiveLR") {
		t.Error(err)
	}
}
