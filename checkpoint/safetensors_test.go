package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func sampleSnapshot() *Snapshot {
	s := NewSnapshot()
	s.Arrays["policy/net.0.weight"] = ArrayFloat32([]int64{1, 3}, []float32{1, 2, 3})
	s.Arrays["scaler/count"] = ArrayFloat64([]int64{}, []float64{12})
	s.Arrays["buffer/terminated"] = ArrayBool([]int64{3}, []bool{true, false, true})
	s.Arrays["buffer/index"] = ArrayInt64([]int64{1}, []int64{-5})
	s.Arrays["random"] = ArrayBytes([]int64{2}, []byte{7, 8})
	s.Arrays["empty"] = ArrayFloat32([]int64{0, 4}, nil)
	s.Values["step"] = int64(3)
	s.Values["learning_rate"] = 1.0
	return s
}

func encoded(t testing.TB, s *Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, EncodeSafetensors(&b, s))
	return b.Bytes()
}

// file puts a header before data, valid or not.
func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// The bytes are fixed: files written by one version are read by all later ones.
func TestEncodeGolden(t *testing.T) {
	s := NewSnapshot()
	s.Arrays["b"] = ArrayFloat32([]int64{2}, []float32{1, 2})
	s.Arrays["a"] = ArrayBytes([]int64{1}, []byte{9})
	s.Values["x"] = 1.0
	header := `{"__metadata__":{"gorl":"{\"x\":1.0}"},"a":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},` +
		`"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	for len(header)%8 != 0 {
		header += " "
	}
	want := file(header, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 9)
	if got := encoded(t, s); !bytes.Equal(got, want) {
		t.Errorf("written:\n%q\nwant\n%q", got, want)
	}
}

func TestSafetensorsRoundTrip(t *testing.T) {
	want := sampleSnapshot()
	want.Metadata = map[string]string{"format": "pt"}
	data := encoded(t, want)
	got := mustDecode(t, data)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !bytes.Equal(encoded(t, got), data) {
		t.Error("written again, the bytes differ")
	}
	header := int(binary.LittleEndian.Uint64(data))
	if (8+header)%8 != 0 {
		t.Errorf("the data begins at byte %d", 8+header)
	}
	// Reading does not copy.
	a := mustDecode(t, data).Arrays["random"]
	data[len(data)-1] ^= 0xff
	b := mustDecode(t, data).Arrays["random"]
	if a.Data[1] != b.Data[1] {
		t.Error("DecodeSafetensors copied the data")
	}
	if cap(a.Data) != len(a.Data) {
		t.Error("appending to an array would write over the next")
	}
}

func mustDecode(t *testing.T, data []byte) *Snapshot {
	t.Helper()
	s := must.Get(DecodeSafetensors(data))(t)
	return s
}

// A file as Python's safetensors lays it out: other types, no values, metadata of its own.
func TestDecodeForeign(t *testing.T) {
	s := mustDecode(t, file(`{"__metadata__":{"format":"pt"},"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},`+
		`"i":{"dtype":"I32","shape":[],"data_offsets":[4,8]}}   `, 1, 2, 3, 4, 5, 6, 7, 8))
	want := &Snapshot{Arrays: map[string]Array{
		"h": {DType: "F16", Shape: []int64{2}, Data: []byte{1, 2, 3, 4}},
		"i": {DType: "I32", Shape: []int64{}, Data: []byte{5, 6, 7, 8}},
	}, Values: map[string]any{}, Metadata: map[string]string{"format": "pt"}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDecodeErrors(t *testing.T) {
	entry := func(text string, data ...byte) []byte { return file(`{"a":{`+text+`}}`, data...) }
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":               {nil, "0 bytes are fewer than the 8"},
		"no header":           {make([]byte, 8), "not a JSON object"},
		"header over the cap": {binary.LittleEndian.AppendUint64(nil, maxHeader+1), "100000001 bytes"},
		"header past the end": {binary.LittleEndian.AppendUint64(nil, 100), "only 0 follow"},
		"not an object":       {file(`[]`), "not a JSON object"},
		"cut off":             {file(`{"a":{"dtype":"U8"`), "unexpected EOF"},
		"after the object":    {file(`{}{}`), "something after"},
		"name twice, escaped": {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
			`"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 1, 2), `"a" is given twice`},
		"unknown entry": {entry(`"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1`, 1), `unknown field "x"`},
		"unknown type":  {entry(`"dtype":"F4","shape":[2],"data_offsets":[0,1]`, 1), `unknown element type "F4"`},
		"no shape":      {entry(`"dtype":"U8","data_offsets":[0,1]`, 1), "no shape"},
		"negative size": {entry(`"dtype":"U8","shape":[-1],"data_offsets":[0,1]`, 1), "negative size"},
		"product overflows": {entry(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]`),
			"can be counted"},
		"bytes overflow": {entry(`"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]`),
			"does not fill"},
		"three offsets":   {entry(`"dtype":"U8","shape":[1],"data_offsets":[0,1,2]`, 1), "not two numbers"},
		"backwards":       {entry(`"dtype":"U8","shape":[1],"data_offsets":[1,0]`, 1), "does not fill"},
		"another size":    {entry(`"dtype":"F32","shape":[1],"data_offsets":[0,1]`, 1), "does not fill bytes 0 to 1"},
		"past the end":    {entry(`"dtype":"U8","shape":[1],"data_offsets":[0,1]`), `array "a": ends at byte 1 of 0`},
		"bytes left over": {entry(`"dtype":"U8","shape":[1],"data_offsets":[0,1]`, 1, 2), "end at byte 1 of 2"},
		"hole":            {entry(`"dtype":"U8","shape":[1],"data_offsets":[1,2]`, 1, 2), `"a" begins at byte 1`},
		"overlap": {file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},`+
			`"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 1, 2, 3), `"b" begins at byte 1; the next free ` +
			`one is 2`},
		"metadata no text": {file(`{"__metadata__":{"a":3}}`), "__metadata__"},
		"values no JSON":   {file(`{"__metadata__":{"gorl":"x"}}`), `"gorl"`},
	} {
		s, err := DecodeSafetensors(test.data)
		if err == nil || s != nil || !strings.Contains(err.Error(), test.want) ||
			!strings.HasPrefix(err.Error(), "checkpoint: ") {
			t.Errorf("%s: %v, %v; want the error to contain %q", name, s, err, test.want)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	for want, change := range map[string]func(*Snapshot){
		"array \"x\": checkpoint: an array of F32 [2] has 4 bytes": func(s *Snapshot) {
			s.Arrays["x"] = Array{F32, []int64{2}, make([]byte, 4)}
		},
		"unknown element type \"F33\"": func(s *Snapshot) { s.Arrays["x"] = Array{"F33", []int64{}, nil} },
		"the format reserves the name": func(s *Snapshot) { s.Arrays[metadataKey] = ArrayBytes([]int64{0}, nil) },
		"is not valid UTF-8":           func(s *Snapshot) { s.Arrays["\xff"] = ArrayBytes([]int64{0}, nil) },
		"Values.loss is NaN":           func(s *Snapshot) { s.Values["loss"] = math.NaN() },
		"use another name":             func(s *Snapshot) { s.Metadata = map[string]string{"gorl": ""} },
	} {
		s := sampleSnapshot()
		change(s)
		var b bytes.Buffer
		err := EncodeSafetensors(&b, s)
		must.RefuseAs(t, want, err, want)
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written before the error", want, b.Len())
		}
	}
	if err := EncodeSafetensors(failing{}, sampleSnapshot()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a failing writer gives %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// FuzzSafetensors checks that any bytes either fail, or decode to a snapshot that is written and read back the same.
func FuzzSafetensors(f *testing.F) {
	f.Add(encoded(f, sampleSnapshot()))
	f.Add(encoded(f, NewSnapshot()))
	f.Add(file(`{"a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}}  `, 1, 2, 3, 4))
	f.Add(file(`{"__metadata__":{"gorl":"{\"a\":[1,2.5,{\"b\":null}]}","x":"y"}}`))
	f.Add(file(`{"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}}`, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSafetensors(data)
		if err != nil {
			return
		}
		for name, a := range s.Arrays {
			if err := a.Validate(); err != nil {
				t.Errorf("array %q: %v", name, err)
			}
		}
		again := mustDecode(t, encoded(t, s))
		if diff := cmp.Diff(s, again, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("-first +second:\n%s", diff)
		}
	})
}

// FuzzManifest checks that no text passes for a manifest that this package would not have written with the same
// contents.
func FuzzManifest(f *testing.F) {
	seed := Manifest{Format: manifestFormat, Version: 1, Name: "a", File: "a.safetensors", Values: []byte(`{"x":1}`)}
	text := must.Get(seed.encode())(f)
	f.Add(text)
	f.Add([]byte(`{"format":"gorl checkpoint","version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			return
		}
		text := must.Get(m.encode())(t)
		if again, err := decodeManifest(text); err != nil || cmp.Diff(m, again, cmp.Comparer(sameJSON)) != "" {
			t.Errorf("written again, %s is not read as the same: %v", text, err)
		}
	})
}

func sameJSON(a, b []byte) bool {
	return strings.Join(strings.Fields(string(a)), "") == strings.Join(strings.Fields(string(b)), "")
}

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
