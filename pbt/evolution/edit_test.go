package evolution

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// TestGoldenAgileRLEdits has the vectors of AgileRL's MLP: limits 32 to 500 nodes, 1 to 3 layers, latent 8 to 128.
func TestGoldenAgileRLEdits(t *testing.T) {
	head := func(k editKind, layer, nodes int) edit {
		return edit{Kind: k, Module: "head", Layer: layer, Nodes: nodes}
	}
	for _, c := range []struct {
		name   string
		hidden []int
		latent int
		edit   edit
		want   []int // the head, or the latent
		done   editKind
	}{
		{"add 64@0", []int{64, 64}, 0, head(addNode, 0, 64), []int{128, 64}, addNode},
		{"remove 32@0 is a no-op", []int{64, 64}, 0, head(removeNode, 0, 32), []int{64, 64}, removeNode},
		{"remove 16@0", []int{64, 64}, 0, head(removeNode, 0, 16), []int{48, 64}, removeNode},
		{"add_layer", []int{64, 64}, 0, head(addLayer, 0, 0), []int{64, 64, 64}, addLayer},
		{"add_layer repeats the last width", []int{64, 96}, 0, head(addLayer, 0, 0), []int{64, 96, 96}, addLayer},
		{"add_layer at 3 is add_node", []int{64, 64, 64}, 0, head(addLayer, 1, 32), []int{64, 96, 64}, addNode},
		{"remove_layer", []int{64, 48}, 0, head(removeLayer, 0, 0), []int{64}, removeLayer},
		{"remove_layer at 1 is add_node", []int{64}, 0, head(removeLayer, 0, 16), []int{80}, addNode},
		{"a layer beyond the last is the last", []int{64, 64}, 0, head(addNode, 7, 16), []int{64, 80}, addNode},
		{"up to 500, inclusive", []int{436}, 0, head(addNode, 0, 64), []int{500}, addNode},
		{"not beyond 500", []int{437}, 0, head(addNode, 0, 64), []int{437}, addNode},
		{"more than any width", []int{64}, 0, head(addNode, 0, 1<<63-1), []int{64}, addNode},
		{"latent 64+32", []int{64}, 64, edit{Kind: addLatentNode, Nodes: 32}, []int{96}, addLatentNode},
		{"latent stays below 128", []int{64}, 96, edit{Kind: addLatentNode, Nodes: 32}, []int{96}, addLatentNode},
		{"latent 127", []int{64}, 95, edit{Kind: addLatentNode, Nodes: 32}, []int{127}, addLatentNode},
		{"latent stays above 8", []int{64}, 16, edit{Kind: removeLatentNode, Nodes: 8}, []int{16}, removeLatentNode},
		{"latent 9", []int{64}, 17, edit{Kind: removeLatentNode, Nodes: 8}, []int{9}, removeLatentNode},
		{"no latent", []int{64}, 0, edit{Kind: addLatentNode, Nodes: 8}, []int{0}, addLatentNode},
		{"no nodes", []int{64}, 0, head(addNode, 0, 0), []int{64}, addNode},
		{"no layers", nil, 0, head(addLayer, 0, 16), nil, addNode},
	} {
		a := architecture(t, spaces.Unbounded(10), nil, c.latent, c.hidden, "relu")
		before := a.Clone()
		next, done, changed := c.edit.apply(a, DefaultLimits())
		old, got := a.Head.Hidden, next.Head.Hidden
		if strings.Contains(string(c.edit.Kind), "latent") {
			old, got = []int{a.Latent}, []int{next.Latent}
		}
		if !slices.Equal(got, c.want) || changed == slices.Equal(old, got) || done.Kind != c.done {
			t.Errorf("%s: %v, changed %t, done %v; want %v, %s", c.name, got, changed, done, c.want, c.done)
		}
		if changed == a.Equal(next) || !a.Equal(before) {
			t.Errorf("%s: changed %t, and %v became %v, given as %v", c.name, changed, a, next, before)
		}
		if again, same, _ := done.apply(a, DefaultLimits()); !again.Equal(next) || same != done {
			t.Errorf("%s: what was done, %v, leads elsewhere: %v", c.name, done, again)
		}
	}
}

// TestEditModules: an edit changes its own module alone, a new layer has AgileRL's activation, and a change of the
// activation concerns all layers.
func TestEditModules(t *testing.T) {
	a := architecture(t, dict(), []int{64}, 32, []int{64, 64}, "Tanh")
	const grown = "5→[64] + 2→[64] + 3→[80] + 4→[64]→32→[64 64 64:elu] tanh"
	for _, c := range []struct {
		edit edit
		want string
	}{
		{edit{Kind: addNode, Module: "encoder.goal", Nodes: 16}, "5→[64] + 2→[64] + 3→[80] + 4→[64]→32→[64 64] tanh"},
		{edit{Kind: addLayer, Module: "head"}, grown},
		{edit{Kind: changeActivation, Activation: "tanh"}, grown},
		{edit{Kind: changeActivation, Activation: "gelu"}, "5→[64] + 2→[64] + 3→[80] + 4→[64]→32→[64 64 64] gelu"},
	} {
		next, _, changed := c.edit.apply(a, DefaultLimits())
		if next.String() != c.want || changed == next.Equal(a) {
			t.Errorf("%v of %v is %v, changed %t; want %s", c.edit, a, next, changed, c.want)
		}
		a = next
	}
}

