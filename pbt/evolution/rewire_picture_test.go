package evolution

import (
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// roomy are limits for small pictures and memories.
var roomy = Limits{MinLayers: 1, MaxLayers: 4, MinNodes: 2, MaxNodes: 200, MinLatent: 2, MaxLatent: 100,
	MinConvolutions: 1, MaxConvolutions: 4,
	MinChannels: 2, MaxChannels: 64, MinHidden: 2, MaxHidden: 64}

var camera = spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(10, 12, 3),
	"goal": spaces.Unbounded(2)})

// seeing is an architecture with a picture, and with memory where kind is one.
func seeing(t testing.TB, memory description.RecurrentLayer, activation string) description.Architecture {
	t.Helper()
	a := architecture(t, camera, []int{4}, 6, []int{8}, activation)
	a.Parts[0].Convolutions = []description.Convolution{{Channels: 4, Kernel: 3, Stride: 2}, {Channels: 5, Kernel: 2,
		Stride: 1, Padding: 1}}
	a.Recurrent = memory
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
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
	data, err := tensor.Float32s(out)
	if err == nil {
		err = s.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// rewired applies an edit within roomy limits.
func rewired(t testing.TB, a description.Architecture, arrays map[string]checkpoint.Array, e Edit,
	how Preserve) (description.Architecture, map[string]checkpoint.Array) {
	t.Helper()
	to, done, changed, err := e.Apply(a, roomy)
	if err != nil || !changed {
		t.Fatalf("%v of %v: changed %t, %v", e, a, changed, err)
	}
	out, err := rewire(arrays, "policy/", a, to, done, how, random(3))
	if err != nil {
		t.Fatal(err)
	}
	return to, out
}

// What grows among convolutions and recurrent layers computes what it did, in whole sequences, and taking away what was
// put in leads back to the same parameters and moments.
func TestGrowthOfPicturesAndMemoryPreservesFunction(t *testing.T) {
	const module = "encoder.camera"
	growth := []Edit{
		{Kind: AddChannel, Module: module, Nodes: 3}, {Kind: AddChannel, Module: module, Layer: 1, Nodes: 4},
		{Kind: ChangeKernel, Module: module, Kernel: 4}, {Kind: ChangeKernel, Module: module, Kernel: 5},
		{Kind: ChangeKernel, Module: module, Layer: 1, Kernel: 3}, {Kind: AddLayer, Module: module},
		{Kind: AddLatentNode, Nodes: 3}, {Kind: AddNode, Module: "memory", Nodes: 7},
	}
	for name, memory := range map[string]description.RecurrentLayer{"none": {}, "gru": models.GRU(6),
		"lstm": models.LSTM(5, 2), "rnn": models.RNN(6, 3)} {
		for _, activation := range []string{"tanh", "relu", "silu", "identity"} {
			a := seeing(t, memory, activation)
			arrays := arraysOf(t, network(t, a, 2, nil))
			before := sequences(t, network(t, a, 2, arrays), camera)
			for _, e := range growth {
				if !e.Fits(a) {
					continue
				}
				grown, wider := rewired(t, a, arrays, e, PreserveFunction)
				if d := difference(before, sequences(t, network(t, grown, 2, wider), camera)); !(d <= 1e-6) {
					t.Errorf("%s, %s: %v changes outputs by %g", name, activation, e, d)
				}
				back := e
				back.Kind = EditKind(strings.Replace(string(e.Kind), "add", "remove", 1))
				if e.Kind == ChangeKernel {
					back.Kernel = a.Parts[0].Convolutions[e.Layer].Kernel
				}
				again, narrow := rewired(t, grown, wider, back, PreserveFunction)
				if !again.Equal(a) {
					t.Errorf("%v and back is %v, not %v", e, again, a)
				}
				for p, x := range arrays {
					if d := difference(floats(t, x), floats(t, narrow[p])); d > 1e-6 && !(strings.Contains(p, "exp_avg") &&
						e.Kind == AddLayer) {
						t.Errorf("%s, %s: %v and back: %s differs by %g", name, activation, e, p, d)
					}
				}
				// Learning can make use of what is new: no second moment of a weight that moved is lost.
				for p := range wider {
					if x, ok := arrays[p]; ok && strings.HasPrefix(p, "optimizer/exp_avg/") && e.Kind != AddLayer && sum(floats(t,
						x)) != sum(floats(t, wider[p])) {
						t.Errorf("%v: the first moments %s have another sum", e, p)
					}
				}
			}
		}
	}
}

func sum(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return float64(float32(sum))
}

// Dropping a convolution that is a straight line changes nothing: its layer's reader does what both did.
func TestDroppedConvolution(t *testing.T) {
	a := seeing(t, description.RecurrentLayer{}, "identity")
	arrays := arraysOf(t, network(t, a, 2, nil))
	before := sequences(t, network(t, a, 2, arrays), camera)
	less, narrow := rewired(t, a, arrays, Edit{Kind: RemoveLayer, Module: "encoder.camera"}, PreserveFunction)
	if d := difference(before, sequences(t, network(t, less, 2, narrow), camera)); !(d <= 1e-5) {
		t.Errorf("%v computes something else, by %g", less, d)
	}
}

// AgileRL's weights: the leading block of every dimension is copied.
func TestOverlapOfPicturesAndMemory(t *testing.T) {
	a := seeing(t, models.GRU(6), "relu")
	arrays := arraysOf(t, network(t, a, 2, nil))
	for _, e := range []Edit{
		{Kind: AddChannel, Module: "encoder.camera", Nodes: 2}, {Kind: RemoveChannel, Module: "encoder.camera", Nodes: 2},
		{Kind: ChangeKernel, Module: "encoder.camera", Kernel: 5}, {Kind: AddNode, Module: "memory", Nodes: 3},
	} {
		to, got := rewired(t, a, arrays, e, PreserveOverlap)
		network(t, to, 2, got)
		for p, old := range arrays {
			made := got[p]
			if strings.Contains(p, "exp_avg") {
				continue
			}
			x, y := floats(t, old), floats(t, made)
			index := make([]int64, len(old.Shape))
			for {
				i, j, within := int64(0), int64(0), true
				for d := range index {
					i, j = i*old.Shape[d]+index[d], j*made.Shape[d]+index[d]
					within = within && index[d] < made.Shape[d]
				}
				if within && x[i] != y[j] {
					t.Fatalf("%v: %s%v is %g, was %g", e, p, index, y[j], x[i])
				}
				d := len(index) - 1
				for ; d >= 0; d-- {
					if index[d]++; index[d] < old.Shape[d] {
						break
					}
					index[d] = 0
				}
				if d < 0 {
					break
				}
			}
		}
	}
}

// Noise leaves kernels and recurrent layers alone, as AgileRL's does.
func TestNoiseOnPicturesAndMemory(t *testing.T) {
	snap := &checkpoint.Snapshot{Arrays: arraysOf(t, network(t, seeing(t, models.GRU(6), "tanh"), 2, nil)),
		Values: map[string]any{}}
	all := map[string]bool{}
	for range 40 {
		_, names, err := Noise(snap, NoiseOptions{}, random(uint64(len(all))))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			all[name] = true
		}
	}
	for name := range all {
		if slices.ContainsFunc([]string{"memory", "conv"}, func(part string) bool { return strings.Contains(name, part) }) {
			t.Errorf("noise on %s", name)
		}
	}
	if len(all) < 3 {
		t.Errorf("noise on %v", all)
	}
}
