package evolution

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
)

// roomy are limits for small networks.
var roomy = Limits{MinLayers: 1, MaxLayers: 4, MinNodes: 2, MaxNodes: 200, MinLatent: 2, MaxLatent: 100,
	MinConvolutions: 1, MaxConvolutions: 4, MinChannels: 2, MaxChannels: 64, MinHidden: 2, MaxHidden: 64}

// deep copies arrays.
func deep(arrays map[string]checkpoint.Array) map[string]checkpoint.Array {
	out := map[string]checkpoint.Array{}
	for p, x := range arrays {
		out[p] = x.Clone()
	}
	return out
}

// unchanged checks that arrays are as they were given.
func unchanged(t testing.TB, given, arrays map[string]checkpoint.Array) {
	t.Helper()
	for p, x := range given {
		if !bytes.Equal(x.Data, arrays[p].Data) {
			t.Fatalf("%s of the snapshot given has changed", p)
		}
	}
}

// applyEdit applies an edit to a network and its arrays.
func applyEdit(t testing.TB, a description.Architecture, arrays map[string]checkpoint.Array, e edit,
	how Preserve) (description.Architecture, map[string]checkpoint.Array) {
	t.Helper()
	to, done, changed := e.apply(a, roomy)
	if !changed {
		t.Fatalf("%v of %v changed nothing", e, a)
	}
	given := deep(arrays)
	out := must.Get(rewire(arrays, "policy/", a, to, done, how, random(3)))(t)
	unchanged(t, given, arrays)
	return to, out
}

// growing lists every edit that adds something.
func growing(a description.Architecture) []edit {
	edits := []edit{{Kind: addLayer, Module: "head"}, {Kind: addLatentNode, Nodes: 8}}
	for _, m := range a.Modules() {
		for i := range m.Hidden {
			edits = append(edits, edit{Kind: addNode, Module: m.Name, Layer: i, Nodes: 16})
		}
		if m.Name != "head" {
			edits = append(edits, edit{Kind: addLayer, Module: m.Name})
		}
	}
	return edits
}

// checkGrowth checks that a network computes what it did after an edit, and that taking away what was put in leads back
// to the same parameters and moments.
func checkGrowth(t *testing.T, a description.Architecture, arrays map[string]checkpoint.Array, e edit,
	tolerance float64, answers func(n *models.Net) []float32) {
	t.Helper()
	before := answers(network(t, a, outputs, arrays))
	grown, wider := applyEdit(t, a, arrays, e, PreserveFunction)
	change := difference(before, answers(network(t, grown, outputs, wider)))
	must.Near(t, change, 0, tolerance, "change of outputs by %v", e)
	back := e
	back.Kind = editKind(strings.Replace(string(e.Kind), "add", "remove", 1))
	if e.Kind == changeKernel {
		back.Kernel = a.Parts[0].Convolutions[e.Layer].Kernel
	}
	again, narrow := applyEdit(t, grown, wider, back, PreserveFunction)
	must.Not(t, !again.Equal(a), "%v and back is %v, not %v", e, again, a)
	for p, x := range arrays {
		// What was added to a bias and taken away again is rounded.
		if d := difference(floats(t, x), floats(t, narrow[p])); d > 1e-6 &&
			!(strings.Contains(p, "exp_avg") && e.Kind == addLayer) {
			t.Errorf("%v and back: %s differs by %g", e, p, d)
		}
	}
}

const outputs = 1

// TestGrowthPreservesFunction: whatever grows computes what it did, outputs and gradient, for every activation and kind
// of observation, from where networks start and after they have gone far.
func TestGrowthPreservesFunction(t *testing.T) {
	for name, space := range allSpaces() {
		for _, activation := range description.Activations() {
			t.Run(name+"/"+activation, func(t *testing.T) {
				a := architecture(t, space, []int{16}, 8, []int{24, 16}, activation)
				arrays := arraysOf(t, network(t, a, outputs, nil))
				for _, m := range a.Modules() { // away from the start, with activations driven into saturation
					for _, l := range m.Layers()[:len(m.Hidden)] {
						name := "policy/" + l.Name + ".weight"
						m, _ := read(arrays[name].Clone())
						for i := range m.data {
							m.data[i] *= 3
						}
						arrays[name] = m.array()
					}
				}
				for _, e := range growing(a) {
					checkGrowth(t, a, arrays, e, 1e-5, func(n *models.Net) []float32 { return answers(t, n, space) })
				}
			})
		}
	}
}

