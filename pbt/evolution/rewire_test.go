package evolution

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// numbered are arrays of a 2→[2 2]→1 network with entries that tell where they are.
func numbered() (description.Architecture, map[string]checkpoint.Array) {
	a := description.Architecture{Parts: []description.Part{{Name: "observation", Width: 2}},
		Head: description.Stack{Hidden: []int{2, 2}}, Activation: "tanh"}
	arrays := map[string]checkpoint.Array{}
	for _, scope := range []struct {
		prefix string
		scale  float32
	}{{"", 1}, {"optimizer/exp_avg/", 10}, {"optimizer/exp_avg_sq/", 100}} {
		put := func(name string, shape []int64, data ...float32) {
			for i := range data {
				data[i] *= scope.scale
			}
			arrays[scope.prefix+"policy/"+name] = checkpoint.ArrayFloat32(shape, data)
		}
		put("head.0.weight", []int64{2, 2}, 1, 2, 3, 4)
		put("head.0.bias", []int64{2}, 5, 6)
		put("head.1.weight", []int64{2, 2}, 7, -8, 9, 10)
		put("head.1.bias", []int64{2}, 11, 12)
		put("head.out.weight", []int64{1, 2}, 13, 14)
		put("head.out.bias", []int64{1}, 15)
	}
	arrays["policy/log_std_parameter"] = checkpoint.ArrayFloat32([]int64{1}, []float32{-1})
	arrays["style_policy/head.0.weight"] = checkpoint.ArrayFloat32([]int64{1}, []float32{-2})
	arrays["optimizer/exp_avg/style_policy/head.0.weight"] = checkpoint.ArrayFloat32([]int64{1}, []float32{-3})
	return a, arrays
}

func TestGoldenPreservedFunction(t *testing.T) {
	const first, second = "optimizer/exp_avg/policy/head.", "optimizer/exp_avg_sq/policy/head."
	for name, c := range map[string]struct {
		edit edit
		want map[string][]float32 // of what changes, without parameters drawn
	}{
		"add node": {edit{Kind: addNode, Module: "head", Layer: 0, Nodes: 1}, map[string][]float32{
			"policy/head.1.weight": {7, -8, 0, 9, 10, 0},
			first + "0.weight":     {10, 20, 30, 40, 0, 0}, first + "0.bias": {50, 60, 0}, first + "1.weight": {70, -80,
				0, 90,
				100, 0},
			// Second moments of new entries are the layer's mean: (1+2+3+4)/4, (5+6)/2, (7−8+9+10)/4, times 100.
			second + "0.weight": {100, 200, 300, 400, 250, 250}, second + "0.bias": {500, 600, 550},
			second + "1.weight": {700,
				-800, 450, 900, 1000, 450},
		}},
		"remove node": {edit{Kind: removeNode, Module: "head", Layer: 0, Nodes: 1}, map[string][]float32{
			// Node 0 feeds |7|+|9| = 16, node 1 |−8|+|10| = 18: node 0 goes.
			"policy/head.0.weight": {3, 4}, "policy/head.0.bias": {6}, "policy/head.1.weight": {-8, 10},
			first + "0.weight": {30, 40}, first + "0.bias": {60}, first + "1.weight": {-80, 100},
			second + "0.weight": {300, 400}, second + "0.bias": {600}, second + "1.weight": {-800, 1000},
		}},
		"add layer": {edit{Kind: addLayer, Module: "head"}, map[string][]float32{
			"policy/head.2.weight": {1, 0, 0, 1}, "policy/head.2.bias": {1, 1}, "policy/head.out.bias": {15 - 13 - 14},
			first + "2.weight": {0, 0, 0, 0}, first + "2.bias": {0, 0},
			second + "2.weight": {1350, 1350, 1350, 1350}, second + "2.bias": {1500, 1500},
		}},
		"remove layer": {edit{Kind: removeLayer, Module: "head"}, map[string][]float32{
			// (13 14)·(7 −8; 9 10) and 15 + 13·11 + 14·12
			"policy/head.out.weight": {217, 36}, "policy/head.out.bias": {326},
			first + "out.weight": {0, 0}, second + "out.weight": {1350, 1350},
		}},
		"remove layer of sigmoids": {edit{Kind: removeLayer, Module: "head"}, map[string][]float32{
			// (13 14)·¼·(7 −8; 9 10) and 15 + 13·(½ + 11/4) + 14·(½ + 12/4)
			"policy/head.out.weight": {54.25, 9}, "policy/head.out.bias": {106.25},
			first + "out.weight": {0, 0}, second + "out.weight": {1350, 1350},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a, arrays := numbered()
			given := deep(arrays)
			l := roomy
			l.MinNodes = 0
			if strings.Contains(name, "sigmoid") {
				a.Activation = "sigmoid"
			}
			to, done, changed := c.edit.apply(a, l)
			if !changed {
				t.Fatal(to)
			}
			got := must.Get(rewire(arrays, "policy/", a, to, done, PreserveFunction, random(1)))(t)
			for p, want := range c.want {
				if have := floats(t, got[p]); !slices.Equal(have, want) {
					t.Errorf("%s is %v, want %v", p, have, want)
				}
			}
			for p, x := range given {
				if !bytes.Equal(x.Data, arrays[p].Data) {
					t.Errorf("%s of the snapshot given has changed", p)
				}
				gone := c.edit.Kind == removeLayer && strings.Contains(p, "head.1.")
				drawn := name == "add node" && strings.HasPrefix(p, "policy/head.0.")
				if _, is := got[p]; is == gone {
					t.Errorf("%s is there: %t", p, is)
				}
				if drawn {
					n := len(floats(t, x))
					if have := floats(t, got[p]); !slices.Equal(have[:n], floats(t, x)) || have[n] == 0 ||
						have[n]*have[n] > .5 {
						t.Errorf("%s is %v", p, have)
					}
				} else if c.want[p] == nil && !gone && cmp.Diff(x, got[p]) != "" {
					t.Errorf("%s has changed", p)
				}
			}
		})
	}
}

