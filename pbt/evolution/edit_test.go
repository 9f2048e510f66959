package evolution

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// TestGoldenAgileRLEdits has the vectors of AgileRL's MLP: limits 32 to 500 nodes, 1 to 3 layers, latent 8 to 128.
func TestGoldenAgileRLEdits(t *testing.T) {
	head := func(k EditKind, layer, nodes int) Edit {
		return Edit{Kind: k, Module: "head", Layer: layer, Nodes: nodes}
	}
	for _, c := range []struct {
		name   string
		hidden []int
		latent int
		edit   Edit
		want   []int // the head, or the latent
		done   EditKind
	}{
		{"add 64@0", []int{64, 64}, 0, head(AddNode, 0, 64), []int{128, 64}, AddNode},
		{"remove 32@0 is a no-op", []int{64, 64}, 0, head(RemoveNode, 0, 32), []int{64, 64}, RemoveNode},
		{"remove 16@0", []int{64, 64}, 0, head(RemoveNode, 0, 16), []int{48, 64}, RemoveNode},
		{"add_layer", []int{64, 64}, 0, head(AddLayer, 0, 0), []int{64, 64, 64}, AddLayer},
		{"add_layer repeats the last width", []int{64, 96}, 0, head(AddLayer, 0, 0), []int{64, 96, 96}, AddLayer},
		{"add_layer at 3 is add_node", []int{64, 64, 64}, 0, head(AddLayer, 1, 32), []int{64, 96, 64}, AddNode},
		{"remove_layer", []int{64, 48}, 0, head(RemoveLayer, 0, 0), []int{64}, RemoveLayer},
		{"remove_layer at 1 is add_node", []int{64}, 0, head(RemoveLayer, 0, 16), []int{80}, AddNode},
		{"a layer beyond the last is the last", []int{64, 64}, 0, head(AddNode, 7, 16), []int{64, 80}, AddNode},
		{"up to 500, inclusive", []int{436}, 0, head(AddNode, 0, 64), []int{500}, AddNode},
		{"not beyond 500", []int{437}, 0, head(AddNode, 0, 64), []int{437}, AddNode},
		{"more than any width", []int{64}, 0, head(AddNode, 0, 1<<63-1), []int{64}, AddNode},
		{"latent 64+32", []int{64}, 64, Edit{Kind: AddLatentNode, Nodes: 32}, []int{96}, AddLatentNode},
		{"latent stays below 128", []int{64}, 96, Edit{Kind: AddLatentNode, Nodes: 32}, []int{96}, AddLatentNode},
		{"latent 127", []int{64}, 95, Edit{Kind: AddLatentNode, Nodes: 32}, []int{127}, AddLatentNode},
		{"latent stays above 8", []int{64}, 16, Edit{Kind: RemoveLatentNode, Nodes: 8}, []int{16}, RemoveLatentNode},
		{"latent 9", []int{64}, 17, Edit{Kind: RemoveLatentNode, Nodes: 8}, []int{9}, RemoveLatentNode},
		{"no latent", []int{64}, 0, Edit{Kind: AddLatentNode, Nodes: 8}, []int{0}, AddLatentNode},
		{"no nodes", []int{64}, 0, head(AddNode, 0, 0), []int{64}, AddNode},
		{"no layers", nil, 0, head(AddLayer, 0, 16), nil, AddNode},
	} {
		a := architecture(t, spaces.Unbounded(10), nil, c.latent, c.hidden, "relu")
		before := a.Clone()
		next, done, changed, err := c.edit.Apply(a, DefaultLimits())
		old, got := a.Head.Hidden, next.Head.Hidden
		if strings.Contains(string(c.edit.Kind), "latent") {
			old, got = []int{a.Latent}, []int{next.Latent}
		}
		if err != nil || !slices.Equal(got, c.want) || changed == slices.Equal(old, got) || done.Kind != c.done {
			t.Errorf("%s: %v, changed %t, done %v, %v; want %v, %s", c.name, got, changed, done, err, c.want, c.done)
		}
		if changed == a.Equal(next) || !a.Equal(before) {
			t.Errorf("%s: changed %t, and %v became %v, given as %v", c.name, changed, a, next, before)
		}
		if again, same, _, _ := done.Apply(a, DefaultLimits()); !again.Equal(next) || same != done {
			t.Errorf("%s: what was done, %v, leads elsewhere: %v", c.name, done, again)
		}
	}
}

