package models

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// seen is a space with a picture of bytes beside other parts.
func seen() spaces.Space {
	return spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(20, 24, 3), "goal": spaces.Unbounded(2),
		"gripper": spaces.NewDiscrete(3)})
}

// remembering is an architecture with pictures and memory.
func remembering(t testing.TB, kind RecurrentLayer) Architecture {
	t.Helper()
	a := architecture(t, seen(), []int{16}, 16, []int{32}, "tanh")
	a.Recurrent = kind
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestArchitectureOfPictures(t *testing.T) {
	a := remembering(t, GRU(48, 2))
	camera := a.Parts[0]
	want := []Convolution{{Channels: 16, Kernel: 8, Stride: 4}, {Channels: 32, Kernel: 4, Stride: 2}}
	if d := cmp.Diff(want, camera.Convolutions); d != "" {
		t.Error(d)
	}
	if got, want := a.String(), "20×24×3→[16k8s4 32k4s2] + 2→[16] + 3→[16]→16→gru[48 48]→[32] tanh"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	roundTrip(t, a)
	if b := a.Clone(); !a.Equal(b) {
		t.Errorf("%v is not its copy", b)
	} else if b.Parts[0].Convolutions[0].Kernel++; a.Equal(b) || a.Parts[0].Convolutions[0].Kernel != 8 {
		t.Error("the copy shares the convolutions")
	}
	if err := a.Fits(seen()); err != nil {
		t.Error(err)
	}
	other := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(24, 20, 3), "goal": spaces.Unbounded(2), "gripper": spaces.NewDiscrete(3)})
	if err := a.Fits(other); err == nil || !strings.Contains(err.Error(), `"camera"`) {
		t.Error(err)
	}
	// An architecture without these says nothing of them, so that older programs read it.
	for key := range architecture(t, dict(), []int{16}, 8, []int{4}, "tanh").Values() {
		if !slices.Contains([]string{"parts", "latent", "head", "activation"}, key) {
			t.Errorf("key %q", key)
		}
	}
	for _, c := range []struct {
		shape [3]int
		want  string
	}{{[3]int{3, 84, 84}, "[16k8s4 32k4s2 32k3]"}, {[3]int{1, 5, 9}, "[16k5s4]"}, {[3]int{1, 1, 1}, "[16k1]"}} {
		s := spaces.NewBox(0, 1, c.shape[1], c.shape[2], c.shape[0])
		if got := architecture(t, s, nil, 8, nil, "relu").String(); !strings.Contains(got, c.want) {
			t.Errorf("a picture %v has %s, want %s", c.shape, got, c.want)
		}
	}
	if first := architecture(t, spaces.NewBox(0, 1, 3, 9, 12), nil, 8, nil, "relu").Parts[0]; !first.ChannelsFirst || first.channelsFirst() != [3]int{3, 9, 12} {
		t.Errorf("%+v", first)
	}
}

