package models

import (
	"math"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// seeing are Gaussian policies whose standard deviation depends on the state: of a constructor, and of the network
// language.
func seeing(t *testing.T, sp spaces.Set) map[string]Policy {
	t.Helper()
	g := DefaultGaussianConfig()
	g.StateDependentLogStd, g.InitialLogStd = true, -0.7
	perceptron, value, err := ActorCritic(sp, []int{6}, "tanh", g, 1)
	must(t, err)
	value.Close()
	t.Cleanup(perceptron.Close)
	return map[string]Policy{"perceptron": perceptron, "language": tensortest.Opened[Policy](t)(specOf(t,
		"{class: Gaussian, output: ACTIONS, state_dependent_log_std: true, initial_log_std: -0.7, network: "+
			"[{name: net, input: OBSERVATIONS, layers: [9], activations: tanh}]}").BuildPolicy(sp, 1))}
}

// With state_dependent_log_std the network gives mean and log standard deviation: it starts alike in all states, and
// densities, entropies and samples are those of the formulas.
func TestStateDependentLogStd(t *testing.T) {
	const rows, width = 5, 2
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, width)}
	for name, p := range seeing(t, sp) {
		t.Run(name, func(t *testing.T) {
			s := tensortest.NoGrad(t, tensor.CPU)
			gen := tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(1, tensor.CPU))
			in := Inputs{Observations: s.Randn(gen, rows, 3)}
			actions := s.Randn(gen, rows, width)
			for _, x := range tensortest.Float64s(t, s, p.Evaluate(s, in, actions).StdDev) {
				check.Near(t, x, math.Exp(-0.7), 1e-6, "a standard deviation begins")
			}
			for _, x := range p.Parameters() {
				s.AddTo(x.Tensor, s.Randn(gen, tensor.Shape(x.Tensor)...), 0.5)
			}
			e := p.Evaluate(s, in, actions)
			mean, std, drawn := tensortest.Float64s(t, s, e.Mean), tensortest.Float64s(t, s, e.StdDev),
				tensortest.Float64s(t, s, actions)
			logProb, entropy := tensortest.Float64s(t, s, e.LogProb), tensortest.Float64s(t, s, s.Sum(e.Entropy, -1))
			check.Same(t, tensortest.Float64s(t, s, p.Mode(s, in)), mean, "the mode")
			check.Not(t, std[0] == std[width], "standard deviations %v", std)
			for i := range rows {
				density, h := 0.0, 0.0
				for j := i * width; j < (i+1)*width; j++ {
					z := (drawn[j] - mean[j]) / std[j]
					density += -z*z/2 - math.Log(std[j]) - math.Log(2*math.Pi)/2
					h += 0.5 + 0.5*math.Log(2*math.Pi) + math.Log(std[j])
				}
				check.Near(t, logProb[i], density, 1e-4*(1+math.Abs(density)), "log-probability")
				check.Near(t, entropy[i], h, 1e-5, "entropy")
			}
			// Samples are as far from the mean as the deviation of their row says.
			const n = 4000
			many := Inputs{Observations: s.Reshape(s.Expand(s.Unsqueeze(s.Narrow(in.Observations, 0, 0, 1), 0), n, 1,
				3), n, 3)}
			a := p.Sample(s, many, gen)
			spread := tensortest.Float64s(t, s, s.Std(a.Actions, 0))
			for j := range width {
				check.Near(t, spread[j]/std[j], 1, 0.05, "the deviation of samples by that of their row")
			}
		})
	}
}
