package models

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

func TestMLPRefuses(t *testing.T) {
	tensortest.CheckLive(t)
	for name, c := range map[string]struct {
		cfg  MLPConfig
		want string
	}{
		"no inputs":        {MLPConfig{Outputs: 1}, "0 inputs"},
		"negative outputs": {MLPConfig{Inputs: 1, Outputs: -2}, "-2 outputs"},
		"zero width":       {MLPConfig{Inputs: 1, Outputs: 1, Hidden: []int{4, 0}}, "hidden layer 1 has width 0"},
		"activations": {MLPConfig{Inputs: 1, Outputs: 1, Hidden: []int{4, 4}, Activations: []string{"elu"}},
			"2 hidden layers and 1 activations"},
		"unknown": {MLPConfig{Inputs: 1, Outputs: 1, Hidden: []int{4}, Activation: "eluu"},
			`unknown activation "eluu"`},
		"source": {MLPConfig{Inputs: 1, Outputs: 1, Source: "actions"}, "want observations or states"},
	} {
		if _, err := NewMLP(c.cfg, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

func TestDistributionsRefuse(t *testing.T) {
	tensortest.CheckLive(t)
	box, free, discrete := spaces.NewBox(-1, 1, 2), spaces.Unbounded(2), spaces.NewDiscrete(3)
	clip, mean := DefaultGaussianConfig(), DefaultGaussianConfig()
	clip.ClipActions, mean.ClipMeanActions = true, true
	gaussian := func(action spaces.Space, cfg GaussianConfig) error {
		_, err := NewGaussian(action, cfg)
		return err
	}
	_, multivariate := NewMultivariateGaussian(free, clip)
	_, categorical := NewCategorical(box)
	_, multi := NewMultiCategorical(box, "")
	_, reduction := NewMultiCategorical(spaces.NewMultiDiscrete(2, 2), "none")
	_, policy := NewPolicy(nil, nil)
	_, shared := NewShared(nil, nil, nil, nil)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"clip_actions unbounded":      {gaussian(free, clip), "clip_actions"},
		"clip_mean_actions unbounded": {gaussian(free, mean), "clip_mean_actions"},
		"Gaussian of Discrete":        {gaussian(discrete, DefaultGaussianConfig()), "needs a Box"},
		"limits":                      {gaussian(box, GaussianConfig{MinLogStd: 1, MaxLogStd: 0}), "exceeds"},
		"reduction":                   {gaussian(box, GaussianConfig{Reduction: "max"}), "reduction"},
		"NaN":                         {gaussian(box, GaussianConfig{InitialLogStd: math.NaN()}), "initial_log_std"},
		"multivariate unbounded":      {multivariate, "clip_actions"},
		"Categorical of Box":          {categorical, "needs a Discrete"},
		"MultiCategorical of Box":     {multi, "needs a MultiDiscrete"},
		"MultiCategorical reduction":  {reduction, "want sum, mean or prod"},
		"policy of nothing":           {policy, "needs a network"},
		"shared of nothing":           {shared, "needs a trunk"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, c.err, c.want)
		}
	}
	net, err := NewMLP(MLPConfig{Inputs: 3, Outputs: 5}, 1)
	must(t, err)
	defer net.Close()
	dist, err := NewGaussian(box, DefaultGaussianConfig())
	must(t, err)
	defer dist.Close()
	if _, err := NewPolicy(net, dist); err == nil || !strings.Contains(err.Error(),
		"5 outputs, its distribution needs 2") {
		t.Errorf("error %v", err)
	}
}

// Log-probabilities and entropies against the textbook.
func TestGaussianFormulas(t *testing.T) {
	tensortest.CheckLive(t)
	mean, action, logStd := []float32{0.5, -1, 2}, []float32{0, 1, 2.5}, -0.5
	want := 0.0
	for i := range mean {
		z := (float64(action[i]) - float64(mean[i])) / math.Exp(logStd)
		want += -z*z/2 - logStd - math.Log(2*math.Pi)/2
	}
	entropy := 3 * (0.5 + math.Log(2*math.Pi)/2 + logStd)
	s := tensor.NoGrad()
	defer s.Close()
	for _, c := range []struct {
		name string
		make func(spaces.Space, GaussianConfig) (*Gaussian, error)
		cols int64
	}{{"Gaussian", NewGaussian, 3}, {"MultivariateGaussian", NewMultivariateGaussian, 1}} {
		cfg := DefaultGaussianConfig()
		cfg.InitialLogStd = logStd
		g, err := c.make(spaces.Unbounded(3), cfg)
		must(t, err)
		e := g.Evaluate(s, tensor.From(s, mean, 1, 3), tensor.From(s, action, 1, 3))
		wantNear(t, c.name+" log-probability", tensortest.Float64s(t, s, e.LogProb), []float64{want}, 1e-5)
		if got := tensor.Size(e.Entropy, -1); got != c.cols {
			t.Errorf("%s: the entropy has %d columns, want %d", c.name, got, c.cols)
		}
		wantNear(t, c.name+" entropy", tensortest.Float64s(t, s, s.Sum(e.Entropy)), []float64{entropy}, 1e-5)
		g.Close()
	}
}

// Clipping limits what is executed, the mean and the deviation; the log-probability stays that of what was drawn.
func TestGaussianClipping(t *testing.T) {
	tensortest.CheckLive(t)
	cfg := DefaultGaussianConfig()
	cfg.ClipActions, cfg.InitialLogStd, cfg.MaxLogStd = true, 5, 1
	g, err := NewGaussian(spaces.NewBox(-1, 1, 1), cfg)
	must(t, err)
	defer g.Close()
	gen, err := tensor.NewGenerator(3, tensor.CPU)
	must(t, err)
	defer gen.Close()
	s := tensor.NoGrad()
	defer s.Close()
	out := s.Zeros(500, 1)
	a := g.Sample(s, out, gen)
	wantNear(t, "standard deviation", tensortest.Float64s(t, s, a.StdDev), []float64{math.E}, 1e-6)
	beyond := 0
	drawn, executed := tensortest.Float64s(t, s, a.Actions), tensortest.Float64s(t, s, a.Executed)
	for i := range drawn {
		if math.Abs(drawn[i]) > 1 {
			beyond++
		}
		if executed[i] != math.Max(-1, math.Min(1, drawn[i])) {
			t.Fatalf("action %g was executed as %g", drawn[i], executed[i])
		}
	}
	if beyond < 250 { // 71 % of draws with a standard deviation of e
		t.Errorf("only %d of 500 draws lay beyond the limits", beyond)
	}
	wantNear(t, "log-probability", tensortest.Float64s(t, s, a.LogProb), tensortest.Float64s(t, s, g.Evaluate(s, out,
		a.Actions).LogProb), 1e-6)
	// skrl 2.0's log-probability is that of the clipped action.
	g.cfg.ClipBeforeLogProb = true
	a = g.Sample(s, out, gen)
	wantNear(t, "log-probability of clipped actions", tensortest.Float64s(t, s, a.LogProb),
		tensortest.Float64s(t, s, g.Evaluate(s, out, a.Executed).LogProb), 1e-6)
}

func TestCategoricalFormulas(t *testing.T) {
	tensortest.CheckLive(t)
	logits := []float32{0.2, -0.4, 1, 0, -1}
	first, second := softmax(logits[:2]), softmax(logits[2:])
	for reduction, join := range map[string]func(a, b float64) float64{
		"":     func(a, b float64) float64 { return a + b },
		"mean": func(a, b float64) float64 { return (a + b) / 2 },
		"prod": func(a, b float64) float64 { return a * b },
	} {
		c, err := NewMultiCategorical(spaces.NewMultiDiscrete(2, 3), reduction)
		must(t, err)
		s := tensor.NoGrad()
		out := tensor.From(s, logits, 1, 5)
		e := c.Evaluate(s, out, tensor.From(s, []float32{1, 2}, 1, 2))
		wantNear(t, reduction+" log-probability", tensortest.Float64s(t, s, e.LogProb), []float64{join(math.Log(first[1]),
			math.Log(second[2]))}, 1e-5)
		wantNear(t, reduction+" entropy", tensortest.Float64s(t, s, e.Entropy), []float64{join(entropyOf(first),
			entropyOf(second))}, 1e-5)
		wantNear(t, "mode", tensortest.Float64s(t, s, c.Mode(s, out)), []float64{0, 0}, 0)
		s.Close()
	}
}

func softmax(x []float32) []float64 {
	p, sum := make([]float64, len(x)), 0.0
	for i, v := range x {
		p[i] = math.Exp(float64(v))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func entropyOf(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		h -= x * math.Log(x)
	}
	return h
}

// Sampled choices come as often as their probabilities say, each index on its own.
func TestMultiCategoricalFrequencies(t *testing.T) {
	tensortest.CheckLive(t)
	c, err := NewMultiCategorical(spaces.NewMultiDiscrete(2, 3), "")
	must(t, err)
	gen, err := tensor.NewGenerator(5, tensor.CPU)
	must(t, err)
	defer gen.Close()
	s := tensor.NoGrad()
	defer s.Close()
	logits := []float32{0.5, -0.5, 0, 1, -1}
	const n = 20_000
	out := s.Expand(tensor.From(s, logits, 1, 5), n, 5)
	a := c.Sample(s, out, gen)
	rows := tensortest.Float64s(t, s, a.Actions)
	var joint [2][3]float64
	for i := 0; i < n; i++ {
		joint[int(rows[2*i])][int(rows[2*i+1])]++
	}
	first, second := softmax(logits[:2]), softmax(logits[2:])
	for i := range joint {
		for j, count := range joint[i] {
			p := first[i] * second[j]
			// Five standard deviations: one run in a million would fail, and the seed is fixed.
			if d := math.Abs(count/n - p); d > 5*math.Sqrt(p*(1-p)/n) {
				t.Errorf("choice (%d, %d) came with frequency %.4f, want %.4f", i, j, count/n, p)
			}
		}
	}
	wantNear(t, "log-probability", tensortest.Float64s(t, s, a.LogProb), tensortest.Float64s(t, s, c.Evaluate(s, out,
		a.Actions).LogProb), 1e-6)
}

// One pass over a shared trunk gives the gradient that two passes give.
func TestSharedGradient(t *testing.T) {
	tensortest.CheckLive(t)
	mlp := func(in, out int, seed int64) *Net {
		m, err := NewMLP(MLPConfig{Inputs: in, Outputs: out, Hidden: []int{6}, Activation: "tanh"}, seed)
		must(t, err)
		return m
	}
	dist, err := NewGaussian(spaces.Unbounded(2), DefaultGaussianConfig())
	must(t, err)
	trunk := mlp(3, 5, 1)
	shared, err := NewShared(trunk, mlp(5, 2, 2), mlp(5, 1, 3), dist)
	must(t, err)
	p, v := shared.Policy(), shared.Value()
	defer v.Close()
	defer p.Close()
	gradient := func(both bool) []float64 {
		s := tensor.NewScope()
		defer s.Close()
		in := Inputs{Observations: tensor.From(s, []float32{1, 2, -1, 0.5, 0, 3}, 2, 3)}
		actions := tensor.From(s, []float32{1, 0, -1, 2}, 2, 2)
		var e Evaluation
		var values tensor.Tensor
		if both {
			e, values = EvaluateBoth(s, p, v, in, in, actions)
		} else {
			e, values = p.Evaluate(s, in, actions), v.Forward(s, in)
		}
		loss := s.Add(s.Sum(e.LogProb), s.Sum(s.Square(values)))
		return tensortest.Float64s(t, s, s.Grad(loss, false, trunk.LinearWeights()[0])[0])
	}
	got, want := gradient(true), gradient(false)
	wantNear(t, "gradient", got, want, 1e-5)
	for _, x := range want {
		if x != 0 {
			return
		}
	}
	t.Error("the gradient vanishes")
}

// doubled is a network of one's own: one weight a column.
type doubled struct {
	weight tensor.Tensor
	scope  *tensor.Scope
}

func newDoubled(width int64) *doubled {
	s := tensor.NoGrad()
	return &doubled{s.RequireGrad(s.Full(tensor.Float32, 2, width)), s}
}

func (d *doubled) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	return s.Mul(in.Observations, d.weight)
}
func (d *doubled) Parameters() []tensor.Parameter {
	return []tensor.Parameter{{Name: "scale", Tensor: d.weight}}
}
func (d *doubled) Close() { d.scope.Close() }

func TestCustomNetwork(t *testing.T) {
	tensortest.CheckLive(t)
	dist, err := NewGaussian(spaces.Unbounded(2), DefaultGaussianConfig())
	must(t, err)
	p, err := NewPolicy(newDoubled(2), dist)
	must(t, err)
	defer p.Close()
	s := tensor.NewScope()
	defer s.Close()
	in := Inputs{Observations: tensor.From(s, []float32{3, -4}, 1, 2)}
	wantNear(t, "mode", tensortest.Float64s(t, s, p.Mode(s, in)), []float64{6, -8}, 0)
	e := p.Evaluate(s, in, tensor.From(s, []float32{5, -8}, 1, 2))
	// d/dw of −(a − w·x)²/2 is (a − w·x)·x = (5 − 6)·3.
	wantNear(t, "gradient", tensortest.Float64s(t, s, s.Grad(e.LogProb, false, p.Parameters()[1].Tensor)[0]), []float64{-3,
		0}, 1e-6)
}

func TestDeterministicHasNoProbabilities(t *testing.T) {
	tensortest.CheckLive(t)
	d, err := NewDeterministic(spaces.Unbounded(1), false)
	must(t, err)
	defer d.Close()
	s := tensor.NoGrad()
	defer s.Close()
	out := tensor.From(s, []float32{4}, 1, 1)
	wantNear(t, "action", tensortest.Float64s(t, s, d.Sample(s, out, nil).Executed), []float64{4}, 0)
	d.Evaluate(s, out, out)
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "use a Gaussian") {
		t.Errorf("error %v", err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
