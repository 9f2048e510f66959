package models

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

func sampled(s *tensor.Scope, space spaces.Space, n int) tensor.Tensor {
	rows := make([]float32, n*space.Width())
	space.Sample(rand.New(rand.NewPCG(3, 4)), rows)
	return tensor.From(s, rows, int64(n), int64(space.Width()))
}

// Every kind of network computes what its layers, applied one by one to the parts of its rows, do.
func TestEvolvableForward(t *testing.T) {
	for name, c := range map[string]struct {
		space   spaces.Space
		encoder []int
		latent  int
	}{
		"encoder":        {spaces.Unbounded(5), []int{6, 4}, 3},
		"multi-discrete": {spaces.NewMultiDiscrete(4, 2), []int{6}, 3},
		"dict":           {dict(), []int{6}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			a := architecture(t, c.space, c.encoder, c.latent, []int{7, 6}, "tanh")
			a.Head.Activations = []string{"relu", "elu"}
			e := tensortest.Opened[*Net](t)(NewEvolvable(EvolvableConfig{Architecture: a, Outputs: 2,
				OutputActivation: "sigmoid"}, 5))
			s := tensortest.NoGrad(t, tensor.CPU)
			rows := sampled(s, c.space, 9)
			params := byName(e.Parameters())
			linear := func(x tensor.Tensor, layer string, f tensor.Activation) tensor.Tensor {
				return s.Activate(f, s.Linear(x, params[layer+".weight"], params[layer+".bias"]))
			}
			var features []tensor.Tensor
			column := int64(0)
			for _, p := range a.Parts {
				x := s.Narrow(rows, 1, column, int64(p.Width))
				if len(p.Choices) > 0 {
					x = oneHot(s, x, p.Choices)
				}
				column += int64(p.Width)
				if c.latent > 0 {
					for i := range c.encoder {
						x = linear(x, fmt.Sprintf("encoder.%s.%d", p.Name, i), tensor.Tanh)
					}
					x = linear(x, "encoder."+p.Name+".out", tensor.Tanh)
				}
				features = append(features, x)
			}
			x := linear(linear(s.Cat(1, features...), "head.0", tensor.Relu), "head.1", tensor.Elu)
			alike(t, s, "forward", e.Forward(s, Inputs{Observations: rows}),
				linear(x, "head.out", tensor.Sigmoid), 5e-7)
		})
	}
}

// The penalty is the mean squared gradient by central differences.
func TestEvolvableForwardPenalty(t *testing.T) {
	a := architecture(t, dict(), []int{6}, 4, []int{5}, "tanh")
	e := tensortest.Opened[*Net](t)(NewEvolvable(EvolvableConfig{Architecture: a, Outputs: 1, Source: "states"}, 5))
	s := tensortest.WithGrad(t, tensor.CPU)
	rows := sampled(s, dict(), 4)
	out, penalty := e.ForwardPenalty(s, Inputs{States: rows})
	alike(t, s, "outputs", out, e.Forward(s, Inputs{States: rows}), 5e-7)
	var numbers []bool // by column
	for _, p := range a.Parts {
		numbers = append(numbers, slices.Repeat([]bool{len(p.Choices) == 0}, p.Width)...)
	}
	want := meanSquaredGradient(t, s, tensortest.Float32s(t, s, rows), 4, numbers,
		func(x tensor.Tensor) tensor.Tensor { return e.Forward(s, Inputs{States: x}) })
	wantNear(t, "penalty", tensortest.Float64s(t, s, penalty), []float64{want}, 1e-3)
}

// meanSquaredGradient returns the mean over n rows of ‖∂f/∂x‖², by central differences. numbers marks the columns that
// count; nil is all.
func meanSquaredGradient(t *testing.T, s *tensor.Scope, rows []float32, n int, numbers []bool,
	f func(x tensor.Tensor) tensor.Tensor) (sum float64) {
	t.Helper()
	const h = 1e-2
	w := len(rows) / n
	for column := range w {
		if numbers != nil && !numbers[column] {
			continue
		}
		at := func(step float32) []float64 {
			moved := slices.Clone(rows)
			for row := range n {
				moved[row*w+column] += step
			}
			return tensortest.Float64s(t, s, f(tensor.From(s, moved, int64(n), int64(w))))
		}
		up, down := at(h), at(-h)
		for row := range n {
			g := (up[row] - down[row]) / (2 * h)
			sum += g * g / float64(n)
		}
	}
	return sum
}

func dict() spaces.Space {
	return spaces.NewDict(map[string]spaces.Space{
		"goal": spaces.Unbounded(3), "gripper": spaces.NewDiscrete(4),
		"arm": spaces.NewDict(map[string]spaces.Space{"modes": spaces.NewMultiDiscrete(2, 3),
			"speeds": spaces.Unbounded(2)}),
	})
}

func architecture(t testing.TB, s spaces.Space, encoder []int, latent int, head []int,
	activation string) description.Architecture {
	t.Helper()
	return check.Get(description.NewArchitecture(s, encoder, latent, head, activation))(t)
}

// An evolvable network computes, with the same parameters, what the network with the same layers does that is made for
// pictures or with memory, and its state.
func TestEvolvableLikeOthers(t *testing.T) {
	picture := spaces.NewPicture(20, 24, 3)
	cnn := CNNConfig{Space: picture, Outputs: 2, Features: 6, Hidden: []int{5}, Activation: "elu",
		Convolutions: []Convolution{{Channels: 16, Kernel: 8, Stride: 4}, {Channels: 32, Kernel: 4, Stride: 2}}}
	others := map[string]func() (*Net, error){"picture": func() (*Net, error) { return NewCNN(cnn, 2) }}
	as := map[string]description.Architecture{"picture": architecture(t, picture, nil, 6, []int{5}, "elu")}
	for _, layer := range []RecurrentLayer{GRU(4, 2), LSTM(5), RNN(4)} {
		a := architecture(t, spaces.Unbounded(3), nil, 0, []int{6}, "elu")
		a.Recurrent = layer
		as[layer.Kind], others[layer.Kind] = a, func() (*Net, error) {
			return NewMLP(MLPConfig{Inputs: 3, Outputs: 2, Recurrent: layer, Hidden: []int{6}, Activation: "elu"}, 2)
		}
	}
	for name, a := range as {
		t.Run(name, func(t *testing.T) {
			e := tensortest.Opened[*Net](t)(NewEvolvable(EvolvableConfig{Architecture: a, Outputs: 2}, 1))
			other := tensortest.Opened[*Net](t)(others[name]())
			s := tensortest.NoGrad(t, tensor.CPU)
			for i, p := range e.Parameters() {
				s.Copy(other.Parameters()[i].Tensor, p.Tensor)
			}
			space, tolerance := spaces.Unbounded(3), 0.0
			if name == "picture" {
				space, tolerance = picture, 1e-6
			}
			in := Inputs{Observations: sampled(s, space, 12), Hidden: Hidden{Length: 4}}
			got, state := e.ForwardHidden(s, in)
			want, last := other.ForwardHidden(s, in)
			alike(t, s, "outputs", got, want, tolerance)
			if e.HiddenSize() > 0 {
				alike(t, s, "states", state, last, 0)
			}
		})
	}
}