func TestPictureArchitectureRefuses(t *testing.T) {
	for want, change := range map[string]func(a *Architecture){
		"the latent is 0":            func(a *Architecture) { a.Parts, a.Latent = a.Parts[:1], 0 },
		"whose product is that":      func(a *Architecture) { a.Parts[0].Picture = []int{24, 20, 4} },
		"three dimensions":           func(a *Architecture) { a.Parts[0].Picture = []int{1440} },
		"without convolutions":       func(a *Architecture) { a.Parts[0].Convolutions = nil },
		"but is no picture":          func(a *Architecture) { a.Parts[1].Convolutions = a.Parts[0].Convolutions },
		"stride are 1 to":            func(a *Architecture) { a.Parts[0].Convolutions[1].Stride = 0 },
		"is too small for it":        func(a *Architecture) { a.Parts[0].Convolutions[1].Kernel = 5 },
		"unknown activation":         func(a *Architecture) { a.Parts[0].Convolutions[0].Activation = "sinus" },
		"recurrent layer of the":     func(a *Architecture) { a.Recurrent.Kind = "gruu" },
		"both must be positive":      func(a *Architecture) { a.Recurrent.HiddenSize = 0 },
		"make it 0":                  func(a *Architecture) { a.Recurrent.Frames = 2 },
		"want at most 1048576 value": func(a *Architecture) { a.Recurrent.Layers = 1 << 40 },
	} {
		a := remembering(t, LSTM(32))
		change(&a)
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := NewArchitecture(spaces.NewPicture(8, 8, 1), nil, 0, []int{4}, "relu"); err == nil {
		t.Error("a picture without a latent")
	}
}

// An evolvable network of a picture computes what the CNN with the same layers does.
func TestEvolvablePicture(t *testing.T) {
	tensortest.CheckLive(t)
	space := spaces.NewPicture(20, 24, 3)
	a := architecture(t, space, nil, 6, []int{5}, "elu")
	e, err := NewEvolvable(EvolvableConfig{Architecture: a, Outputs: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	cnn, err := NewCNN(CNNConfig{Space: space, Outputs: 2, Features: 6, Hidden: []int{5}, Activation: "elu", Convolutions: []CNNLayer{
		{Channels: 16, Kernel: 8, Stride: 4}, {Channels: 32, Kernel: 4, Stride: 2},
	}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer cnn.Close()
	s := tensor.NoGrad()
	defer s.Close()
	for i, p := range e.Parameters() {
		data, err := tensor.Float32s(p.Tensor)
		if err == nil {
			err = tensor.Write(cnn.Parameters()[i].Tensor, data)
		}
		if err != nil {
			t.Fatal(p.Name, err)
		}
	}
	in := Inputs{Observations: sampled(s, space, 7)}
	wantNear(t, "outputs", tensortest.Float64s(t, s, e.Forward(s, in)), tensortest.Float64s(t, s, cnn.Forward(s, in)), 1e-6)
}

// An evolvable network with memory computes what the recurrent perceptron with the same layers does, and its state.
func TestEvolvableRecurrent(t *testing.T) {
	tensortest.CheckLive(t)
	a := architecture(t, spaces.Unbounded(3), nil, 0, []int{6}, "elu")
	for _, layer := range []RecurrentLayer{GRU(4, 2), LSTM(5), RNN(4)} {
		a.Recurrent = layer
		e, err := NewEvolvable(EvolvableConfig{Architecture: a, Outputs: 2}, 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewMLP(MLPConfig{Inputs: 3, Outputs: 2, Recurrent: layer, Hidden: []int{6}, Activation: "elu"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		s := tensor.NoGrad()
		in := Inputs{Observations: sampled(s, spaces.Unbounded(3), 12), Hidden: Hidden{Length: 4}}
		got, state := e.ForwardHidden(s, in)
		want, last := m.ForwardHidden(s, in)
		wantNear(t, "outputs", tensortest.Float64s(t, s, got), tensortest.Float64s(t, s, want), 0)
		wantNear(t, "states", tensortest.Float64s(t, s, state), tensortest.Float64s(t, s, last), 0)
		if e.HiddenSize() != m.HiddenSize() || e.Parameters()[0].Name != "memory.weight_ih_l0" {
			t.Errorf("hidden size %d, first parameter %s", e.HiddenSize(), e.Parameters()[0].Name)
		}
		s.Close()
		e.Close()
		m.Close()
	}
}

// AgileRL's rules for convolutions (16 to 256 channels, 1 to 6 layers) and recurrent layers (32 to 512).
func TestEditPicturesAndMemory(t *testing.T) {
	const camera = "encoder.camera"
	for _, c := range []struct {
		name    string
		edit    Edit
		want    string // the camera's convolutions, or the memory
		changed bool
		done    EditKind
	}{
		{"more channels", Edit{Kind: AddChannel, Module: camera, Nodes: 8}, "[24k8s4 32k4s2]", true, AddChannel},
		{"beyond the last layer", Edit{Kind: AddChannel, Module: camera, Layer: 9, Nodes: 224}, "[16k8s4 256k4s2]", true, AddChannel},
		{"more than 256", Edit{Kind: AddChannel, Module: camera, Layer: 1, Nodes: 225}, "[16k8s4 32k4s2]", false, AddChannel},
		{"16 are left", Edit{Kind: RemoveChannel, Module: camera, Layer: 1, Nodes: 16}, "[16k8s4 16k4s2]", true, RemoveChannel},
		{"fewer than 16", Edit{Kind: RemoveChannel, Module: camera, Nodes: 8}, "[16k8s4 32k4s2]", false, RemoveChannel},
		{"a larger kernel", Edit{Kind: ChangeKernel, Module: camera, Kernel: 11}, "[16k11s4p0+3 32k4s2]", true, ChangeKernel},
		{"a kernel beyond the picture", Edit{Kind: ChangeKernel, Module: camera, Layer: 1, Kernel: 5}, "[16k8s4 32k4s2]", false, ChangeKernel},
		{"a smaller kernel", Edit{Kind: ChangeKernel, Module: camera, Layer: 1, Kernel: 2}, "[16k8s4 32k2s2]", true, ChangeKernel},
		{"another layer", Edit{Kind: AddLayer, Module: camera, Nodes: 8}, "[24k8s4 32k4s2]", true, AddChannel}, // the last picture is 1×1
		{"one layer fewer", Edit{Kind: RemoveLayer, Module: camera}, "[16k8s4]", true, RemoveLayer},
		{"more values", Edit{Kind: AddNode, Module: "memory", Nodes: 16}, "lstm[64]", true, AddNode},
		{"up to 512", Edit{Kind: AddNode, Module: "memory", Nodes: 464}, "lstm[512]", true, AddNode},
		{"not beyond", Edit{Kind: AddNode, Module: "memory", Nodes: 465}, "lstm[48]", false, AddNode},
		{"down to 32", Edit{Kind: RemoveNode, Module: "memory", Nodes: 16}, "lstm[32]", true, RemoveNode},
		{"not below", Edit{Kind: RemoveNode, Module: "memory", Nodes: 17}, "lstm[48]", false, RemoveNode},
	} {
		a := remembering(t, LSTM(48))
		next, done, changed, err := a.Apply(c.edit, Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 64, MinLatent: 4, MaxLatent: 64})
		if err != nil || !strings.Contains(next.String(), c.want) || changed != c.changed || done.Kind != c.done || changed == next.Equal(a) {
			t.Errorf("%s: %v, changed %t, done %v, %v; want %s", c.name, next, changed, done, err, c.want)
		}
	}
	one := architecture(t, spaces.NewPicture(20, 24, 3), nil, 16, []int{32}, "tanh")
	one.Parts[0].Convolutions = one.Parts[0].Convolutions[:1]
	if next, done, _, _ := one.Apply(Edit{Kind: ChangeKernel, Module: "encoder.observation", Kernel: 3}, DefaultLimits()); done.Kind != AddLayer ||
		next.String() != "20×24×3→[16k8s4 16k3p1:elu]→16→[32] tanh" {
		t.Errorf("%v: %v", done, next)
	}
	for _, e := range []Edit{{Kind: AddLayer, Module: "memory"}, {Kind: AddChannel, Module: "head", Nodes: 8}, {Kind: AddChannel, Module: "encoder.goal", Nodes: 8}} {
		a := remembering(t, LSTM(48))
		if _, _, changed, err := a.Apply(e, DefaultLimits()); err == nil || changed || a.Has(e) {
			t.Errorf("%v: changed %t, %v", e, changed, err)
		}
	}
	if _, _, _, err := architecture(t, seen(), nil, 8, nil, "tanh").Apply(Edit{Kind: AddNode, Module: "memory", Nodes: 16}, DefaultLimits()); err == nil {
		t.Error("nodes for a memory that is not there")
	}
}

// A thousand edits as they are drawn leave architectures that are valid, within limits, and whose networks can be made.
func TestRandomEditsOfPicturesAndMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	l := DefaultLimits()
	a := remembering(t, GRU(64))
	count := map[EditKind]int{}
	for range 1000 {
		e := a.Random(rng, 0.2)
		if !a.Has(e) {
			t.Fatalf("%v has no %v", a, e)
		}
		next, done, changed, err := a.Apply(e, l)
		if err != nil || next.Validate() != nil || changed == next.Equal(a) {
			t.Fatalf("%v of %v: %v, changed %t, %v, %v", e, a, next, changed, err, next.Validate())
		}
		if changed {
			count[done.Kind]++
		}
		if a = next; a.Recurrent.HiddenSize < l.MinHidden || a.Recurrent.HiddenSize > l.MaxHidden || len(a.Parts[0].Convolutions) > l.MaxConvolutions {
			t.Fatalf("%v", a)
		}
		for _, c := range a.Parts[0].Convolutions {
			if c.Channels < l.MinChannels || c.Channels > l.MaxChannels {
				t.Fatalf("%v", a)
			}
		}
	}
	for _, kind := range []EditKind{AddChannel, RemoveChannel, AddNode, RemoveNode, AddLatentNode} {
		if count[kind] < 20 {
			t.Errorf("%s was applied %d times", kind, count[kind])
		}
	}
	if count[ChangeKernel] == 0 {
		t.Error("no kernel changed")
	}
	e, err := NewEvolvable(EvolvableConfig{Architecture: a, Outputs: 1}, 1)
	if err != nil {
		t.Fatal(a, err)
	}
	e.Close()
}
