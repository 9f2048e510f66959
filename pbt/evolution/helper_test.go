package evolution

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// allSpaces are the kinds of observations.
func allSpaces() map[string]spaces.Space {
	return map[string]spaces.Space{
		"box": spaces.Unbounded(5), "discrete": spaces.NewDiscrete(4), "multi-discrete": spaces.NewMultiDiscrete(3, 2),
		"dict": spaces.NewDict(map[string]spaces.Space{"goal": spaces.Unbounded(3), "gripper": spaces.NewDiscrete(3),
			"modes": spaces.NewMultiDiscrete(2, 2)}),
	}
}

func architecture(t testing.TB, s spaces.Space, encoder []int, latent int, head []int,
	activation string) description.Architecture {
	t.Helper()
	return must.Get(description.NewArchitecture(s, encoder, latent, head, activation))(t)
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// network makes a network with the arrays' parameters under "policy/", or its own where arrays is nil.
func network(t testing.TB, a description.Architecture, outputs int, arrays map[string]checkpoint.Array) *models.Net {
	t.Helper()
	e := must.Get(models.NewEvolvable(models.EvolvableConfig{Architecture: a, Outputs: outputs}, 11))(t)
	t.Cleanup(e.Close)
	if arrays == nil {
		return e
	}
	own := layout.Below(&checkpoint.Snapshot{Arrays: arrays}, "policy")
	must.Is(t, len(own), len(e.Parameters()), "arrays of %v", a)
	for _, p := range e.Parameters() {
		must.Same(t, own[p.Name].Shape, tensor.Shape(p.Tensor), "the shape of %s", p.Name)
		must.Do(t, tensor.Write(p.Tensor, floats(t, own[p.Name])))
	}
	return e
}

// arraysOf are the network's parameters under "policy/", with moments that tell where they came from: the first are
// the parameters themselves and the second their squares.
func arraysOf(t testing.TB, e *models.Net) map[string]checkpoint.Array {
	t.Helper()
	out := map[string]checkpoint.Array{}
	for _, p := range e.Parameters() {
		data := must.Get(tensor.Float32s(p.Tensor))(t)
		out["policy/"+p.Name] = checkpoint.ArrayFloat32(tensor.Shape(p.Tensor), data)
		out["optimizer/exp_avg/policy/"+p.Name] = checkpoint.ArrayFloat32(tensor.Shape(p.Tensor), slices.Clone(data))
		squares := slices.Clone(data)
		for i := range squares {
			squares[i] *= squares[i]
		}
		out["optimizer/exp_avg_sq/policy/"+p.Name] = checkpoint.ArrayFloat32(tensor.Shape(p.Tensor), squares)
	}
	return out
}

// answers are outputs, and for one output the gradient penalty, on 64 random rows.
func answers(t testing.TB, e *models.Net, space spaces.Space) []float32 {
	t.Helper()
	s := tensor.NewScope()
	defer s.Close()
	rows := make([]float32, 64*space.Width())
	space.Sample(random(5), rows)
	out, penalty := e.ForwardPenalty(s, models.Inputs{Observations: tensor.From(s, rows, 64, int64(space.Width()))})
	must.Do(t, s.Err())
	var all []float32
	for _, x := range []tensor.Tensor{out, penalty} {
		all = append(all, must.Get(tensor.Float32s(x))(t)...)
	}
	return all
}

// difference is the largest between two lists of numbers.
func difference(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i]))) // NaN stays
	}
	return worst
}

func floats(t testing.TB, a checkpoint.Array) []float32 {
	t.Helper()
	return must.Get(a.Float32s())(t)
}

var camera = spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(10, 12, 3),
	"goal": spaces.Unbounded(2)})

// seeing is an architecture with a picture, and with memory where kind is one.
func seeing(t testing.TB, memory description.RecurrentLayer, activation string) description.Architecture {
	t.Helper()
	a := architecture(t, camera, []int{4}, 6, []int{8}, activation)
	a.Parts[0].Convolutions = []description.Convolution{{Channels: 4, Kernel: 3, Stride: 2}, {Channels: 5, Kernel: 2,
		Stride: 1, Padding: 1}}
	a.Recurrent = memory
	must.Do(t, a.Validate())
	return a
}

// sequences are the outputs of 3 sequences of 5 steps, an episode of which ends in the middle.
func sequences(t testing.TB, e *models.Net, space spaces.Space) []float32 {
	t.Helper()
	s := tensor.NoGrad()
	defer s.Close()
	rows, ended := make([]float32, 15*space.Width()), make([]float32, 15)
	space.Sample(random(5), rows)
	ended[7] = 1
	out, _ := e.ForwardHidden(s, models.Inputs{Observations: tensor.From(s, rows, 15, int64(space.Width())),
		Hidden: models.Hidden{Length: 5, Ended: tensor.From(s, ended, 15, 1)}})
	must.Do(t, s.Err())
	return must.Get(tensor.Float32s(out))(t)
}
