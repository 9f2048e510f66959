package ppo

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

func near(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); !(d <= 2e-5*(1+math.Abs(want))) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// record drives an agent through one rollout, and keeps what happened.
type history struct {
	transitions []agents.Transition
	values      [][]float32 // V of what was acted on
	next        [][]float32 // V of what came next
	final       [][]float32 // V of the finished episodes' last observations, where there are any
}

// After the steps that resets names the environments are reset and the agent is told.
func collect(t *testing.T, a *Agent, w *agenttest.World, n int, resets ...int) history {
	t.Helper()
	value := func(obs, states []float32) []float32 {
		s := noGrad(t, a.learner.Device)
		x := tensor.From(s, obs, int64(n), int64(len(obs)/n))
		var y tensor.Tensor
		if len(states) > 0 {
			y = tensor.From(s, states, int64(n), int64(len(states)/n))
		}
		return tensortest.Float32s(t, s, a.learner.ValuesOf(s, a.learner.Estimator, x, y))
	}
	var h history
	for !a.Ready() {
		in := w.Now()
		h.values = append(h.values, value(in.Observations, in.States))
		must(t, agenttest.Step(a, w))
		tr := w.Last
		h.transitions = append(h.transitions, tr)
		h.next = append(h.next, value(tr.NextObservations, tr.NextStates))
		var final []float32
		if tr.FinalObservations != nil {
			final = value(tr.FinalObservations, tr.FinalStates)
		}
		h.final = append(h.final, final)
		if k := len(h.transitions); slices.Contains(resets, k) {
			w.Reset()
			a.ResetHidden()
			if !a.Ready() { // what followed the last step of a complete rollout is known
				h.interrupt(k - 1)
			}
		}
	}
	return h
}

// interrupt truncates step k in all environments whose episode did not end with it. The value of what was acted on
// stands in for that of the last observation.
func (h history) interrupt(k int) {
	tr := &h.transitions[k]
	tr.Truncated = slices.Clone(tr.Truncated)
	final := make([]float32, len(tr.Truncated))
	copy(final, h.final[k])
	for i := range tr.Truncated {
		if !tr.Terminated[i] && !tr.Truncated[i] {
			tr.Truncated[i], final[i] = true, h.values[k][i]
		}
	}
	h.final[k] = final
}

// lambda is generalised advantage estimation as it is written in books, for environment i.
func (h history) lambda(i int, gamma, lambda float64, bootstrap bool) []float64 {
	out := make([]float64, len(h.transitions))
	after := 0.0
	for k := len(out) - 1; k >= 0; k-- {
		tr := h.transitions[k]
		next, chain := float64(h.next[k][i]), after
		switch {
		case tr.Terminated[i]:
			next, chain = 0, 0
		case tr.Truncated[i] && bootstrap:
			next, chain = float64(h.final[k][i]), 0
		case tr.Truncated[i]:
			next, chain = 0, 0
		}
		after = float64(tr.Rewards[i]) + gamma*next - float64(h.values[k][i]) + gamma*lambda*chain
		out[k] = after
	}
	return out
}

// Advantages and returns are those of the recursion: a truncation cuts the chain and counts the value of the last
// observation, a termination counts nothing. A reset of the environments is a truncation of the step before it.
func TestAdvantages(t *testing.T) {
	const n, steps, gamma, lambda = 3, 40, 0.9, 0.8
	for name, test := range map[string]struct {
		bootstrap bool
		resets    []int
	}{
		"bootstrap": {bootstrap: true}, "no bootstrap": {},
		"resets, bootstrap": {true, []int{1, 9, 22, 40}}, "resets, no bootstrap": {false, []int{1, 9, 22}},
	} {
		bootstrap := test.bootstrap
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			sp := spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(2), Action: spaces.NewBox(-2,
				2, 1)}
			a := newAgent(t, sp, 1, map[string]any{"rollouts": steps, "learning_epochs": 1, "mini_batches": 1,
				"discount_factor": gamma, "gae_lambda": lambda,
				"time_limit_bootstrap": bootstrap, "value_preprocessor": nil})
			w := agenttest.NewWorld(sp, agenttest.Seeds(1, n)...)
			h := collect(t, a, w, n, test.resets...)
			if w.Ended < 10 {
				t.Fatalf("only %d episodes ended", w.Ended)
			}
			must(t, a.Update(context.Background()))
			var advantages [n][]float64
			var sum, square float64
			for i := range n {
				advantages[i] = h.lambda(i, gamma, lambda, bootstrap)
				for _, x := range advantages[i] {
					sum += x
				}
			}
			mean := sum / (n * steps)
			for i := range n {
				for _, x := range advantages[i] {
					square += (x - mean) * (x - mean)
				}
			}
			std := math.Sqrt(square / (n*steps - 1))
			s := noGrad(t, a.learner.Device)
			gotA, gotR := tensortest.Float32s(t, s, a.learner.Rollout.Tensor("advantages")), tensortest.Float32s(t, s,
				a.learner.Rollout.Tensor("returns"))
			for k := range steps {
				for i := range n {
					near(t, "advantage", gotA[k*n+i], (advantages[i][k]-mean)/(std+1e-8))
					near(t, "return", gotR[k*n+i], advantages[i][k]+float64(h.values[k][i]))
				}
			}
		})
	}
}

