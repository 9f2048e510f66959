package checkpoint

import (
	"bytes"
	"encoding/binary"
	"math"
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
	must.Is(t, string(encoded(t, s)), string(file(header, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 9)), "written")
}

func TestSafetensorsRoundTrip(t *testing.T) {
	want := sampleSnapshot()
	want.Metadata = map[string]string{"format": "pt"}
	data := encoded(t, want)
	got := must.Get(DecodeSafetensors(data))(t)
	must.Match(t, want, got, "read")
	must.Is(t, string(encoded(t, got)), string(data), "written again")
	// Reading does not copy, and appending to an array does not write over the next.
	a := got.Arrays["random"]
	data[len(data)-1] ^= 0xff
	must.Is(t, a.Data[1], must.Get(DecodeSafetensors(data))(t).Arrays["random"].Data[1], "data")
	must.Is(t, cap(a.Data), len(a.Data), "capacity")
}

func TestDecodeErrors(t *testing.T) {
	entry := func(text string, data ...byte) []byte { return file(`{"a":{`+text+`}}`, data...) }
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":               {nil, "0 bytes are fewer than the 8"},
		"header over the cap": {binary.LittleEndian.AppendUint64(nil, maxHeader+1), "100000001 bytes"},
		"header past the end": {binary.LittleEndian.AppendUint64(nil, 100), "only 0 follow"},
		"cut off":             {file(`{"a":{"dtype":"U8"`), "unexpected EOF"},
		"name twice, escaped": {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
			`"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 1, 2), `"a" is given twice`},
		"unknown type":  {entry(`"dtype":"F4","shape":[2],"data_offsets":[0,1]`, 1), `unknown element type "F4"`},
		"negative size": {entry(`"dtype":"U8","shape":[-1],"data_offsets":[0,1]`, 1), "negative size"},
		"product overflows": {entry(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]`),
			"can be counted"},
		"bytes overflow": {entry(`"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]`),
			"does not fill"},
		"another size":    {entry(`"dtype":"F32","shape":[1],"data_offsets":[0,1]`, 1), "does not fill bytes 0 to 1"},
		"past the end":    {entry(`"dtype":"U8","shape":[1],"data_offsets":[0,1]`), `array "a": ends at byte 1 of 0`},
		"bytes left over": {entry(`"dtype":"U8","shape":[1],"data_offsets":[0,1]`, 1, 2), "end at byte 1 of 2"},
		"overlap": {file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},`+
			`"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 1, 2, 3), `"b" begins at byte 1; the next free ` +
			`one is 2`},
		"values no JSON": {file(`{"__metadata__":{"gorl":"x"}}`), `"gorl"`},
	} {
		must.RefusedAs(DecodeSafetensors(test.data))(t, name, "checkpoint: ", test.want)
	}
}

func TestEncodeErrors(t *testing.T) {
	for want, change := range map[string]func(*Snapshot){
		"array \"x\": checkpoint: an array of F32 [2] has 4 bytes": func(s *Snapshot) {
			s.Arrays["x"] = Array{F32, []int64{2}, make([]byte, 4)}
		},
		"unknown element type \"F33\"": func(s *Snapshot) { s.Arrays["x"] = Array{"F33", []int64{}, nil} },
		"the format reserves the name": func(s *Snapshot) { s.Arrays[metadataKey] = ArrayBytes([]int64{0}, nil) },
		"use another name":             func(s *Snapshot) { s.Metadata = map[string]string{"gorl": ""} },
	} {
		s := sampleSnapshot()
		change(s)
		var b bytes.Buffer
		must.RefuseAs(t, want, EncodeSafetensors(&b, s), want)
		must.Is(t, b.Len(), 0, "bytes written before the error")
	}
}

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
			must.Not(t, a.Validate() != nil, "array %q: %v", name, a.Validate())
		}
		again := must.Get(DecodeSafetensors(encoded(t, s)))(t)
		must.Equal(t, "read again", s, again, cmp.Comparer(bytes.Equal))
	})
}

