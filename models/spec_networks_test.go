package models

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// A layer normalisation standardises each row by its own mean and biased variance, behind linear and recurrent layers.
// Its parameters start as PyTorch's and are named by their place; activations pass it over.
func TestLayerNorm(t *testing.T) {
	tensortest.CheckLive(t)
	for layers, names := range map[string]string{
		"5, layer_norm, 4, Layer_Norm": "net.0.weight net.0.bias net.2.weight net.2.bias net.3.weight net.3.bias " +
			"net.5.weight net.5.bias",
		"{gru: {hidden_size: 4}}, layer_norm": "net.0.weight_ih_l0 net.0.weight_hh_l0 net.0.bias_ih_l0 " +
			"net.0.bias_hh_l0 " +
			"net.1.weight net.1.bias",
	} {
		net := tensortest.Opened[Network](t)(specOf(t, "{class: Deterministic, output: net, network: [{name: net, "+
			"input: OBSERVATIONS, layers: ["+layers+"], activations: tanh}]}").BuildNetwork(boxes, 1))
		params := net.Parameters()
		var got []string
		for _, p := range params {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != names {
			t.Errorf("the parameters are %s, want %s", got, names)
		}
		s := tensortest.NoGrad(t, tensor.CPU)
		const n, width = 6, 4
		in := Inputs{Observations: sampled(s, boxes.Observation, n)}
		plain := tensortest.Float64s(t, s, net.Forward(s, in)) // as it starts, with mean 0 and deviation 1
		for row := range slices.Chunk(plain, width) {
			sum, square := 0.0, 0.0
			for _, v := range row {
				sum, square = sum+v/width, square+v*v/width
			}
			if math.Abs(sum) > 1e-5 || math.Abs(square-1) > 1e-2 {
				t.Errorf("%s: a row has the mean %g and the mean square %g", layers, sum, square)
			}
		}
		w, b := []float32{0.5, -2, 3, 1}, []float32{1, 0, -1, 4}
		must(t, tensor.Write(params[len(params)-2].Tensor, w))
		must(t, tensor.Write(params[len(params)-1].Tensor, b))
		for i := range plain {
			plain[i] = plain[i]*float64(w[i%width]) + float64(b[i%width])
		}
		wantNear(t, layers, tensortest.Float64s(t, s, net.Forward(s, in)), plain, 1e-5)
	}
}

// A network reads the parts of observations and states that it names, and no others.
func TestAsymmetricParts(t *testing.T) {
	tensortest.CheckLive(t)
	sp := spaces.Set{
		Observation: spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(6, 5, 3),
			"joints": spaces.Unbounded(2)}),
		State:  spaces.NewDict(map[string]spaces.Space{"map": spaces.Unbounded(4, 4, 1), "pose": spaces.Unbounded(3)}),
		Action: spaces.NewBox(-1, 1, 2),
	}
	value := tensortest.Opened[Network](t)(specOf(t, `
class: Deterministic
output: ONE
network:
- {name: cnn, input: 'permute(STATES["map"], (0, 3, 1, 2)) / 255',
   layers: [{conv2d: [2, 3]}, flatten], activations: tanh}
- {name: net, input: 'concatenate([cnn, STATES["pose"], OBSERVATIONS["joints"]])', layers: [4]}
`).BuildNetwork(sp, 1))
	s := tensortest.WithGrad(t, tensor.CPU)
	in := Inputs{Observations: s.RequireGrad(sampled(s, sp.Observation, 1)), States: s.RequireGrad(sampled(s, sp.State,
		1))}
	grads := s.Grad(value.Forward(s, in), false, in.Observations, in.States)
	for i, unread := range []int{90, 0} { // the camera's columns
		for j, g := range tensortest.Float64s(t, s, grads[i]) {
			if (g == 0) != (j < unread) {
				t.Errorf("input %d: the value depends on column %d: %v", i, j, g != 0)
			}
		}
	}
}

