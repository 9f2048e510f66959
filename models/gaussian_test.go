package models

import (
	"math"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// seeing are Gaussian policies whose standard deviation depends on the state, on networks of every kind.
func seeing(t *testing.T, sp spaces.Set) map[string]Policy {
	t.Helper()
	g := DefaultGaussianConfig()
	g.StateDependentLogStd, g.InitialLogStd = true, -0.7
	out := map[string]Policy{}
	add := func(name string) func(Policy, Network, error) {
		return func(p Policy, v Network, err error) {
			must(t, err)
			t.Cleanup(p.Close)
			t.Cleanup(v.Close)
			out[name] = p
		}
	}
	architecture := check.Get(description.NewArchitecture(sp.Observation, nil, 0, []int{6}, "tanh"))(t)
	add("perceptron")(ActorCritic(sp, []int{6}, "tanh", g, 1))
	add("memory")(RecurrentActorCritic(sp, GRU(4), []int{6}, "tanh", g, 1))
	add("evolvable")(EvolvableActorCritic(sp, architecture, architecture, g, 1))
	net := []any{map[string]any{"name": "net", "input": "OBSERVATIONS",
		"layers": []any{map[string]any{"linear": "3 * NUM_ACTIONS"}}, "activations": "tanh"}}
	policy := check.Get(ParseSpec(map[string]any{"class": "GaussianMixin", "output": "ACTIONS", "network": net,
		"state_dependent_log_std": true, "initial_log_std": -0.7}))(t)
	value, err := ParseSpec(map[string]any{"class": "DeterministicMixin", "output": "ONE", "network": net})
	must(t, err)
	add("shared")(BuildShared(policy, value, sp, 1))
	alone, err := policy.BuildPolicy(sp, 1)
	must(t, err)
	v, err := RecurrentValue(sp, RecurrentLayer{}, []int{4}, "tanh", 1)
	add("language")(alone, v, err)
	return out
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
				if math.Abs(x-math.Exp(-0.7)) > 1e-6 {
					t.Fatalf("a standard deviation begins at %g, want %g", x, math.Exp(-0.7))
				}
			}
			for _, x := range p.Parameters() {
				if x.Name == "log_std_parameter" {
					t.Error("there is a log_std_parameter")
				}
				s.AddTo(x.Tensor, s.Randn(gen, tensor.Shape(x.Tensor)...), 0.5)
			}
			e := p.Evaluate(s, in, actions)
			mean, std, drawn := tensortest.Float64s(t, s, e.Mean), tensortest.Float64s(t, s, e.StdDev),
				tensortest.Float64s(t, s, actions)
			logProb, entropy := tensortest.Float64s(t, s, e.LogProb), tensortest.Float64s(t, s, s.Sum(e.Entropy, -1))
			mode := tensortest.Float64s(t, s, p.Mode(s, in))
			if len(std) != rows*width || len(mean) != rows*width || std[0] == std[width] {
				t.Fatalf("means %v, standard deviations %v", mean, std)
			}
			for i := range rows {
				density, h := 0.0, 0.0
				for j := i * width; j < (i+1)*width; j++ {
					z := (drawn[j] - mean[j]) / std[j]
					density += -z*z/2 - math.Log(std[j]) - math.Log(2*math.Pi)/2
					h += 0.5 + 0.5*math.Log(2*math.Pi) + math.Log(std[j])
					if mode[j] != mean[j] {
						t.Errorf("the mode is %g, the mean %g", mode[j], mean[j])
					}
				}
				if math.Abs(logProb[i]-density) > 1e-4*(1+math.Abs(density)) || math.Abs(entropy[i]-h) > 1e-5 {
					t.Errorf("row %d: log-probability %g, entropy %g; want %g, %g", i, logProb[i], entropy[i], density,
						h)
				}
			}
			// Samples are as far from the mean as the deviation of their row says.
			const n = 4000
			many := Inputs{Observations: s.Reshape(s.Expand(s.Unsqueeze(s.Narrow(in.Observations, 0, 0, 1), 0), n, 1,
				3), n, 3)}
			a := p.Sample(s, many, gen)
			spread := tensortest.Float64s(t, s, s.Std(a.Actions, 0))
			for j := range width {
				if math.Abs(spread[j]/std[j]-1) > 0.05 {
					t.Errorf("samples have the deviation %g, want %g", spread[j], std[j])
				}
			}
		})
	}
}
