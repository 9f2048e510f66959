package checkpoint

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestArrays(t *testing.T) {
	f32 := []float32{1, -2.5, float32(math.Inf(1)), 0, 5, 6}
	a := ArrayFloat32([]int64{2, 3}, f32)
	if got, err := a.Float32s(); err != nil || &got[0] != &f32[0] {
		t.Errorf("Float32s copies or fails: %v", err)
	}
	if want := []byte{0, 0, 0x20, 0xc0}; !slices.Equal(a.Data[4:8], want) {
		t.Errorf("-2.5 is stored as % x, want % x", a.Data[4:8], want)
	}
	unaligned := append(make([]byte, 1, 17), ArrayFloat64([]int64{2}, []float64{1.5, -3}).Data...)
	got, err := Array{DType: F64, Shape: []int64{2}, Data: unaligned[1:]}.Float64s()
	if err != nil || !slices.Equal(got, []float64{1.5, -3}) {
		t.Errorf("from an odd address: %v, %v", got, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a shape of 2 holds 3 elements")
		}
	}()
	ArrayFloat32([]int64{2}, make([]float32, 3))
}

func TestSnapshotAccess(t *testing.T) {
	s := NewSnapshot()
	s.Arrays["w"] = ArrayFloat32([]int64{2, 1}, []float32{1, math.MaxFloat32})
	s.Values = map[string]any{"lr": 0.5, "on": true, "opt": map[string]any{"t": 3.0}}
	must.Do(t, s.CheckFinite())
	if n, err := s.Int("opt", "t"); n != 3 || err != nil {
		t.Errorf("a whole float is read as %d, %v", n, err)
	}
	s.Arrays["nan"] = ArrayFloat64([]int64{2}, []float64{1, math.NaN()})
	s.Arrays["inf"] = ArrayFloat32([]int64{1}, []float32{float32(math.Inf(-1))})
	for want, f := range map[string]func() error{
		`no array "b"`:                       func() error { _, err := s.Float32s("b", 1); return err },
		`"w" has shape [2 1], want [1 2]`:    func() error { _, err := s.Float32s("w", 1, 2); return err },
		`array "w": checkpoint: the array's`: func() error { _, err := s.Float64s("w", 2, 1); return err },
		`no value "opt.x"`:                   func() error { _, err := s.Int("opt", "x", "y"); return err },
		`"lr" is 0.5 (float64), want an int`: func() error { _, err := s.Int("lr"); return err },
		`"on" is true (bool), want a string`: func() error { _, err := s.Text("on"); return err },
		`not finite: "inf", "nan"`:           s.CheckFinite,
	} {
		must.RefuseAs(t, want, f(), want)
	}
}

func TestValuesRoundTrip(t *testing.T) {
	want := map[string]any{
		"nothing": nil, "negative": int64(math.MinInt64), "unsigned": uint64(math.MaxUint64), "whole": 3.0,
		"small": 1e-300, "large": 1e300, "third": 1.0 / 3, "zero": math.Copysign(0, -1), "text": "a\"<ü>\n\u2028",
		"deep": []any{true, map[string]any{"x": []any{}}},
	}
	text := must.Get(appendValue(nil, "Values", want, 0))(t)
	got, err := parseValues(string(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if text, err = appendValue(nil, "Values", []any{3, []float64{1, 2.5}, map[string]int{"b": 2, "a": 1}},
		0); err != nil || string(text) != `[3,[1.0,2.5],{"a":1,"b":2}]` {
		t.Errorf("Go's own types are written as %s, %v", text, err)
	}
}

func TestValuesErrors(t *testing.T) {
	deep := any(1)
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for want, v := range map[string]any{
		"Values.a.b is NaN":          map[string]any{"a": map[string]any{"b": math.NaN()}},
		"func() cannot be stored":    map[string]any{"f": func() {}},
		"Values.s is not valid UTF":  map[string]any{"s": "\xff"},
		"a key of Values is not val": map[string]any{"\xff": 1},
		"nested more than":           map[string]any{"d": deep},
	} {
		must.RefusedAs(appendValue(nil, "Values", v, 0))(t, want, want)
	}
	nested := strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500)
	for _, text := range []string{"", "null", "[1]", `{"a":1e999}`, `{} {}`, `{"a":NaN}`, nested} {
		if v, err := parseValues(text); err == nil {
			t.Errorf("%.40q is read as %v", text, v)
		}
	}
}