// Networks that Isaac Lab 2.3.2's cartpoles come with (its "showcase"), with a camera and without, for every kind of
// action. Structure and numbers are its; the trunk is shared, and the value's own network is not built.
func TestIsaacLabCartpoles(t *testing.T) {
	tensortest.CheckLive(t)
	net := func(input string) string {
		return "{name: net, input: '" + input + "', layers: [32, 32], activations: elu}"
	}
	half := func(name, input string) string {
		return "{name: " + name + ", input: '" + input + "', layers: [16, 16], activations: elu}, "
	}
	const convolutions = "{name: cnn, input: 'permute(OBSERVATIONS[\"camera\"], (0, 3, 1, 2))', layers: [{conv2d: " +
		"{out_channels: 32, kernel_size: 8, stride: 4, padding: 0}}, {conv2d: {out_channels: 64, kernel_size: 4, " +
		"stride: 2, padding: 0}}, {conv2d: {out_channels: 64, kernel_size: 3, stride: 1, padding: 0}}, flatten, " +
		"{linear: 512}, {linear: 16}], activations: [relu, relu, relu, null, tanh, tanh]}, "
	for _, c := range []struct {
		name        string
		observation spaces.Space
		network     string
		parameters  int // of the trunk
	}{
		{"multi-discrete", spaces.NewMultiDiscrete(2, 2, 2, 2), net("one_hot_encoding(OBSERVATION_SPACE, " +
			"OBSERVATIONS)"), 8*32 + 32 + 32*32 + 32},
		{"tuple", spaces.NewTuple(spaces.Unbounded(2), spaces.Unbounded(2)), half("a", "OBSERVATIONS[0]") +
			half("b", "OBSERVATIONS[1]") + "{name: net, input: 'a * b', layers: [], activations: []}",
			2 * (2*16 + 16 + 16*16 + 16)},
		{"camera dict", spaces.NewDict(map[string]spaces.Space{"camera": spaces.Unbounded(100, 100, 3),
			"joint-velocities": spaces.Unbounded(2)}),
			convolutions + net(`concatenate([cnn, OBSERVATIONS["joint-velocities"]])`),
			3*32*64 + 32 + 32*64*16 + 64 + 64*64*9 + 64 + 5184*512 + 512 + 512*16 + 16 + 18*32 + 32 + 32*32 + 32},
	} {
		for class, action := range map[string]spaces.Space{"GaussianMixin": spaces.NewBox(-1, 1, 1),
			"CategoricalMixin": spaces.NewDiscrete(3), "MultiCategoricalMixin": spaces.NewMultiDiscrete(3, 2)} {
			t.Run(fmt.Sprintf("%s/%s", c.name, class), func(t *testing.T) {
				policy := specOf(t, "class: "+class+"\nnetwork: ["+c.network+"]\noutput: ACTIONS")
				value := specOf(t,
					"class: DeterministicMixin\nclip_actions: false\nnetwork: ["+c.network+"]\noutput: ONE")
				p, v, err := BuildShared(policy, value, spaces.Set{Observation: c.observation, Action: action}, 1)
				must(t, err)
				defer v.Close()
				defer p.Close()
				trunk := 0
				for _, q := range p.Parameters() {
					if strings.HasPrefix(q.Name, "trunk.") {
						trunk += int(tensor.Numel(q.Tensor))
					}
				}
				s := tensortest.NoGrad(t, tensor.CPU)
				in := Inputs{Observations: sampled(s, c.observation, 2)}
				actions, values := tensor.Shape(p.Mode(s, in)), tensor.Shape(v.Forward(s, in))
				if trunk != c.parameters || !slices.Equal(actions, []int64{2, int64(action.Width())}) ||
					!slices.Equal(values, []int64{2, 1}) || s.Err() != nil {
					t.Errorf("a trunk of %d parameters, want %d; actions %v, values %v, %v", trunk, c.parameters,
						actions, values, s.Err())
				}
			})
		}
	}
}