// AgileRL: "old W 64×10 → new 96×10 copies rows 0…63, rest fresh; next layer 4×64 → 4×96 copies columns 0…63".
func TestGoldenAgileRLOverlap(t *testing.T) {
	a := architecture(t, spaces.Unbounded(10), nil, 0, []int{64}, "relu")
	arrays := arraysOf(t, network(t, a, 4, nil))
	to, got := applyEdit(t, a, arrays, edit{Kind: addNode, Module: "head", Nodes: 32}, PreserveOverlap)
	if to.String() != "10→[96] relu" {
		t.Fatal(to)
	}
	old, made := floats(t, arrays["policy/head.0.weight"]), floats(t, got["policy/head.0.weight"])
	if len(made) != 96*10 || !slices.Equal(made[:640], old) {
		t.Errorf("%d values, the first 640 are not the old ones", len(made))
	}
	fresh(t, made[640:], 10)
	oldBias, bias := floats(t, arrays["policy/head.0.bias"]), floats(t, got["policy/head.0.bias"])
	if len(bias) != 96 || !slices.Equal(bias[:64], oldBias) {
		t.Errorf("bias %v", bias)
	}
	fresh(t, bias[64:], 10)
	old, made = floats(t, arrays["policy/head.out.weight"]), floats(t, got["policy/head.out.weight"])
	if len(made) != 4*96 {
		t.Fatalf("%d values", len(made))
	}
	for r := range 4 {
		if !slices.Equal(made[96*r:96*r+64], old[64*r:64*r+64]) {
			t.Errorf("row %d has other columns", r)
		}
		fresh(t, made[96*r+64:96*r+96], 96)
	}
	if !slices.Equal(floats(t, arrays["policy/head.out.bias"]), floats(t, got["policy/head.out.bias"])) {
		t.Error("the output's bias has changed")
	}
	for p, x := range got {
		if strings.Contains(p, "exp_avg") && slices.ContainsFunc(floats(t, x), func(v float32) bool { return v != 0 }) {
			t.Errorf("%s is not zero", p)
		}
	}
	network(t, to, 4, got)
}