func TestEditActivation(t *testing.T) {
	a := architecture(t, dict(), []int{64}, 32, []int{64, 64}, "Tanh")
	grown, _, _, err := (Edit{Kind: AddLayer, Module: "head"}).Apply(a, DefaultLimits())
	if err != nil || !slices.Equal(grown.Head.Activations, []string{"Tanh", "Tanh", "elu"}) {
		t.Fatalf("%v, %v", grown.Head, err)
	}
	if grown.String() != "5→[64] + 2→[64] + 3→[64] + 4→[64]→32→[64 64 64:elu] tanh" {
		t.Error(grown)
	}
	if next, _, changed, err := (Edit{Kind: ChangeActivation, Activation: "tanh"}).Apply(grown,
		DefaultLimits()); err != nil || changed || !next.Equal(grown) {
		t.Errorf("the same activation: %v, %t, %v", next, changed, err)
	}
	next, _, changed, err := (Edit{Kind: ChangeActivation, Activation: "gelu"}).Apply(grown, DefaultLimits())
	if err != nil || !changed {
		t.Fatalf("%t, %v", changed, err)
	}
	for _, m := range next.Modules() {
		for _, f := range m.Activations {
			if f != "gelu" {
				t.Errorf("%s has %s", m.Name, f)
			}
		}
	}
}

// What is drawn, and how often: layers share a fifth, each of the node edits an equal part of the rest.
func TestRandomEdit(t *testing.T) {
	a := architecture(t, dict(), []int{64}, 32, []int{64, 64}, "tanh")
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 60_000
	count, sizes, layers := map[string]int{}, map[int]int{}, map[int]int{}
	for range n {
		e := RandomEdit(a, rng, 0.2)
		if !e.Fits(a) {
			t.Fatalf("%v has no %v", a, e)
		}
		count[e.Module+"."+string(e.Kind)]++
		if e.Module == "head" {
			sizes[e.Nodes]++
			layers[e.Layer]++
		} else if e.Module == "" && !slices.Contains([]int{8, 16, 32}, e.Nodes) {
			t.Fatalf("%v", e)
		}
	}
	want := map[string]float64{"head.add_layer": .1, "head.remove_layer": .1}
	for _, name := range []string{".add_latent_node", ".remove_latent_node", "head.add_node", "head.remove_node"} {
		want[name] = .8 / 12
	}
	for _, p := range a.Parts {
		want["encoder."+p.Name+".add_node"], want["encoder."+p.Name+".remove_node"] = .8/12, .8/12
	}
	if len(count) != len(want) {
		t.Errorf("drawn: %v", count)
	}
	for name, share := range want {
		if got := float64(count[name]) / n; got < share-.006 || got > share+.006 {
			t.Errorf("%s has a share of %.4f, want %.4f", name, got, share)
		}
	}
	head := sizes[16] + sizes[32] + sizes[64]
	for _, k := range []int{16, 32, 64} {
		if share := float64(sizes[k]) / float64(head); share < .31 || share > .36 {
			t.Errorf("%d nodes have a share of %.3f", k, share)
		}
	}
	if share := float64(layers[0]) / float64(head); len(layers) != 2 || share < .48 || share > .52 {
		t.Errorf("layers %v", layers)
	}
}

// dict is a space of several parts.
func dict() spaces.Space {
	return spaces.NewDict(map[string]spaces.Space{
		"goal": spaces.Unbounded(3), "gripper": spaces.NewDiscrete(4),
		"arm": spaces.NewDict(map[string]spaces.Space{"modes": spaces.NewMultiDiscrete(2, 3),
			"speeds": spaces.Unbounded(2)}),
	})
}

// seen is a space with a picture beside other parts.
func seen() spaces.Space {
	return spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(20, 24, 3), "goal": spaces.Unbounded(2),
		"gripper": spaces.NewDiscrete(3)})
}

