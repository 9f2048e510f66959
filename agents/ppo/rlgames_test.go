package ppo

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/tensor"
)

// What PPO has for the recipes of rl_games, against its formulas in plain Go.

// The value of the loss for means out of bounds is that of the formula, and its gradient that of finite differences.
func TestBoundsLoss(t *testing.T) {
	const rows, width, scale, others = 4, 2, 0.3, 0.75
	means := []float64{0.2, -0.9, 1.4, -1.6, 2.5, 0, -1.25, 1.05}
	given := make([]float32, len(means))
	for i, m := range means {
		given[i] = float32(m)
	}
	for kind, limit := range map[string]float64{"limit": 0.5, "square": 0} { // which is a limit of 0
		a := newAgent(t, plain, 1, map[string]any{"bounds_loss_scale": scale, "bounds_loss_limit": 0.5,
			"bounds_loss_type": kind})
		s := withGrad(t, a.learner.Device)
		mean := s.RequireGrad(tensor.From(s, given, rows, width))
		sum, bounds := a.learner.BoundsLoss(s, models.Evaluation{Mean: mean}, s.Scalar(others))
		want := func() (loss float64) {
			for _, m := range means {
				loss += scale * math.Pow(max(math.Abs(m)-limit, 0), 2) / rows
			}
			return loss
		}
		near(t, kind+": term", tensortest.Float32s(t, s, bounds)[0], want())
		near(t, kind+": sum", tensortest.Float32s(t, s, sum)[0], others+want())
		for i, got := range tensortest.Float32s(t, s, s.Grad(sum, false, mean)[0]) {
			const h = 1e-6
			was := means[i]
			means[i] = was + h
			up := want()
			means[i] = was - h
			down := want()
			means[i] = was
			near(t, fmt.Sprintf("%s: gradient by mean %d", kind, i), got, (up-down)/(2*h))
		}
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
		"parts": {MLPs(plain, []int{8}, "tanh"), map[string]any{"mini_batches": 2}, []int{12, 12},
			func(i int) int { return i%steps*n + i/steps }},
		// Sequences of 4 stand side by side: the two of an environment, time by time.
		"memory": {Recurrent(plain, models.GRU(4), []int{8}, "tanh"), map[string]any{"mini_batch_size": 8,
			"sequence_length": 4}, []int{8, 8, 8},
			func(i int) int { return (i%8/2+i%2*4)*n + i/8 }},
	} {
		t.Run(name, func(t *testing.T) {
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
				check.Same(t, sizes, test.sizes, "sizes in pass %d", epoch)
				check.Same(t, rows, want, "rows in pass %d", epoch)
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

// The threshold of the schedule may change while training: an agent that is given another one learns like one that was
// made with it.
func TestScheduleKLThreshold(t *testing.T) {
	make := func(threshold float64) *Agent {
		return newAgent(t, plain, 1, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
			"learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": threshold, "step": "minibatch"}})
	}
	const key = "schedule_kl_threshold"
	a, b, other := make(1e-2), make(1e-5), make(1e-2)
	check.Is(t, a.Hyperparameters()[key], 1e-2, "that of the schedule")
	check.RefuseAs(t, key, a.SetHyperparameters(map[string]float64{key: math.NaN()}), key)
	must(t, a.SetHyperparameters(map[string]float64{key: 1e-5}))
	for _, x := range []*Agent{a, b, other} {
		agenttest.Learn(t, x, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 2)
	}
	agenttest.Same(t, a, b)
	if got, was := a.learner.LearningRate(), other.learner.LearningRate(); got >= was {
		t.Errorf("the rate is %g with a small threshold, %g with a large one", got, was)
	}
}

// The divergence of a minibatch is rl_games' closed form, of the policies that recorded its rows and that evaluates
// them now. With "gaussian" the present policy becomes the reference of the next pass.
func TestGaussianDivergence(t *testing.T) {
	for _, kind := range []string{schedulers.EstimatedKL, schedulers.GaussianKL, schedulers.GaussianRolloutKL} {
		a := newAgent(t, plain, 1, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "mini_batches": 1,
			"learning_rate_scheduler_kwargs": map[string]any{"step": "minibatch", "divergence": kind}})
		agenttest.Fill(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...))
		l, s := a.learner, noGrad(t, a.learner.Device)
		for b := range l.Epoch(s, 0) {
			e, _ := l.Evaluate(s, b)
			moved := models.Evaluation{Mean: s.AddScalar(e.Mean, 0.1), StdDev: s.MulScalar(e.StdDev, 1.5)}
			got := tensortest.Float64s(t, s, l.Divergence(s, b, moved, s.Scalar(7)))[0]
			if kind == schedulers.EstimatedKL {
				near(t, "the estimate", float32(got), 7)
				continue
			}
			want, n := 0.0, float64(b.Rows)
			for _, std := range tensortest.Float64s(t, s, s.Expand(e.StdDev, tensor.Shape(e.Mean)...)) {
				now := 1.5 * std
				want += (math.Log(std/now+1e-5) + (now*now+0.01)/(2*(std*std+1e-5)) - 0.5) / n
			}
			near(t, kind, float32(got), want)
			again := tensortest.Float64s(t, s, l.Divergence(s, next(l.Epoch(s, 1)), moved, s.Scalar(7)))[0]
			if zero := math.Abs(again) < 1e-3; zero != (kind == schedulers.GaussianKL) {
				t.Errorf("%s: the divergence of the next pass is %g", kind, again)
			}
		}
	}
}

// next returns the first minibatch of a pass.
func next(pass iter.Seq[onpolicy.Batch]) (b onpolicy.Batch) {
	for b = range pass {
		break
	}
	return b
}
