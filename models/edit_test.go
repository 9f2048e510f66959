package models

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// The vectors of AgileRL's MLP: limits 32 to 500 nodes, 1 to 3 layers, latent 8 to 128.
func TestGoldenAgileRLEdits(t *testing.T) {
	for _, c := range []struct {
		name    string
		hidden  []int
		latent  int
		edit    Edit
		want    []int
		changed bool
		done    EditKind
	}{
		{"add 64@0", []int{64, 64}, 0, Edit{Kind: AddNode, Module: "head", Layer: 0, Nodes: 64}, []int{128, 64}, true, AddNode},
		{"remove 32@0 is a no-op", []int{64, 64}, 0, Edit{Kind: RemoveNode, Module: "head", Layer: 0, Nodes: 32}, []int{64, 64}, false, RemoveNode},
		{"remove 16@0", []int{64, 64}, 0, Edit{Kind: RemoveNode, Module: "head", Layer: 0, Nodes: 16}, []int{48, 64}, true, RemoveNode},
		{"add_layer", []int{64, 64}, 0, Edit{Kind: AddLayer, Module: "head"}, []int{64, 64, 64}, true, AddLayer},
		{"add_layer repeats the last width", []int{64, 96}, 0, Edit{Kind: AddLayer, Module: "head"}, []int{64, 96, 96}, true, AddLayer},
		{"add_layer at 3 is add_node", []int{64, 64, 64}, 0, Edit{Kind: AddLayer, Module: "head", Layer: 1, Nodes: 32}, []int{64, 96, 64}, true, AddNode},
		{"remove_layer", []int{64, 48}, 0, Edit{Kind: RemoveLayer, Module: "head"}, []int{64}, true, RemoveLayer},
		{"remove_layer at 1 is add_node", []int{64}, 0, Edit{Kind: RemoveLayer, Module: "head", Nodes: 16}, []int{80}, true, AddNode},
		{"a layer beyond the last is the last", []int{64, 64}, 0, Edit{Kind: AddNode, Module: "head", Layer: 7, Nodes: 16}, []int{64, 80}, true, AddNode},
		{"up to 500, inclusive", []int{436}, 0, Edit{Kind: AddNode, Module: "head", Nodes: 64}, []int{500}, true, AddNode},
		{"not beyond 500", []int{437}, 0, Edit{Kind: AddNode, Module: "head", Nodes: 64}, []int{437}, false, AddNode},
		{"more than any width", []int{64}, 0, Edit{Kind: AddNode, Module: "head", Nodes: 1<<63 - 1}, []int{64}, false, AddNode},
		{"latent 64+32", []int{64}, 64, Edit{Kind: AddLatentNode, Nodes: 32}, []int{96}, true, AddLatentNode},
		{"latent stays below 128", []int{64}, 96, Edit{Kind: AddLatentNode, Nodes: 32}, []int{96}, false, AddLatentNode},
		{"latent 127", []int{64}, 95, Edit{Kind: AddLatentNode, Nodes: 32}, []int{127}, true, AddLatentNode},
		{"latent stays above 8", []int{64}, 16, Edit{Kind: RemoveLatentNode, Nodes: 8}, []int{16}, false, RemoveLatentNode},
		{"latent 9", []int{64}, 17, Edit{Kind: RemoveLatentNode, Nodes: 8}, []int{9}, true, RemoveLatentNode},
		{"no latent", []int{64}, 0, Edit{Kind: AddLatentNode, Nodes: 8}, []int{0}, false, AddLatentNode},
		{"no nodes", []int{64}, 0, Edit{Kind: AddNode, Module: "head"}, []int{64}, false, AddNode},
		{"no layers", nil, 0, Edit{Kind: AddLayer, Module: "head", Nodes: 16}, nil, false, AddNode},
	} {
		a := architecture(t, spaces.Unbounded(10), nil, c.latent, c.hidden, "relu")
		before := a.Clone()
		next, done, changed, err := a.Apply(c.edit, DefaultLimits())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := next.Head.Hidden
		if strings.Contains(string(c.edit.Kind), "latent") {
			got = []int{next.Latent}
		}
		if !slices.Equal(got, c.want) || changed != c.changed || done.Kind != c.done {
			t.Errorf("%s: %v, changed %t, done %v; want %v, %t, %s", c.name, got, changed, done, c.want, c.changed, c.done)
		}
		if changed == a.Equal(next) {
			t.Errorf("%s: changed %t, and %v became %v", c.name, changed, a, next)
		}
		if !a.Equal(before) {
			t.Errorf("%s: the architecture itself changed", c.name)
		}
		if again, same, _, _ := a.Apply(done, DefaultLimits()); !again.Equal(next) || same != done {
			t.Errorf("%s: what was done, %v, leads elsewhere: %v", c.name, done, again)
		}
	}
}

