package amp

import (
	"context"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// following returns settings of quick updates with differences.
func following(settings map[string]any) map[string]any {
	out := small(map[string]any{"discriminator_mode": "differential",
		"amp_observation_preprocessor": "RunningMeanAbsScaler"})
	for k, v := range settings {
		out[k] = v
	}
	return out
}

// perceptron is the discriminator in float64, of one hidden layer of tanh: its logit of a row, and the square of that
// logit's gradient by the row.
type perceptron struct {
	w1, w2 []float64 // (H, M), (H)
	b1     []float64
	b2     float64
}

func readPerceptron(t *testing.T, n models.Network) perceptron {
	t.Helper()
	wide := func(i int) (out []float64) {
		values, err := tensor.Float32s(n.Parameters()[i].Tensor)
		must(t, err)
		for _, x := range values {
			out = append(out, float64(x))
		}
		return out
	}
	return perceptron{w1: wide(0), b1: wide(1), w2: wide(2), b2: wide(3)[0]}
}

func (p perceptron) at(x []float64) (logit, slope float64) {
	logit = p.b2
	gradient := make([]float64, len(x))
	for h, w := range p.w2 {
		z := p.b1[h]
		for j, v := range x {
			z += p.w1[h*len(x)+j] * v
		}
		y := math.Tanh(z)
		logit += w * y
		for j := range x {
			gradient[j] += w * (1 - y*y) * p.w1[h*len(x)+j]
		}
	}
	for _, g := range gradient {
		slope += g * g
	}
	return logit, slope
}

// The loss of differences is that of the paper, computed row by row, and its gradient by every weight that of finite
// differences:
//
//	½(softplus(−D(0)) + E softplus(D(d))) + 0.01·Σw² + λ·½(E‖∇D(d)‖² + ‖∇D(0)‖²), λ = 2
//
// where d are the differences of the policy, now and earlier, divided by their mean size.
func TestDifferentialLoss(t *testing.T) {
	agenttest.CheckLive(t)
	a := open(t, Options{Spaces: plain, Models: MLPs(plain, []int{6}, "tanh"), Seed: 3, Dict: following(map[string]any{
		"discriminator_loss_scale": 1, "discriminator_weight_decay_scale": 0})})
	c := a.Settings()
	if c.DiscriminatorGradientPenaltyScale != 2 || c.DiscriminatorGradientPenaltySamples != "both" ||
		c.DiscriminatorLogitRegularizationScale != 0.01 {
		t.Errorf("the defaults are not the paper's: %v", c)
	}
	l := a.learner
	s := withGrad(t, l.Device)
	for _, p := range l.discriminator.Parameters() {
		s.Scale(p.Tensor, 2)
	}
	mean := []float64{0.5, 2, 1e-9} // the last is divided by 1e-4
	must(t, tensor.Write(l.scaler.(*preprocessors.RunningMeanAbsScaler).Mean, mean))
	now, earlier := s.Randn(l.Gen, 4, 3), s.Randn(l.Gen, 4, 3)
	s.Scale(s.Narrow(now, 1, 2, 1), 1e-4)
	s.Scale(s.Narrow(earlier, 1, 2, 1), 1e-4)
	l.Draw = told{random{l}, earlier}
	rows := append(tensortest.Float32s(t, s, now), tensortest.Float32s(t, s, earlier)...)

	want := func() float64 {
		d := readPerceptron(t, l.discriminator)
		softplus := func(x float64) float64 { return math.Log1p(math.Exp(x)) }
		perfect, slope := d.at(make([]float64, 3))
		sum, slopes := 0.0, 0.0
		for i := 0; i < len(rows); i += 3 {
			x := make([]float64, 3)
			for j := range x {
				x[j] = float64(rows[i+j]) / math.Max(mean[j], 1e-4)
			}
			logit, slope := d.at(x)
			sum, slopes = sum+softplus(logit)/8, slopes+slope/8
		}
		squares := 0.0
		for _, w := range d.w2 {
			squares += w * w
		}
		return 0.5*(softplus(-perfect)+sum) + 0.01*squares + 2*0.5*(slopes+slope)
	}

	l.Flat.ZeroGrad(s)
	v := l.discriminate(s, onpolicy.Batch{Rows: 4, Fields: map[string]tensor.Tensor{"amp_observations": now}},
		tensor.Tensor{})
	near(t, "loss", float64(tensortest.Float32s(t, s, v.loss)[0]), want(), 1e-5)
	s.Backward(v.loss)
	for _, p := range l.discriminator.Parameters() {
		values, slope := tensortest.Float32s(t, s, p.Tensor), tensortest.Float32s(t, s, s.GradOf(p.Tensor))
		for i := range values {
			const h = 1e-2
			at := func(x float32) float64 {
				moved := append([]float32(nil), values...)
				moved[i] = x
				must(t, tensor.Write(p.Tensor, moved))
				return want()
			}
			up, down := at(values[i]+h), at(values[i]-h)
			at(values[i])
			if diff := (up - down) / (2 * h); math.Abs(float64(slope[i])-diff) > 1e-3*(1+math.Abs(diff)) {
				t.Errorf("∂loss/∂%s[%d] is %g, finite differences say %g", p.Name, i, slope[i], diff)
			}
		}
	}
}

// told draws earlier rows that it was told.
type told struct {
	random
	replay tensor.Tensor
}

func (d told) ReplayRows(*tensor.Scope, int, int64) tensor.Tensor { return d.replay }

// The scaler learns from the rollout's differences alone, and the replay buffer keeps them as they were observed.
func TestDifferentialMemories(t *testing.T) {
	a := open(t, Options{Spaces: plain, Models: MLPs(plain, []int{8}, "tanh"), Seed: 1, Dict: following(nil)})
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)
	agenttest.Fill(t, a, w)
	s := noGrad(t, a.learner.Device)
	rows := tensortest.Float32s(t, s, a.learner.Rollout.Rows("amp_observations"))
	must(t, a.Update(context.Background()))
	kept := tensortest.Float32s(t, s, s.Narrow(a.learner.replay.Data(), 0, 0, a.learner.replay.Len()))
	mean := make([]float64, 3)
	for i, x := range rows {
		if kept[i] != x {
			t.Fatalf("value %d is kept as %g, and was observed as %g", i, kept[i], x)
		}
		mean[i%3] += math.Abs(float64(x)) / 24
	}
	scaler := a.learner.scaler.(*preprocessors.RunningMeanAbsScaler)
	for j, m := range tensortest.Float64s(t, s, scaler.Mean) {
		near(t, "mean", m, mean[j], 1e-6)
	}
	if n := tensortest.Float64s(t, s, scaler.Count)[0]; n != 24 {
		t.Errorf("the scaler has seen %g rows, want 24", n)
	}
	for name := range agenttest.Snapshot(t, a).Arrays {
		if name == "motion_dataset/rows" {
			t.Error("there is a motion dataset")
		}
	}
}