// fresh checks that numbers may be from ±1/√inputs.
func fresh(t *testing.T, x []float32, inputs int) {
	t.Helper()
	seen := map[float32]bool{}
	for _, v := range x {
		if v*v*float32(inputs) > 1.00001 {
			t.Errorf("%g is beyond 1/√%d", v, inputs)
		}
		seen[v] = true
	}
	if len(seen) < len(x)-1 {
		t.Errorf("%d numbers, %d of them distinct", len(x), len(seen))
	}
}

// TestRewireRefuses: a snapshot that does not fit its architecture is refused.
func TestRewireRefuses(t *testing.T) {
	a, _ := numbered()
	to, done, _ := edit{Kind: addNode, Module: "head", Nodes: 4}.apply(a, roomy)
	for want, array := range map[string]checkpoint.Array{
		"has no policy/head.1.bias":       {},
		"head.0.weight has shape [2 3]":   checkpoint.ArrayFloat32([]int64{2, 3}, make([]float32, 6)),
		"head.0.bias has shape [2 1]":     checkpoint.ArrayFloat32([]int64{2, 1}, make([]float32, 2)),
		"exp_avg_sq/policy/head.out.bias": {},
		"policy/head.out.weight":          checkpoint.ArrayFloat64([]int64{1, 2}, make([]float64, 2)),
	} {
		_, arrays := numbered()
		for name := range arrays {
			if !strings.HasSuffix(name, strings.TrimPrefix(strings.Split(want, " has shape")[0], "has no ")) ||
				strings.Contains(name, "style") {
				continue
			}
			if arrays[name] = array; array.Data == nil {
				delete(arrays, name)
			}
		}
		must.Refused(rewire(arrays, "policy/", a, to, done, PreserveFunction, random(1)))(t, want)
	}
}

// Dropping a convolution that is a straight line changes nothing: its layer's reader does what both did.
func TestDroppedConvolution(t *testing.T) {
	a := seeing(t, description.RecurrentLayer{}, "identity")
	arrays := arraysOf(t, network(t, a, 2, nil))
	before := sequences(t, network(t, a, 2, arrays), camera)
	less, narrow := applyEdit(t, a, arrays, edit{Kind: removeLayer, Module: "encoder.camera"}, PreserveFunction)
	if d := difference(before, sequences(t, network(t, less, 2, narrow), camera)); !(d <= 1e-5) {
		t.Errorf("%v computes something else, by %g", less, d)
	}
}

// AgileRL's weights: the leading block of every dimension is copied.
func TestOverlapOfPicturesAndMemory(t *testing.T) {
	a := seeing(t, models.GRU(6), "relu")
	arrays := arraysOf(t, network(t, a, 2, nil))
	for _, e := range []edit{
		{Kind: addChannel, Module: "encoder.camera", Nodes: 2}, {Kind: removeChannel, Module: "encoder.camera",
			Nodes: 2},
		{Kind: changeKernel, Module: "encoder.camera", Kernel: 5}, {Kind: addNode, Module: "memory", Nodes: 3},
	} {
		to, got := applyEdit(t, a, arrays, e, PreserveOverlap)
		network(t, to, 2, got)
		for p, old := range arrays {
			made := got[p]
			if strings.Contains(p, "exp_avg") {
				continue
			}
			x, y := floats(t, old), floats(t, made)
			for i := range x {
				j, rest, size, within := 0, i, 1, true
				for d := len(old.Shape) - 1; d >= 0; d-- {
					at := rest % int(old.Shape[d])
					rest /= int(old.Shape[d])
					j, size, within = j+at*size, size*int(made.Shape[d]), within && at < int(made.Shape[d])
				}
				if within && x[i] != y[j] {
					t.Fatalf("%v: %s, entry %d is %g, was %g", e, p, i, y[j], x[i])
				}
			}
		}
	}
}