// TestEditPicturesAndMemory has AgileRL's rules for convolutions (16 to 256 channels, 1 to 6 layers) and recurrent
// layers (32 to 512).
func TestEditPicturesAndMemory(t *testing.T) {
	camera := func(k EditKind, layer, n int) Edit {
		e := Edit{Kind: k, Module: "encoder.camera", Layer: layer, Nodes: n}
		if k == ChangeKernel {
			e.Nodes, e.Kernel = 0, n
		}
		return e
	}
	memory := func(k EditKind, layer, n int) Edit { return Edit{Kind: k, Module: "memory", Layer: layer, Nodes: n} }
	for _, c := range []struct {
		name string
		edit Edit
		want string // the camera's convolutions, or the memory
		done EditKind
	}{
		{"more channels", camera(AddChannel, 0, 8), "[24k8s4 32k4s2]", AddChannel},
		{"beyond the last layer", camera(AddChannel, 9, 224), "[16k8s4 256k4s2]", AddChannel},
		{"more than 256", camera(AddChannel, 1, 225), "[16k8s4 32k4s2]", AddChannel},
		{"16 are left", camera(RemoveChannel, 1, 16), "[16k8s4 16k4s2]", RemoveChannel},
		{"fewer than 16", camera(RemoveChannel, 0, 8), "[16k8s4 32k4s2]", RemoveChannel},
		{"a larger kernel", camera(ChangeKernel, 0, 11), "[16k11s4p0+3 32k4s2]", ChangeKernel},
		{"a kernel beyond the picture", camera(ChangeKernel, 1, 5), "[16k8s4 32k4s2]", ChangeKernel},
		{"a smaller kernel", camera(ChangeKernel, 1, 2), "[16k8s4 32k2s2]", ChangeKernel},
		{"another layer", camera(AddLayer, 0, 8), "[24k8s4 32k4s2]", AddChannel},
		{"one layer fewer", camera(RemoveLayer, 0, 0), "[16k8s4]", RemoveLayer},
		{"more values", memory(AddNode, 0, 16), "lstm[64]", AddNode},
		{"up to 512", memory(AddNode, 0, 464), "lstm[512]", AddNode},
		{"not beyond", memory(AddNode, 0, 465), "lstm[48]", AddNode},
		{"down to 32", memory(RemoveNode, 0, 16), "lstm[32]", RemoveNode},
		{"not below", memory(RemoveNode, 0, 17), "lstm[48]", RemoveNode},
	} {
		a := remembering(t, models.LSTM(48))
		next, done, changed, err := c.edit.Apply(a, Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 64,
			MinLatent: 4, MaxLatent: 64})
		if err != nil || !strings.Contains(next.String(), c.want) || done.Kind != c.done || changed == next.Equal(a) ||
			changed == strings.Contains(a.String(), c.want) {
			t.Errorf("%s: %v, changed %t, done %v, %v; want %s", c.name, next, changed, done, err, c.want)
		}
	}
	one := architecture(t, spaces.NewPicture(20, 24, 3), nil, 16, []int{32}, "tanh")
	one.Parts[0].Convolutions = one.Parts[0].Convolutions[:1]
	if next, done, _, _ := (Edit{Kind: ChangeKernel, Module: "encoder.observation", Kernel: 3}).Apply(one,
		DefaultLimits()); done.Kind != AddLayer ||
		next.String() != "20×24×3→[16k8s4 16k3p1:elu]→16→[32] tanh" {
		t.Errorf("%v: %v", done, next)
	}
	for _, e := range []Edit{{Kind: AddLayer, Module: "memory"}, {Kind: AddChannel, Module: "head", Nodes: 8},
		{Kind: AddChannel, Module: "encoder.goal", Nodes: 8}} {
		a := remembering(t, models.LSTM(48))
		if _, _, changed, err := e.Apply(a, DefaultLimits()); err == nil || changed || e.Fits(a) {
			t.Errorf("%v: changed %t, %v", e, changed, err)
		}
	}
	if _, _, _, err := (Edit{Kind: AddNode, Module: "memory", Nodes: 16}).Apply(architecture(t, seen(), nil, 8, nil,
		"tanh"), DefaultLimits()); err == nil {
		t.Error("nodes for a memory that is not there")
	}
}

// TestEditFits: an edit of a module that an architecture does not have, or that is none, changes nothing.
func TestEditFits(t *testing.T) {
	a := architecture(t, dict(), []int{64}, 32, []int{64}, "tanh")
	goal := Edit{Kind: AddNode, Module: "encoder.goal", Nodes: 16}
	next, _, changed, err := goal.Apply(a, DefaultLimits())
	if err != nil || !changed || next.Parts[2].Encoder.Hidden[0] != 80 || next.Parts[1].Encoder.Hidden[0] != 64 {
		t.Errorf("%v, %t, %v", next, changed, err)
	}
	for _, e := range []Edit{goal, {Kind: AddLayer, Module: "head"}, {Kind: AddLatentNode}, {Kind: ChangeActivation}} {
		if !e.Fits(a) {
			t.Errorf("%v does not fit", e)
		}
	}
	for _, e := range []Edit{{Kind: AddNode, Module: "encoder.hand", Nodes: 16}, {Kind: AddNode, Module: "tail",
		Nodes: 16},
		{Kind: AddNode, Nodes: 16}, {Kind: "add_channel", Module: "head"}, {}} {
		if next, _, changed, err := e.Apply(a, DefaultLimits()); err == nil || changed || !next.Equal(a) || e.Fits(a) {
			t.Errorf("%v: %v, changed %t, error %v", e, next, changed, err)
		}
	}
}

// remembering is an architecture with pictures and memory.
func remembering(t testing.TB, layer description.RecurrentLayer) description.Architecture {
	t.Helper()
	a := architecture(t, seen(), []int{16}, 16, []int{32}, "tanh")
	a.Recurrent = layer
	return a
}
