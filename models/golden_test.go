package models_test

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// TestGolden compares log-probabilities and entropies with those of skrl's distributions.
func TestGolden(t *testing.T) {
	golden.Parts(t, func(t *testing.T, parts map[string]golden.Tensor) {
		p := part{t, parts, golden.NewComparison(t), tensor.NoGrad()}
		defer p.s.Close()
		p.gaussian(models.NewGaussian, "sum", "gaussian/log_prob_sum", "gaussian/entropy")
		p.gaussian(models.NewGaussian, "mean", "gaussian/log_prob_mean", "gaussian/entropy")
		// The joint density of the standard deviation e^log_std, which the case has, is what skrl computes for half the
		// log standard deviation.
		p.gaussian(models.NewMultivariateGaussian, "sum", "multivariate_gaussian/log_prob",
			"multivariate_gaussian/entropy")
		p.categorical()
		p.multiCategorical()
		must(t, p.s.Err())
	})
}

type part struct {
	t       *testing.T
	arrays  map[string]golden.Tensor
	compare *golden.Comparison
	s       *tensor.Scope
}

func (p part) get(name string) golden.Tensor {
	p.t.Helper()
	check.Not(p.t, len(p.arrays[name].Data) == 0, "there is no %s", name)
	return p.arrays[name]
}

// rows is an array of two dimensions.
func (p part) rows(name string) tensor.Tensor {
	p.t.Helper()
	x := p.get(name)
	return tensor.From(p.s, x.Float32s(), int64(x.Shape[0]), int64(x.Shape[1]))
}

func (p part) check(name string, got tensor.Tensor) {
	p.t.Helper()
	values := check.Get(tensor.Float32s(p.s.Contiguous(got)))(p.t)
	golden.Compare(p.compare, name, values, p.get(name))
}

// gaussian compares log-probabilities and entropies under a distribution with the case's log standard deviation.
func (p part) gaussian(make func(spaces.Space, models.GaussianConfig) (*models.Gaussian, error), reduction, logProb,
	entropy string) {
	p.t.Helper()
	logStd := p.get("gaussian/log_std").Float32s()
	cfg := models.DefaultGaussianConfig()
	cfg.Reduction = reduction
	g := check.Get(make(spaces.Unbounded(len(logStd)), cfg))(p.t)
	p.t.Cleanup(g.Close)
	must(p.t, tensor.Write(g.LogStd(), logStd))
	e := g.Evaluate(p.s, p.rows("gaussian/mean"), p.rows("gaussian/action"))
	p.check(logProb, e.LogProb)
	// skrl gives the entropy of every row.
	p.check(entropy, p.s.Add(e.Entropy, p.s.Zeros(int64(p.get(entropy).Shape[0]), 1)))
}

func (p part) categorical() {
	p.t.Helper()
	logits := p.get("categorical/logits")
	c := check.Get(models.NewCategorical(spaces.NewDiscrete(logits.Shape[1])))(p.t)
	e := c.Evaluate(p.s, p.rows("categorical/logits"), p.rows("categorical/action"))
	p.check("categorical/log_prob", e.LogProb)
	p.check("categorical/entropy", e.Entropy)
}

func (p part) multiCategorical() {
	p.t.Helper()
	var nvec []int
	for _, n := range p.get("multicategorical/nvec").Data {
		nvec = append(nvec, int(n))
	}
	c := check.Get(models.NewMultiCategorical(spaces.NewMultiDiscrete(nvec...), "sum"))(p.t)
	e := c.Evaluate(p.s, p.rows("multicategorical/logits"), p.rows("multicategorical/action"))
	p.check("multicategorical/log_prob_sum", e.LogProb)

	// skrl gives each index's entropy; an action's is their sum.
	each := p.get("multicategorical/entropy_each")
	sum := golden.Tensor{Shape: []int{each.Shape[0], 1}, Data: make([]float64, each.Shape[0])}
	for i, h := range each.Data {
		sum.Data[i/each.Shape[1]] += h
	}
	got := check.Get(tensor.Float32s(e.Entropy))(p.t)
	golden.Compare(p.compare, "multicategorical/entropy", got, sum)
}

// must ends the test if its error is not nil.
var must = check.Do