// FuzzManifest checks that no text passes for a manifest that this package would not have written with the same
// contents.
func FuzzManifest(f *testing.F) {
	seed := Manifest{Format: manifestFormat, Version: 1, Name: "a", File: "a.safetensors", Values: []byte(`{"x":1}`)}
	f.Add(must.Get(seed.encode())(f))
	f.Add([]byte(`{"format":"gorl checkpoint","version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			return
		}
		text := must.Get(m.encode())(t)
		must.Equal(t, "written again", m, must.Get(decodeManifest(text))(t), cmp.Comparer(sameJSON))
	})
}

func sameJSON(a, b []byte) bool {
	return strings.Join(strings.Fields(string(a)), "") == strings.Join(strings.Fields(string(b)), "")
}

func TestArrays(t *testing.T) {
	f32 := []float32{1, -2.5, float32(math.Inf(1)), 0, 5, 6}
	a := ArrayFloat32([]int64{2, 3}, f32)
	must.Is(t, &must.Get(a.Float32s())(t)[0], &f32[0], "where Float32s are")
	must.Same(t, a.Data[4:8], []byte{0, 0, 0x20, 0xc0}, "-2.5")
	unaligned := append(make([]byte, 1, 17), ArrayFloat64([]int64{2}, []float64{1.5, -3}).Data...)
	got := must.Get(Array{DType: F64, Shape: []int64{2}, Data: unaligned[1:]}.Float64s())(t)
	must.Same(t, got, []float64{1.5, -3}, "from an odd address")
}

func TestSnapshotAccess(t *testing.T) {
	s := NewSnapshot()
	s.Arrays["w"] = ArrayFloat32([]int64{2, 1}, []float32{1, math.MaxFloat32})
	s.Values = map[string]any{"lr": 0.5, "opt": map[string]any{"t": 3.0}}
	must.Do(t, s.CheckFinite())
	must.Is(t, must.Get(s.Int("opt", "t"))(t), 3, "a whole float")
	s.Arrays["nan"] = ArrayFloat64([]int64{2}, []float64{1, math.NaN()})
	s.Arrays["inf"] = ArrayFloat32([]int64{1}, []float32{float32(math.Inf(-1))})
	must.Refuse(t, s.CheckFinite(), `not finite: "inf", "nan"`)
	must.Refused(s.Float32s("b", 1))(t, `no array "b"`)
	must.Refused(s.Float32s("w", 1, 2))(t, `"w" has shape [2 1], want [1 2]`)
	must.Refused(s.Float64s("w", 2, 1))(t, `array "w": checkpoint: the array's`)
	must.Refused(s.Int("opt", "x", "y"))(t, `no value "opt.x"`)
	must.Refused(s.Int("lr"))(t, `"lr" is 0.5 (float64), want an int`)
}

func TestValuesRoundTrip(t *testing.T) {
	want := map[string]any{
		"nothing": nil, "negative": int64(math.MinInt64), "unsigned": uint64(math.MaxUint64), "whole": 3.0,
		"small": 1e-300, "large": 1e300, "third": 1.0 / 3, "zero": math.Copysign(0, -1), "text": "a\"<ü>\n\u2028",
		"deep": []any{true, map[string]any{"x": []any{}}},
	}
	text := must.Get(encodeValue("Values", want))(t)
	must.Match(t, want, must.Get(parseValues(string(text)))(t), "read")
	own := []any{3, []float64{1, 2.5}, map[string]int{"b": 2, "a": 1}}
	must.Is(t, string(must.Get(encodeValue("Values", own))(t)), `[3,[1.0,2.5],{"a":1,"b":2}]`, "Go's own types")
}

func TestValuesErrors(t *testing.T) {
	deep := any(1)
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for want, v := range map[string]any{
		"Values.a.b is NaN":          map[string]any{"a": map[string]any{"b": math.NaN()}},
		"func() cannot be stored":    map[string]any{"f": func() {}},
		"a key of Values is not val": map[string]any{"\xff": 1},
		"nested more than":           map[string]any{"d": deep},
	} {
		must.RefusedAs(encodeValue("Values", v))(t, want, want)
	}
	nested := strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500)
	for _, text := range []string{"", "null", "[1]", `{"a":1e999}`, `{} {}`, `{"a":NaN}`, nested} {
		must.RefusedAs(parseValues(text))(t, text)
	}
}