func TestEditEncoder(t *testing.T) {
	a := architecture(t, dict(), []int{64}, 32, []int{64}, "tanh")
	next, _, changed, err := a.Apply(Edit{Kind: AddNode, Module: "encoder.goal", Nodes: 16}, DefaultLimits())
	if err != nil || !changed || next.Parts[2].Encoder.Hidden[0] != 80 || next.Parts[1].Encoder.Hidden[0] != 64 {
		t.Errorf("%v, %t, %v", next, changed, err)
	}
	for _, e := range []Edit{
		{Kind: AddNode, Module: "encoder.hand", Nodes: 16}, {Kind: AddNode, Module: "tail", Nodes: 16}, {Kind: AddNode, Nodes: 16},
		{Kind: "add_channel", Module: "head"}, {}, {Kind: SetActivation, Activation: "sinus"},
	} {
		if next, _, changed, err := a.Apply(e, DefaultLimits()); err == nil || changed || !next.Equal(a) {
			t.Errorf("%v: %v, changed %t, error %v", e, next, changed, err)
		}
	}
	for _, has := range []struct {
		edit Edit
		want bool
	}{
		{Edit{Kind: AddNode, Module: "encoder.goal"}, true}, {Edit{Kind: AddNode, Module: "encoder.hand"}, false}, {Edit{Kind: AddLayer, Module: "head"}, true},
		{Edit{Kind: AddLatentNode}, true}, {Edit{Kind: SetActivation}, true},
	} {
		if a.Has(has.edit) != has.want {
			t.Errorf("has %v: %t", has.edit, !has.want)
		}
	}
}

func TestEditActivation(t *testing.T) {
	a := architecture(t, dict(), []int{64}, 32, []int{64, 64}, "Tanh")
	grown, _, _, err := a.Apply(Edit{Kind: AddLayer, Module: "head"}, DefaultLimits())
	if err != nil || !slices.Equal(grown.Head.Activations, []string{"Tanh", "Tanh", "elu"}) {
		t.Fatalf("%v, %v", grown.Head, err)
	}
	if grown.String() != "5→[64] + 2→[64] + 3→[64] + 4→[64]→32→[64 64 64:elu] tanh" {
		t.Error(grown)
	}
	if next, _, changed, err := grown.Apply(Edit{Kind: SetActivation, Activation: "tanh"}, DefaultLimits()); err != nil || changed || !next.Equal(grown) {
		t.Errorf("the same activation: %v, %t, %v", next, changed, err)
	}
	next, _, changed, err := grown.Apply(Edit{Kind: SetActivation, Activation: "gelu"}, DefaultLimits())
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

func TestLimitsValidate(t *testing.T) {
	if err := DefaultLimits().Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Limits){
		"hidden layers are 4 to 3": func(l *Limits) { l.MinLayers = 4 }, "nodes are 0 to 500": func(l *Limits) { l.MinNodes = 0 }, "latent are 8 to 7": func(l *Limits) { l.MaxLatent = 7 },
	} {
		l := DefaultLimits()
		change(&l)
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
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
		e := a.Random(rng, 0.2)
		if !a.Has(e) {
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

func TestIdentityAfter(t *testing.T) {
	s := tensor.NoGrad()
	defer s.Close()
	x := make([]float32, 4001)
	for i := range x {
		x[i] = float32(i-2000) / 40 // ±50
	}
	for _, name := range tensor.ActivationNames() {
		before, err := tensor.ParseActivation(name)
		if err != nil {
			t.Fatal(err)
		}
		inserted, shift := IdentityAfter(name)
		after, err := tensor.ParseActivation(inserted)
		if err != nil {
			t.Fatal(err)
		}
		in := s.Activate(before, tensor.From(s, x, int64(len(x))))
		out, err := tensor.Float32s(s.AddScalar(s.Activate(after, s.AddScalar(in, shift)), -shift))
		if err != nil {
			t.Fatal(err)
		}
		want, err := tensor.Float32s(in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out {
			if d := out[i] - want[i]; d > 4e-6 || d < -4e-6 {
				t.Fatalf("%s(%g) = %g becomes %g", name, x[i], want[i], out[i])
			}
		}
	}
}
