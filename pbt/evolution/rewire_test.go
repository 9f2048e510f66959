package evolution

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
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
			first + "0.weight":     {10, 20, 30, 40, 0, 0}, first + "0.bias": {50, 60, 0},
			first + "1.weight": {70, -80, 0, 90, 100, 0},
			// Second moments of new entries are the layer's mean: (1+2+3+4)/4, (5+6)/2, (7−8+9+10)/4, times 100.
			second + "0.weight": {100, 200, 300, 400, 250, 250}, second + "0.bias": {500, 600, 550},
			second + "1.weight": {700, -800, 450, 900, 1000, 450},
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
			unchanged(t, given, arrays)
			for p, x := range given {
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

// TestOverlap: of AgileRL's weights the leading block of every dimension is copied, the rest is fresh, from ±1/√inputs,
// of memory from ±1/√values. All moments are zero.
func TestOverlap(t *testing.T) {
	for _, e := range []edit{
		{Kind: addNode, Module: "head", Nodes: 32}, {Kind: removeNode, Module: "head", Nodes: 4},
		{Kind: addChannel, Module: "encoder.camera", Nodes: 2},
		{Kind: removeChannel, Module: "encoder.camera", Nodes: 2},
		{Kind: changeKernel, Module: "encoder.camera", Kernel: 5}, {Kind: addNode, Module: "memory", Nodes: 3},
	} {
		a := seeing(t, models.GRU(6), "relu")
		arrays := arraysOf(t, network(t, a, 2, nil))
		to, got := applyEdit(t, a, arrays, e, PreserveOverlap)
		network(t, to, 2, got)
		for name, made := range got {
			y, x, seen := floats(t, made), floats(t, arrays[name]), map[float32]bool{}
			inputs := len(y) / int(made.Shape[0])
			if layer, isBias := strings.CutSuffix(name, ".bias"); isBias {
				weight := got[layer+".weight"]
				inputs = len(floats(t, weight)) / int(weight.Shape[0])
			}
			if strings.Contains(name, "memory") {
				inputs = to.Recurrent.HiddenSize
			}
			if strings.Contains(name, "exp_avg") {
				must.Equal(t, name, make([]float32, len(y)), y)
				continue
			}
			for j, v := range y {
				i, rest, size, within := 0, j, 1, true // i is the same place in the array before
				for d := len(made.Shape) - 1; d >= 0; d-- {
					at, n := rest%int(made.Shape[d]), int(arrays[name].Shape[d])
					rest /= int(made.Shape[d])
					i, size, within = i+at*size, size*n, within && at < n
				}
				if within && v != x[i] || !within && (seen[v] || v == 0 || v*v*float32(inputs) > 1.00001) {
					t.Fatalf("%v: %s, entry %d is %g, was %t", e, name, j, v, within)
				}
				seen[v] = true
			}
		}
	}
}
