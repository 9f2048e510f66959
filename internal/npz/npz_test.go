package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func open(t *testing.T, name string) *File {
	t.Helper()
	f, err := Open(filepath.Join("testdata", name))
	must.Do(t, err)
	return f
}

func equal[T any](t *testing.T, name string, got []T, err error, want ...T) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 {
		t.Errorf("%s: %s", name, d)
	}
}

// TestReadsNumPy reads what NumPy 2.4 wrote.
func TestReadsNumPy(t *testing.T) {
	f := open(t, "numpy.npz")
	ramp, scaled := make([]float64, 24), make([]float64, 24)
	for i := range ramp {
		ramp[i] = float64(i) / 2
		scaled[i] = float64(i) / 2 * math.Pi
	}
	for _, name := range []string{"f4", "fortran"} {
		got, err := f.Arrays[name].Float64s()
		equal(t, name, got, err, ramp...)
		equal(t, name, f.Arrays[name].Shape, nil, 2, 3, 4)
	}
	f8, err := f.Arrays["f8"].Float64s()
	equal(t, "f8", f8, err, scaled...)
	for name, want := range map[string][]float64{"i4": {-1, math.MaxInt32}, "i8": {-7}, "u1": {0, 255},
		"b1": {1, 0, 1}, "count": {3.5}, "empty": nil, "init/policy/net.0.weight": {1, 1, 1, 1}} {
		got, err := f.Arrays[name].Float64s()
		equal(t, name, got, err, want...)
	}
	equal(t, "i8", f.Arrays["i8"].Shape, nil)
	equal(t, "b1", f.Arrays["b1"].Shape, nil, 1, 3)
	text, err := f.Arrays["text"].Strings()
	equal(t, "text", text, err, "left_hip", "Fuß", "")
	_, err = f.Arrays["text"].Float64s()
	must.Refuse(t, err, `"text"`)
	_, err = f.Arrays["i8"].Strings()
	must.Refuse(t, err, `"i8"`)
	if n := open(t, "compressed.npz").Arrays["x"].Len(); n != 2500 {
		t.Errorf("compressed: %d elements", n)
	}
	single, err := open(t, "single.npy").Arrays[""].Float64s()
	equal(t, "single", single, err, 1.5, -2.5)
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
		{[]byte("hello, this is no archive"), "neither a .npy nor a .npz"},
		{npy(ok, 1), "needs 2 bytes, and there are 1"},
		{npy(ok, 1, 2, 3), "needs 2 bytes, and there are 3"},
		{npy(ok)[:30], "header of 57 bytes"},
		{[]byte("\x93NUMPY\x02\x00\xff\xff"), "truncated before its header"},
		{[]byte("\x93NUMPY\x02\x00\xff\xff\xff\x7f"), "header of 2147483647 bytes"},
		{[]byte("\x93NUMPY\x09\x00\x00\x00\x00\x00"), "format version 9"},
		{npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 1, 2), "Python objects"},
		{npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"), "structured"},
		{npy("{'descr': '>f4', 'fortran_order': False, 'shape': ()}", 1, 2, 3, 4), "big-endian"},
		{npy("{'descr': '<c8', 'fortran_order': False, 'shape': ()}"), "not supported"},
		{npy("{'descr': '<U9999999', 'fortran_order': False, 'shape': ()}"), "not supported"},
		{u1("(4611686018427387904, 4)"), "too large"},
		{u1("(0, 4611686018427387904, 4)"), "too large"},
		{npy("{'descr': '<U0', 'fortran_order': False, 'shape': (65537,)}"), "too large"},
		{u1("(99999999999999999999,)"), "99999999999999999999"},
		{u1("(" + strings.Repeat("1,", 33) + ")"), "at most 32 sizes"},
		{u1("(-1,)"), "malformed header"},
		{npy(ok+"x", 1, 2), "malformed header"},
		{npy("{'descr': '<f8', 'fortran_order': None, 'shape': ()}"), "malformed header"},
	} {
		_, err := Read(bytes.NewReader(c.data), int64(len(c.data)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "npz: ") {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestBadArchives(t *testing.T) {
	if _, err := Open("testdata/objects.npz"); err == nil ||
		!strings.Contains(err.Error(), `objects.npz: array "names"`) {
		t.Errorf("objects: %v", err)
	}
	if _, err := Open("testdata"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("folder: %v", err)
	}
	if _, err := Open("testdata/absent.npz"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	var double bytes.Buffer
	z := zip.NewWriter(&double)
	for range 2 {
		w, _ := z.Create("a.npy")
		w.Write(npy("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", 7))
	}
	z.Close()
	_, err := Read(bytes.NewReader(double.Bytes()), int64(double.Len()))
	must.Refuse(t, err, `"a" is there twice`)
	whole := must.Read(t, "testdata/numpy.npz")
	for n := 0; n < len(whole); n += 7 {
		if _, err := Read(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			t.Fatalf("truncated to %d of %d bytes: no error", n, len(whole))
		}
	}
	at := bytes.Index(whole, []byte("\x93NUMPY")) + 140 // inside the first array's numbers
	whole[at] ^= 0x10
	_, err = Read(bytes.NewReader(whole), int64(len(whole)))
	must.Refuse(t, err, "checksum")
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
	must.Do(t, WriteFile(path, sample()...))
	f, err := Open(path)
	must.Do(t, err)
	for _, want := range sample() {
		got := f.Arrays[want.Name]
		if got.DType != want.DType || !bytes.Equal(got.data, want.data) ||
			fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
			t.Errorf("%s: got %v, want %v", want.Name, got, want)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := Write(&bytes.Buffer{}, sample()[0], sample()[0]); err == nil {
		t.Error("two arrays of one name were written")
	}
	if err := WriteFile(filepath.Join(path, "x.npz")); err == nil {
		t.Error("wrote into a file as if it were a folder")
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"numpy.npz", "compressed.npz", "single.npy", "objects.npz"} {
		data := must.Read(f, filepath.Join("testdata", name))
		f.Add(data)
	}
	f.Add(npy("{'descr': '<U3', 'fortran_order': True, 'shape': (1, 2L)}", make([]byte, 24)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		arrays := make([]*Array, 0, len(file.Arrays))
		for _, name := range file.Names() {
			a := file.Arrays[name]
			a.Float64s()
			a.Strings()
			arrays = append(arrays, a)
		}
		var out bytes.Buffer
		must.Do(t, Write(&out, arrays...))
		again, err := Read(bytes.NewReader(out.Bytes()), int64(out.Len()))
		must.Do(t, err)
		for name, a := range file.Arrays {
			if !bytes.Equal(again.Arrays[name].data, a.data) {
				t.Fatalf("array %q changed", name)
			}
		}
	})
}

// Strings of bytes, as Python 2 wrote them, are read; those that are no text are refused.
func TestReadsByteStrings(t *testing.T) {
	var b bytes.Buffer
	err := Write(&b, NewBytes("sex", "|S6", []byte("femalemale\x00\x00"), 2), NewBytes("odd", "|S1", []byte{0xff}),
		NewBytes("half", "<U1", []byte{0, 0xd8, 0, 0}))
	must.Do(t, err)
	f, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	must.Do(t, err)
	got, err := f.Arrays["sex"].Strings()
	equal(t, "sex", got, err, "female", "male")
	for name, want := range map[string]string{"odd": "not UTF-8", "half": "0xd800"} {
		if _, err := f.Arrays[name].Strings(); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}