// What is drawn, and how often: of all policies together, layers share a fifth, and each of the node edits has an equal
// part of the rest.
func TestRandomEdit(t *testing.T) {
	snap, _ := teamSnapshot(t)
	policies := append(policiesOf(t, snap), architecture(t, dict(), []int{64}, 32, []int{64, 64}, "tanh"))
	want, edits := map[string]float64{}, 0
	for _, a := range policies {
		edits += len(nodeEdits(a))
	}
	for i, a := range policies {
		for _, e := range nodeEdits(a) {
			want[fmt.Sprint(i, e.Module, e.Kind)] = .8 / float64(edits)
		}
		for _, kind := range []editKind{addLayer, removeLayer} {
			want[fmt.Sprint(i, "head", kind)] = .1 / float64(len(policies))
		}
	}
	const n = 30_000
	count, sizes, rng, head := map[string]float64{}, map[int]float64{}, random(1), 0.0
	var layers [2]float64
	for range n {
		i, e := randomEdit(policies, rng, 0.2)
		if !e.fits(policies[i]) {
			t.Fatalf("%v has no %v", policies[i], e)
		}
		count[fmt.Sprint(i, e.Module, e.Kind)]++
		if e.Module == "head" {
			head++
			sizes[e.Nodes]++
			if i == len(policies)-1 { // with two layers
				layers[e.Layer]++
			}
		} else if e.Module == "" && !slices.Contains([]int{8, 16, 32}, e.Nodes) {
			t.Fatalf("%v of the latent", e)
		}
	}
	must.Is(t, len(count), len(want), "kinds of edits")
	for name, share := range want {
		must.Near(t, count[name]/n, share, .006, "the share of %s", name)
	}
	for _, k := range []int{16, 32, 64} {
		must.Near(t, sizes[k]/head, 1.0/3, .025, "the share of %d nodes", k)
	}
	must.Near(t, layers[0]/(layers[0]+layers[1]), .5, .025, "the share of the first of two layers")
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
	camera := func(k editKind, layer, n int) edit {
		e := edit{Kind: k, Module: "encoder.camera", Layer: layer, Nodes: n}
		if k == changeKernel {
			e.Nodes, e.Kernel = 0, n
		}
		return e
	}
	memory := func(k editKind, layer, n int) edit { return edit{Kind: k, Module: "memory", Layer: layer, Nodes: n} }
	for _, c := range []struct {
		name string
		edit edit
		want string // the camera's convolutions, or the memory
		done editKind
	}{
		{"more channels", camera(addChannel, 0, 8), "[24k8s4 32k4s2]", addChannel},
		{"more than 256", camera(addChannel, 1, 225), "[16k8s4 32k4s2]", addChannel},
		{"16 are left", camera(removeChannel, 1, 16), "[16k8s4 16k4s2]", removeChannel},
		{"fewer than 16", camera(removeChannel, 0, 8), "[16k8s4 32k4s2]", removeChannel},
		{"a larger kernel", camera(changeKernel, 0, 11), "[16k11s4p0+3 32k4s2]", changeKernel},
		{"a kernel beyond the picture", camera(changeKernel, 1, 5), "[16k8s4 32k4s2]", changeKernel},
		{"another layer", camera(addLayer, 0, 8), "[24k8s4 32k4s2]", addChannel},
		{"one layer fewer", camera(removeLayer, 0, 0), "[16k8s4]", removeLayer},
		{"up to 512", memory(addNode, 0, 464), "lstm[512]", addNode},
		{"not beyond", memory(addNode, 0, 465), "lstm[48]", addNode},
		{"down to 32", memory(removeNode, 0, 16), "lstm[32]", removeNode},
		{"not below", memory(removeNode, 0, 17), "lstm[48]", removeNode},
	} {
		a := architecture(t, seen(), []int{16}, 16, []int{32}, "tanh")
		a.Recurrent = models.LSTM(48)
		next, done, changed := c.edit.apply(a, DefaultLimits())
		if !strings.Contains(next.String(), c.want) || done.Kind != c.done || changed == next.Equal(a) ||
			changed == strings.Contains(a.String(), c.want) {
			t.Errorf("%s: %v, changed %t, done %v; want %s", c.name, next, changed, done, c.want)
		}
	}
}