// TestGrowthOfPicturesAndMemoryPreservesFunction: so do convolutions and recurrent layers, in whole sequences.
func TestGrowthOfPicturesAndMemoryPreservesFunction(t *testing.T) {
	const module = "encoder.camera"
	for name, memory := range map[string]description.RecurrentLayer{"none": {}, "gru": models.GRU(6),
		"lstm": models.LSTM(5, 2), "rnn": models.RNN(6, 3)} {
		for _, activation := range []string{"tanh", "relu", "silu", "identity"} {
			t.Run(name+"/"+activation, func(t *testing.T) {
				a := seeing(t, memory, activation)
				arrays := arraysOf(t, network(t, a, outputs, nil))
				for _, e := range []edit{
					{Kind: addChannel, Module: module, Nodes: 3}, {Kind: addChannel, Module: module, Layer: 1,
						Nodes: 4},
					{Kind: changeKernel, Module: module, Kernel: 4}, {Kind: changeKernel, Module: module, Kernel: 5},
					{Kind: changeKernel, Module: module, Layer: 1, Kernel: 3}, {Kind: addLayer, Module: module},
					{Kind: addLatentNode, Nodes: 3}, {Kind: addNode, Module: "memory", Nodes: 7},
				} {
					if e.fits(a) {
						checkGrowth(t, a, arrays, e, 1e-6, func(n *models.Net) []float32 {
							return sequences(t, n, camera)
						})
					}
				}
			})
		}
	}
}

// TestRandomEdits: 10 000 edits, drawn as AgileRL draws them, in sequences: every architecture is within limits, and
// every network computes finite numbers of whole sequences.
func TestRandomEdits(t *testing.T) {
	edits := 10_000
	if testing.Short() {
		edits = 500
	}
	all := allSpaces()
	names := append(slices.Sorted(maps.Keys(all)), "pictures")
	all["pictures"] = camera
	rng, applied := random(21), map[string]int{}
	l := roomy
	l.MaxLayers, l.MinNodes, l.MaxNodes, l.MinLatent, l.MaxLatent = 3, 8, 80, 4, 40
	activations := description.Activations()
	const length = 25
	for sequence := range edits / length {
		space := all[names[sequence%len(names)]]
		activation := activations[rng.IntN(len(activations))]
		a := architecture(t, space, []int{16, 12}[:rng.IntN(3)], 8, []int{24, 16}[:1+rng.IntN(2)], activation)
		if sequence%len(names) == len(names)-1 {
			a = seeing(t, []description.RecurrentLayer{models.GRU(6), models.LSTM(5, 2), {}}[rng.IntN(3)], activation)
			l.MinNodes = 2
		}
		arrays := arraysOf(t, network(t, a, 2, nil))
		for range length {
			_, e := randomEdit([]description.Architecture{a}, rng, 0.3)
			if e.Kind == changeKernel {
				e.Kernel = 1 + rng.IntN(4)
			}
			if space.Width() == camera.Width() {
				e.Nodes = min(e.Nodes, 1+rng.IntN(8))
			}
			to, done, changed := e.apply(a, l)
			if !changed {
				if !to.Equal(a) {
					t.Fatalf("%v of %v changed nothing and leads to %v", e, a, to)
				}
				continue
			}
			err := within(to, l)
			must.Not(t, err != nil, "%v of %v: %v", e, a, err)
			how := []Preserve{PreserveFunction, PreserveFunction, PreserveOverlap}[rng.IntN(3)]
			applied[string(done.Kind)+" "+string(how)]++
			arrays = must.Get(rewire(arrays, "policy/", a, to, done, how, rng))(t)
			a = to
		}
		n := network(t, a, 2, arrays)
		for _, x := range sequences(t, n, space) {
			if x-x != 0 {
				t.Fatalf("%v computes %g", a, x)
			}
		}
		n.Close()
	}
	if len(applied) != 18 && !testing.Short() {
		t.Errorf("applied were %v", applied)
	}
}

// within says where an architecture is beyond limits.
func within(a description.Architecture, l Limits) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Latent <= l.MinLatent || a.Latent >= l.MaxLatent {
		return fmt.Errorf("latent %d", a.Latent)
	}
	for _, m := range a.Modules() {
		if n := len(m.Hidden); n > l.MaxLayers || m.Name == "head" && n < l.MinLayers {
			return fmt.Errorf("%s has %d layers", m.Name, n)
		}
		for _, w := range m.Hidden {
			if w <= l.MinNodes || w > l.MaxNodes {
				return fmt.Errorf("%s has a layer of %d", m.Name, w)
			}
		}
	}
	return nil
}
