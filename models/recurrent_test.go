package models

import (
	"math"
	"slices"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

const memories = "class: Gaussian\nnetwork:\n- {name: seen, input: OBSERVATIONS, layers: [6, {gru: {hidden_size: 4, " +
	"num_layers: 2}}, 5], activations: tanh}\n- {name: both, input: 'concatenate([seen, OBSERVATIONS])', layers: " +
	"[flatten, {lstm: {hidden_size: NUM_ACTIONS}}], activations: [elu, elu]}\noutput: tanh(ACTIONS)"

// TestRecurrentNetwork compares a network with memory in several places, step by step, with whole sequences.
func TestRecurrentNetwork(t *testing.T) {
	p := tensortest.Opened[Policy](t)(specOf(t, memories).BuildPolicy(boxes, 1))
	net := p.(*Stochastic).Net.(Recurrent)
	check.Same(t, []int{net.HiddenSize(), HiddenSize(p)}, []int{2*4 + 2*2, 12}, "hidden sizes")

	const length, sequences = 5, 3
	s := tensortest.NoGrad(t, tensor.CPU)
	gen := tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(1, tensor.CPU))
	x, state := s.Randn(gen, length*sequences, 3), s.Randn(gen, sequences, 12)
	ended := make([]float32, length*sequences)
	ended[4], ended[9] = 1, 1
	in := Inputs{Observations: x, Hidden: Hidden{State: state, Length: length, Ended: tensor.From(s, ended,
		length*sequences, 1)}}
	out, last := net.ForwardHidden(s, in)
	var steps []tensor.Tensor
	now := state
	for i := range int64(length) {
		var y tensor.Tensor
		y, now = net.ForwardHidden(s, Inputs{Observations: s.Narrow(x, 0, i*sequences, sequences),
			Hidden: Hidden{State: now}})
		alive := s.ScalarSub(1, s.Narrow(in.Hidden.Ended, 0, i*sequences, sequences))
		now = s.Mul(now, alive)
		steps = append(steps, y)
	}
	alike(t, s, "outputs", out, s.Cat(0, steps...), 1e-6)
	alike(t, s, "states", last, now, 1e-6)
	alike(t, s, "Forward", net.Forward(s, in), out, 0)
	zero, _ := net.ForwardHidden(s, Inputs{Observations: s.Narrow(x, 0, 0, sequences),
		Hidden: Hidden{State: s.Zeros(sequences, 12)}})
	alike(t, s, "without a state", net.Forward(s, Inputs{Observations: s.Narrow(x, 0, 0, sequences)}), zero, 0)
}

// TestFrames compares a stack over the frames of a row with the same stack over a sequence, and its gradient penalty
// with difference quotients.
func TestFrames(t *testing.T) {
	for _, layer := range []RecurrentLayer{GRU(4, 2), LSTM(4), RNN(4)} {
		make := func(inputs, frames int) *Net {
			return tensortest.Opened[*Net](t)(NewMLP(MLPConfig{Inputs: inputs, Outputs: 1,
				Recurrent: layer.OfFrames(frames), Hidden: []int{5}, Activation: "tanh"}, 3))
		}
		windows, moments := make(6, 3), make(2, 0)
		check.Is(t, windows.HiddenSize(), 0, "the hidden size of frames")
		rows := []float32{1, -2, 0.5, 3, -1, 0, 0.3, 0.2, -0.7, 1, 1, -1}
		s := tensor.NewScope()
		out := tensortest.Float64s(t, s, windows.Forward(s, Inputs{Observations: tensor.From(s, rows, 2, 6)}))
		turned := []float32{1, -2, 0.3, 0.2, 0.5, 3, -0.7, 1, -1, 0, 1, -1} // time-major
		steps := tensortest.Float64s(t, s, moments.Forward(s, Inputs{Observations: tensor.From(s, turned, 6, 2),
			Hidden: Hidden{Length: 3}}))
		wantNear(t, layer.Kind, out, steps[4:], 1e-6)

		// The penalty, and how it changes with a weight.
		_, penalty := windows.ForwardPenalty(s, Inputs{Observations: tensor.From(s, rows, 2, 6)})
		const h = 1e-2
		sum := meanSquaredGradient(t, s, rows, 2, nil, func(x tensor.Tensor) tensor.Tensor {
			return windows.Forward(s, Inputs{Observations: x})
		})
		wantNear(t, layer.Kind+": penalty", tensortest.Float64s(t, s, penalty), []float64{sum}, 2e-3)
		w := windows.Parameters()[1].Tensor // weight_hh_l0
		gradient := tensortest.Float64s(t, s, s.Grad(penalty, false, w)[0])
		values := check.Get(tensor.Float32s(w))(t)
		for _, i := range []int{0, 5, len(values) - 1} {
			at := func(x float32) float64 {
				moved := slices.Clone(values)
				moved[i] += x
				must(t, tensor.Write(w, moved))
				_, p := windows.ForwardPenalty(s, Inputs{Observations: tensor.From(s, rows, 2, 6)})
				return tensortest.Float64s(t, s, p)[0]
			}
			want := (at(h) - at(-h)) / (2 * h)
			check.Near(t, gradient[i], want, 1e-4+2e-2*math.Abs(want), "%s: the penalty's derivative by weight %d",
				layer.Kind, i)
			at(0)
		}
		s.Close()
	}
}
