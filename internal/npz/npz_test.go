package npz

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestReadsNumPy reads what NumPy 2.4 wrote.
func TestReadsNumPy(t *testing.T) {
	f := must.Get(Open("testdata/numpy.npz"))(t)
	ramp, scaled := make([]float64, 24), make([]float64, 24)
	for i := range ramp {
		ramp[i] = float64(i) / 2
		scaled[i] = float64(i) / 2 * math.Pi
	}
	for name, want := range map[string][]float64{"f4": ramp, "fortran": ramp, "f8": scaled, "i4": {-1, math.MaxInt32},
		"i8": {-7}, "u1": {0, 255}, "b1": {1, 0, 1}, "count": {3.5}, "empty": nil,
		"init/policy/net.0.weight": {1, 1, 1, 1}} {
		must.Same(t, must.Get(f.Arrays[name].Float64s())(t), want, "%s", name)
	}
	for name, shape := range map[string][]int{"f4": {2, 3, 4}, "fortran": {2, 3, 4}, "i8": nil, "b1": {1, 3}} {
		must.Same(t, f.Arrays[name].Shape, shape, "shape of %s", name)
	}
	must.Same(t, must.Get(f.Arrays["text"].Strings())(t), []string{"left_hip", "Fuß", ""}, "text")
	must.Refused(f.Arrays["text"].Float64s())(t, `"text"`)
	must.Refused(f.Arrays["i8"].Strings())(t, `"i8"`)
	must.Is(t, must.Get(Open("testdata/compressed.npz"))(t).Arrays["x"].Len(), 2500, "elements")
	single := must.Get(Open("testdata/single.npy"))(t).Arrays[""]
	must.Same(t, must.Get(single.Float64s())(t), []float64{1.5, -2.5}, "single")
}

func npy(header string, data ...byte) []byte {
	return append(append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8)),
		append([]byte(header), data...)...)
}

func TestBadFiles(t *testing.T) {
	ok := "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }"
	u1 := func(shape string) []byte {
		return npy("{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + "}")
	}
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nil, "neither a .npy nor a .npz"},
		{npy(ok, 1), "needs 2 bytes, and there are 1"},
		{npy(ok)[:30], "header of 57 bytes"},
		{[]byte("\x93NUMPY\x02\x00\xff\xff\xff\x7f"), "header of 2147483647 bytes"},
		{[]byte("\x93NUMPY\x09\x00\x00\x00\x00\x00"), "format version 9"},
		{npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 1, 2), "Python objects"},
		{npy("{'descr': '>f4', 'fortran_order': False, 'shape': ()}", 1, 2, 3, 4), "big-endian"},
		{npy("{'descr': '<c8', 'fortran_order': False, 'shape': ()}"), "not supported"},
		{u1("(4611686018427387904, 4)"), "too large"},
		{npy("{'descr': '<U0', 'fortran_order': False, 'shape': (65537,)}"), "too large"},
		{u1("(" + strings.Repeat("1,", 33) + ")"), "at most 32 sizes"},
		{u1("(-1,)"), "malformed header"},
	} {
		must.Refused(Read(bytes.NewReader(c.data), int64(len(c.data))))(t, "npz: ", c.want)
	}
}

func TestBadArchives(t *testing.T) {
	must.Refused(Open("testdata/objects.npz"))(t, `objects.npz: npz: array "names"`)
	must.Refused(Open("testdata"))(t, "not a regular file")
	var double bytes.Buffer
	z := zip.NewWriter(&double)
	for range 2 {
		w, _ := z.Create("a.npy")
		w.Write(npy("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", 7))
	}
	z.Close()
	must.Refused(Read(bytes.NewReader(double.Bytes()), int64(double.Len())))(t, `"a" is there twice`)
	whole := must.Read(t, "testdata/numpy.npz")
	for n := 0; n < len(whole); n += 7 {
		must.RefusedAs(Read(bytes.NewReader(whole[:n]), int64(n)))(t, n)
	}
	at := bytes.Index(whole, []byte("\x93NUMPY")) + 140 // inside the first array's numbers
	whole[at] ^= 0x10
	must.Refused(Read(bytes.NewReader(whole), int64(len(whole))))(t, "checksum")
}

func sample() []*Array {
	return []*Array{
		New("a/f4", []float32{1, -2.5, float32(math.Inf(1)), 4, 5, 6}, 2, 3),
		New("f8", []float64{math.Pi}),
		New("i8", []int64{math.MinInt64, 5}, 2),
		New("b1", []bool{true, false}, 1, 2, 1),
		NewString("text", []string{"waist", "Knöchel", ""}, 3),
		New("empty", []float32{}, 0, 4),
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.npz")
	must.Do(t, durable.WriteFile(path, func(w io.Writer) error { return Write(w, sample()...) }))
	f := must.Get(Open(path))(t)
	for _, want := range sample() {
		must.Is(t, fmt.Sprint(*f.Arrays[want.Name]), fmt.Sprint(*want), "%s", want.Name)
	}
	must.Refuse(t, Write(&bytes.Buffer{}, sample()[0], sample()[0]))
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"numpy.npz", "compressed.npz", "single.npy", "objects.npz"} {
		f.Add(must.Read(f, "testdata/"+name))
	}
	f.Add(npy("{'descr': '<U3', 'fortran_order': True, 'shape': (1, 2L)}", make([]byte, 24)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		var arrays []*Array
		for _, name := range file.Names() {
			a := file.Arrays[name]
			a.Float64s()
			a.Strings()
			arrays = append(arrays, a)
		}
		var out bytes.Buffer
		must.Do(t, Write(&out, arrays...))
		again := must.Get(Read(bytes.NewReader(out.Bytes()), int64(out.Len())))(t)
		for name, a := range file.Arrays {
			must.Same(t, again.Arrays[name].data, a.data, "array %q", name)
		}
	})
}

// Strings of bytes, as Python 2 wrote them, are read; those that are no text are refused.
func TestReadsByteStrings(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, Write(&b, NewBytes("sex", "|S6", []byte("femalemale\x00\x00"), 2),
		NewBytes("odd", "|S1", []byte{0xff}), NewBytes("half", "<U1", []byte{0, 0xd8, 0, 0})))
	f := must.Get(Read(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	must.Same(t, must.Get(f.Arrays["sex"].Strings())(t), []string{"female", "male"}, "sex")
	for name, want := range map[string]string{"odd": "not UTF-8", "half": "0xd800"} {
		must.Refused(f.Arrays[name].Strings())(t, want)
	}
}
