package testdevice_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

// What devices compute by formulas of their own, values and gradients, is what the CPU computes.
func TestFormulas(t *testing.T) {
	const n, width = 40, 3
	vector := func(seed int, scale float64) []float32 {
		x := make([]float32, n*width)
		for i := range x {
			x[i] = float32(scale * math.Sin(float64((i+1)*(seed+3))))
		}
		return x
	}
	column := func(s *tensor.Scope, seed int, scale float64) tensor.Tensor {
		return tensor.From(s, vector(seed, scale)[:n], n, 1)
	}
	type results struct{ of, by []tensor.Tensor } // what is compared, and by what the first is differentiated
	formulas := map[string]func(s *tensor.Scope) results{
		"surrogate": func(s *tensor.Scope) results {
			now := s.RequireGrad(column(s, 1, 0.5))
			loss, kl, share := s.Surrogate(now, column(s, 2, 0.5), column(s, 3, 1), 0.2)
			return results{[]tensor.Tensor{loss, kl, share}, []tensor.Tensor{now}}
		},
		"gaussian": func(s *tensor.Scope) results {
			mean := s.RequireGrad(tensor.From(s, vector(1, 1), n, width))
			deviation := s.RequireGrad(tensor.From(s, []float32{-0.5, 0, 0.3}))
			p := s.GaussianLogProbSum(tensor.From(s, vector(2, 1), n, width), mean, deviation)
			return results{[]tensor.Tensor{s.Mean(s.Square(p)), p}, []tensor.Tensor{mean, deviation}}
		},
		"categorical": func(s *tensor.Scope) results {
			logits := s.RequireGrad(tensor.From(s, vector(1, 1), n, width))
			p, entropy := s.Categorical(logits, s.As(s.GtScalar(column(s, 2, 1), 0), tensor.Float32), width)
			return results{[]tensor.Tensor{s.Mean(s.Square(s.Sub(p, entropy))), p, entropy}, []tensor.Tensor{logits}}
		},
		"gae": func(s *tensor.Scope) results {
			chain := s.As(s.GtScalar(column(s, 4, 1), -0.6), tensor.Float32)
			a := s.GAE(column(s, 1, 1), column(s, 2, 1), column(s, 3, 1), chain, chain, 0.99, 0.95)
			return results{of: []tensor.Tensor{a}}
		},
	}
	for name, kind := range map[string]tensor.ValueClip{"free": tensor.NoValueClip, "clipped": tensor.ClippedOnly,
		"pessimistic": tensor.Pessimistic} {
		formulas["value loss, "+name] = func(s *tensor.Scope) results {
			now := s.RequireGrad(column(s, 1, 1))
			return results{[]tensor.Tensor{s.ValueLoss(now, column(s, 2, 1), column(s, 3, 1), 0.4, kind)},
				[]tensor.Tensor{now}}
		}
	}
	for name, f := range map[string]tensor.Activation{"identity": tensor.Identity, "relu": tensor.Relu,
		"tanh": tensor.Tanh, "sigmoid": tensor.Sigmoid,
		"elu": tensor.Elu, "softplus": tensor.Softplus} { // the last by differentiating twice
		formulas["penalty, "+name] = func(s *tensor.Scope) results {
			w := []tensor.Tensor{s.RequireGrad(tensor.From(s, vector(1, 1)[:4*width], 4, width)),
				s.RequireGrad(tensor.From(s, vector(2, 1)[:20], 5, 4)),
				s.RequireGrad(tensor.From(s, vector(3, 1)[:5], 1, 5))}
			b := []tensor.Tensor{s.RequireGrad(tensor.From(s, vector(4, 1)[:4])), {},
				s.RequireGrad(tensor.From(s, vector(5, 1)[:1]))}
			out, penalty := s.Critic(tensor.From(s, vector(6, 1), n, width), &tensor.Layers{Weights: w, Biases: b,
				Activations: []tensor.Activation{f, f, tensor.Identity}})
			return results{[]tensor.Tensor{s.Add(penalty, s.Mean(s.Square(out))), out, penalty}, append(w, b[0], b[2])}
		}
	}
	for name, formula := range formulas {
		t.Run(name, func(t *testing.T) {
			numbers := func(s *tensor.Scope) (all [][]float32) {
				r := formula(s)
				if len(r.by) > 0 && s.Err() == nil {
					s.Backward(r.of[0])
				}
				for _, x := range r.of {
					all = append(all, tensortest.Float32s(t, s, x))
				}
				for _, x := range r.by {
					all = append(all, tensortest.Float32s(t, s, s.GradOf(x)))
				}
				return all
			}
			cpu := tensor.NewScope()
			defer cpu.Close()
			want, got := numbers(cpu), numbers(on(t, 0))
			for i := range want {
				for j := range want[i] {
					if d := math.Abs(float64(want[i][j] - got[i][j])); !(d <= 2e-6*(1+math.Abs(float64(want[i][j])))) {
						t.Errorf("result %d is %v, on the CPU %v", i, fmt.Sprint(got[i]), fmt.Sprint(want[i]))
						break
					}
				}
			}
		})
	}
}