// The minibatches of an epoch hold every row once, in an order that is new in every epoch, and the rows of all fields
// belong together.
func TestMinibatchesCoverRollout(t *testing.T) {
	agenttest.CheckLive(t)
	a := newAgent(t, plain, 1, map[string]any{"rollouts": 7, "mini_batches": 4, "observation_preprocessor": nil})
	agenttest.Fill(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...))
	const n = 7 * 3
	s := noGrad(t, a.learner.Device)
	ids := make([]float32, n)
	for i := range ids {
		ids[i] = float32(i)
	}
	s.Copy(a.learner.Rollout.Rows("advantages"), tensor.From(s, ids, n, 1))
	s.Copy(a.learner.Rollout.Rows("returns"), tensor.From(s, ids, n, 1))
	observations, actions := tensortest.Float32s(t, s, a.learner.Rollout.Rows("observations")), tensortest.Float32s(t,
		s, a.learner.Rollout.Rows("actions"))
	var orders [2][]float32
	for epoch := range orders {
		var sizes []int64
		for b := range a.learner.Epoch(s, epoch) {
			sizes = append(sizes, b.Rows)
			batch := tensortest.Float32s(t, s, b.Advantages)
			returns, obs, act := tensortest.Float32s(t, s, b.Returns), tensortest.Float32s(t, s,
				b.Inputs.Observations), tensortest.Float32s(t, s, b.Actions)
			for i, id := range batch {
				k := int(id)
				if returns[i] != id || obs[4*i+3] != observations[4*k+3] || act[2*i+1] != actions[2*k+1] {
					t.Errorf("the fields of row %d are not of the same transition", k)
				}
			}
			orders[epoch] = append(orders[epoch], batch...)
		}
		if len(sizes) != 4 || sizes[0] != 6 || sizes[1] != 5 || sizes[2] != 5 || sizes[3] != 5 {
			t.Errorf("minibatches of %v rows, want 6, 5, 5, 5", sizes)
		}
		seen := map[float32]bool{}
		for _, id := range orders[epoch] {
			seen[id] = true
		}
		if len(orders[epoch]) != n || len(seen) != n {
			t.Errorf("an epoch has %d rows, %d different; want all %d once", len(orders[epoch]), len(seen), n)
		}
	}
	same := 0
	for i := range orders[0] {
		if orders[0][i] == orders[1][i] {
			same++
		}
	}
	if same > n/2 {
		t.Errorf("%d of %d rows are in the same place in two epochs", same, n)
	}
}

// An update passes over the rollout learning_epochs × mini_batches times, or stops where the policy has moved too far.
func TestKLThreshold(t *testing.T) {
	steps := func(settings map[string]any) int64 {
		a := newAgent(t, plain, 1, settings)
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 1)
		return a.learner.Optimizer.Steps
	}
	if n := steps(map[string]any{"learning_epochs": 5, "mini_batches": 3}); n != 15 {
		t.Errorf("%d optimizer steps, want 15", n)
	}
	if n := steps(map[string]any{"learning_epochs": 5, "mini_batches": 3, "kl_threshold": 1e-3, "learning_rate": 0.05}); n != 1 {
		t.Errorf("%d optimizer steps before the policy has moved too far, want 1", n)
	}
}

