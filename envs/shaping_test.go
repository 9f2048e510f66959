package envs_test

import (
	"maps"
	"math"
	"reflect"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// level is a type that an environment may have of its own.
type level int8

func TestFlattenShaping(t *testing.T) {
	tree := map[string]any{
		"scale": 2.5, "delta": []any{0.1, 3, true, "text", nil}, "on": false, "name": "as it is",
		"typed": map[string]float32{"a": 0.5}, "list": []int{4, -5}, "pair": [2]uint8{6, 7}, "level": level(-3),
		"deep": map[string]any{"er": []map[string]any{{"x": 1}}}, "none": nil, "empty": map[string]any{},
		"nil": []float64(nil),
	}
	flat := must.Get(envs.FlattenShaping(tree))(t)
	want := map[string]float64{"scale": 2.5, "delta.0": 0.1, "delta.1": 3, "delta.2": 1, "on": 0, "typed.a": 0.5,
		"list.0": 4, "list.1": -5,
		"pair.0": 6, "pair.1": 7, "level": -3, "deep.er.0.x": 1}
	must.Match(t, want, flat, "flat")
	same := must.Get(envs.UnflattenShaping(tree, flat))(t)
	if !reflect.DeepEqual(same, tree) {
		t.Errorf("there and back: %v", same)
	}
	other, err := envs.UnflattenShaping(tree, map[string]float64{"scale": -1, "delta.1": 2.4, "delta.2": 0.49, "on": 17,
		"list.1": 2.5, "pair.0": 254.6, "level": -7.5, "typed.a": 0.1, "deep.er.0.x": 9})
	must.Do(t, err)
	must.Match(t, map[string]any{
		"scale": -1.0, "delta": []any{0.1, 2, false, "text", nil}, "on": true, "name": "as it is",
		"typed": map[string]float32{"a": 0.1}, "list": []int{4, 3}, "pair": [2]uint8{255, 7}, "level": level(-8),
		"deep": map[string]any{"er": []map[string]any{{"x": 9}}}, "none": nil, "empty": map[string]any{},
		"nil": []float64(nil),
	}, other, "changed")
	// The copy shares nothing with the tree.
	other["list"].([]int)[0] = 99
	other["typed"].(map[string]float32)["a"] = 99
	other["deep"].(map[string]any)["er"].([]map[string]any)[0]["x"] = 99
	if again, _ := envs.FlattenShaping(tree); !maps.Equal(again, want) {
		t.Errorf("the tree has changed: %v", again)
	}
	must.Is(t, len(must.Get(envs.FlattenShaping(nil))(t)), 0, "of no tree")
}

func TestFlattenShapingRefuses(t *testing.T) {
	endless := map[string]any{}
	endless["again"] = endless
	for words, tree := range map[string]map[string]any{
		`"a.b" is NaN`:              {"a": map[string]any{"b": math.NaN()}},
		`within ±2⁵³`:               {"a": int64(1)<<53 + 1},
		`key "b.c" is empty or`:     {"a": map[string]any{"b.c": 1}},
		`"c" is of type complex128`: {"c": 1i},
		`nested more than 64 deep`:  endless,
	} {
		must.Refused(envs.FlattenShaping(tree))(t, words)
		must.Refused(envs.UnflattenShaping(tree, nil))(t, words)
	}
	tree := map[string]any{"speed": map[string]any{"weight": 1.0}, "small": int8(1), "byte": byte(1),
		"single": float32(1), "n": 1}
	for _, test := range []struct {
		key   string
		value float64
		words string
	}{
		{"sped.weight", 1, `did you mean "speed.weight"?`},
		{"n", math.Inf(-1), "must be finite"},
		{"n", 1e17, "out of the range of its type int"},
		{"small", 127.5, "type int8"}, {"small", -129, "type int8"}, {"byte", -0.6, "type uint8"},
		{"byte", 256, "type uint8"}, {"single", 1e39, "type float32"},
	} {
		must.Refused(envs.UnflattenShaping(tree, map[string]float64{test.key: test.value}))(t, test.words)
	}
}