// One learning rate and one clip a network are applied to each.
func TestRatesPerNetwork(t *testing.T) {
	a := newAgent(t, plain, 1, map[string]any{"learning_rate": []any{1e-3, 1e-2}, "grad_norm_clip": []any{0.5, 2.0}})
	check := func(rates, clips [2]float64) {
		t.Helper()
		for i := range 2 {
			if g := a.learner.Optimizer.Groups[i].LearningRate; math.Abs(g-rates[i]) > 1e-15 {
				t.Errorf("network %d: learning rate %g, want %g", i, g, rates[i])
			}
			if g := a.learner.Optimizer.Clips[i].MaxNorm; math.Abs(g-clips[i]) > 1e-15 {
				t.Errorf("network %d: clip %g, want %g", i, g, clips[i])
			}
		}
	}
	check([2]float64{1e-3, 1e-2}, [2]float64{0.5, 2})
	must(t, a.SetHyperparameters(map[string]float64{"learning_rate": 2e-3, "grad_norm_clip": 0.25}))
	check([2]float64{2e-3, 2e-2}, [2]float64{0.25, 1})

	// A schedule changes all rates, or the policy's alone.
	for networks, want := range map[string][2]float64{"all": {5e-4, 5e-3}, "policy": {5e-4, 1e-2}} {
		c := newAgent(t, plain, 1, map[string]any{"learning_rate": []any{1e-3, 1e-2},
			"learning_rate_scheduler": "LinearLR",
			"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.0,
				"total_iters": 2}, "learning_rate_scheduler_networks": networks})
		agenttest.Learn(t, c, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 1)
		for i, g := range c.learner.Optimizer.Groups {
			if math.Abs(g.LearningRate-want[i]) > 1e-12 {
				t.Errorf("schedule of %s: network %d has the rate %g, want %g", networks, i, g.LearningRate, want[i])
			}
		}
	}

	// A policy that stands still while the value learns.
	b := newAgent(t, plain, 1, map[string]any{"learning_rate": []any{1e-30, 1e-2}})
	before := agenttest.Parameters(t, b)
	agenttest.Learn(t, b, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 1)
	after := agenttest.Parameters(t, b)
	if before["policy/net.0.weight"][0] != after["policy/net.0.weight"][0] ||
		before["value/net.0.weight"][0] == after["value/net.0.weight"][0] {
		t.Error("learning rates of policy and value are not their own")
	}
}

// What an update tracks.
func TestTracked(t *testing.T) {
	a := newAgent(t, plain, 1, map[string]any{"entropy_loss_scale": 0.01, "learning_rate_scheduler": "KLAdaptiveLR"})
	agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 2)
	got := map[string]float64{}
	last := ""
	a.Tracked(func(tag string, v float64) {
		if tag <= last {
			t.Errorf("%q after %q", tag, last)
		}
		got[tag], last = v, tag
	})
	for _, tag := range []string{"Loss / Policy loss", "Loss / Value loss", "Loss / Entropy loss",
		"Policy / Standard deviation", "Learning / Learning rate",
		"Policy / KL divergence", "Policy / Clip fraction", "Policy / Entropy", "Gradient / Norm"} {
		if v, ok := got[tag]; !ok || math.IsNaN(v) {
			t.Errorf("%q is not tracked", tag)
		}
	}
	a.Tracked(func(tag string, _ float64) { t.Errorf("%q is tracked twice", tag) })
}

// With momentum μ the second of two steps down nearly the same gradient is 1 + μ times as long as the first.
func TestSGDMomentum(t *testing.T) {
	moved := func(momentum float64) float64 {
		a := newAgent(t, plain, 1, map[string]any{"optimizer": "sgd", "sgd_momentum": momentum, "learning_rate": 1e-4,
			"learning_epochs": 2,
			"mini_batches":    1, "grad_norm_clip": 0})
		before := agenttest.Parameters(t, a)["value/net.2.weight"]
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 1)
		sum := 0.0
		for i, x := range agenttest.Parameters(t, a)["value/net.2.weight"] {
			sum += math.Abs(float64(x - before[i]))
		}
		return sum
	}
	if got := moved(0.9) / moved(0); math.Abs(got-1.45) > 0.02 {
		t.Errorf("with momentum 0.9 two steps are %.3f times as long as without, want 2.9 / 2", got)
	}
}

// A rollout of pictures, and a checkpoint of it, hold one byte a value.
func TestPicturesAreBytes(t *testing.T) {
	agenttest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.NewPicture(5, 4, 3), Action: spaces.NewBox(-1, 1, 1)}
	cfg := models.CNNConfig{Convolutions: []description.Convolution{{Channels: 2, Kernel: 2}}, Features: 4, Activation: "tanh"}
	a := open(t, Options{Spaces: sp, NumEnvs: 3, Models: CNNs(sp, cfg), Dict: map[string]any{"rollouts": 4}, Seed: 1})
	w := agenttest.NewWorld(sp, agenttest.Seeds(1, 3)...)
	var seen []float32
	for !a.Ready() {
		seen = append(seen, w.Now().Observations...)
		must(t, agenttest.Step(a, w))
	}
	kept, err := agenttest.Snapshot(t, a).Bytes("rollout/observations", 4, 3, 60)
	must(t, err)
	for i, x := range seen {
		if float32(kept[i]) != x {
			t.Fatalf("value %d is kept as %d, want %g", i, kept[i], x)
		}
	}
}
