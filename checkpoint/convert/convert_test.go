package convert_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// everything is a snapshot with all that the three formats can hold.
func everything() *checkpoint.Snapshot {
	s := checkpoint.NewSnapshot()
	s.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	s.Arrays["policy/net.0.bias"] = checkpoint.ArrayFloat32([]int64{2}, []float32{float32(math.Inf(1)), -0.5})
	s.Arrays["scaler/running_mean"] = checkpoint.ArrayFloat64([]int64{}, []float64{0.1})
	s.Arrays["steps"] = checkpoint.ArrayInt64([]int64{2}, []int64{-1, 1 << 40})
	s.Arrays["random/generator"] = checkpoint.ArrayBytes([]int64{3}, []byte{0, 128, 255})
	s.Arrays["flags"] = checkpoint.ArrayBool([]int64{2}, []bool{true, false})
	s.Arrays["none"] = checkpoint.ArrayFloat32([]int64{0, 4}, nil)
	s.Arrays["half"] = checkpoint.Array{DType: "F16", Shape: []int64{1}, Data: []byte{0, 0x3e}}
	s.Arrays["words"] = checkpoint.Array{DType: "U16", Shape: []int64{1}, Data: []byte{1, 2}}
	s.Values = map[string]any{"agent": "PPO", "timestep": int64(7), "rate": 1e-3, "list": []any{int64(1), "zwei", nil, true, []any{}}, "nested": map[string]any{"x": 1.0}}
	s.Metadata = map[string]string{"format": "pt", "author": "grüße"}
	return s
}

func equal(t *testing.T, got, want *checkpoint.Snapshot) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(got.Arrays)), slices.Sorted(maps.Keys(want.Arrays)); !slices.Equal(g, w) {
		t.Errorf("arrays %v, want %v", g, w)
	}
	for name, w := range want.Arrays {
		g := got.Arrays[name]
		if g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s: %v, want %v", name, g, w)
		}
	}
	if g, w := fmt.Sprintf("%#v", got.Values), fmt.Sprintf("%#v", want.Values); g != w {
		t.Errorf("values %s, want %s", g, w)
	}
	if !maps.Equal(got.Metadata, want.Metadata) {
		t.Errorf("metadata %v, want %v", got.Metadata, want.Metadata)
	}
}

// From any format to any other and on to the third nothing is lost, and every format's file is the same bytes every time.
func TestEveryDirection(t *testing.T) {
	extensions := []string{".pt", ".safetensors", ".npz"}
	want := everything()
	for _, a := range extensions {
		for _, b := range extensions {
			for _, c := range extensions {
				dir := t.TempDir()
				one, two, three := filepath.Join(dir, "one"+a), filepath.Join(dir, "two"+b), filepath.Join(dir, "three"+c)
				again := filepath.Join(dir, "again"+c)
				if err := convert.Write(one, want); err != nil {
					t.Fatal(err)
				}
				for _, step := range [][2]string{{one, two}, {two, three}, {one, again}} {
					if err := convert.File(step[0], step[1]); err != nil {
						t.Fatal(err)
					}
				}
				got, err := convert.Read(three)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, got, want)
				x, _ := os.ReadFile(three)
				y, err := os.ReadFile(again)
				if err != nil || !bytes.Equal(x, y) {
					t.Errorf("%s by way of %s and directly differ (%v)", c, b, err)
				}
			}
		}
	}
}

// A .pt of PyTorch's that was another format in between is what it was: order, kinds of containers, numbers.
func TestTreeSurvives(t *testing.T) {
	for _, file := range []string{"../torchfile/testdata/values.pt", "../skrl/testdata/ppo/first.pt"} {
		dir := t.TempDir()
		v, err := torchfile.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		d := v.(*torchfile.Dict)
		d.Set("infinite", torchfile.Tuple{math.Inf(-1), 1.0})
		for _, key := range []string{"bf16", "c64"} { // NumPy has neither here
			if _, ok := d.Get(key); ok {
				d.Set(key, nil)
			}
		}
		start := filepath.Join(dir, "start.pt")
		if err := torchfile.WriteFile(start, d); err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, path := range []string{"direct.pt", "a.safetensors", "by_a.pt", "b.npz", "by_b.pt"} {
			path = filepath.Join(dir, path)
			from := start
			if strings.HasPrefix(filepath.Base(path), "by_") {
				from = files[len(files)-1]
			}
			if err := convert.File(from, path); err != nil {
				t.Fatal(err)
			}
			files = append(files, path)
		}
		want, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{files[2], files[4]} {
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not what was converted (%v)", filepath.Base(path), err)
			}
		}
		s, err := convert.Read(files[0])
		if err != nil {
			t.Fatal(err)
		}
		back, err := convert.ToTorch(s)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for k := range back.(*torchfile.Dict).All() {
			order = append(order, fmt.Sprint(k))
		}
		var was []string
		for k := range d.All() {
			was = append(was, fmt.Sprint(k))
		}
		if !slices.Equal(order, was) {
			t.Errorf("keys %v, want %v", order, was)
		}
	}
	// skrl's checkpoint still is one.
	dir := t.TempDir()
	if err := convert.File("../skrl/testdata/ppo/first.pt", filepath.Join(dir, "a.npz")); err != nil {
		t.Fatal(err)
	}
	if err := convert.File(filepath.Join(dir, "a.npz"), filepath.Join(dir, "b.pt")); err != nil {
		t.Fatal(err)
	}
	c, err := skrl.Read(filepath.Join(dir, "b.pt"))
	if err != nil {
		t.Fatal(err)
	}
	if adam, err := c.Adam(); err != nil || adam.LearningRate == 0 || adam.Beta2 != 0.999 {
		t.Errorf("%v, %v", adam, err)
	}
}

// A tree that is not of the arrays it comes with is not used.
func TestStaleTree(t *testing.T) {
	s, err := convert.FromTorch(torchfile.NewDict("a", torchfile.NewDict("w", torchfile.NewTensor(checkpoint.ArrayFloat32([]int64{1}, []float32{1}))), "n", int64(3)))
	if err != nil {
		t.Fatal(err)
	}
	s.Arrays["b"] = checkpoint.ArrayFloat32([]int64{1}, []float32{2})
	v, err := convert.ToTorch(s)
	if err != nil {
		t.Fatal(err)
	}
	d := v.(*torchfile.Dict)
	inner, _ := d.Get("a")
	if _, ok := d.Get("b"); !ok || d.Len() != 2 || inner.(*torchfile.Dict).Len() != 1 {
		t.Errorf("%d keys", d.Len())
	}
	for name, tree := range map[string]any{"text": "x", "a shape": map[string]any{"dict": []any{"x"}}, "twice": map[string]any{"list": []any{map[string]any{"tensor": "b"}, map[string]any{"tensor": "b"}}},
		"a key": map[string]any{"dict": []any{[]any{1.5, nil}}}, "base64": map[string]any{"bytes": "%"}, "attributes": map[string]any{"ordered": []any{}, "attributes": "x"},
		"a float": map[string]any{"float": "x"}, "a size": map[string]any{"size": []any{"x"}}} {
		s.Values["torch"] = tree
		if v, err := convert.ToTorch(s); err != nil || v.(*torchfile.Dict).Len() != 2 {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// Names that cannot be nested stand side by side.
func TestNamesWithinNames(t *testing.T) {
	s := checkpoint.NewSnapshot()
	for _, name := range []string{"a", "a/b", "c/d"} {
		s.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	}
	path := filepath.Join(t.TempDir(), "x.pt")
	if err := convert.Write(path, s); err != nil {
		t.Fatal(err)
	}
	got, err := convert.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(got.Arrays)); !slices.Equal(names, []string{"a", "a/b", "c/d"}) {
		t.Error(names)
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	one := func(name string, a checkpoint.Array) *checkpoint.Snapshot {
		s := checkpoint.NewSnapshot()
		s.Arrays[name] = a
		return s
	}
	f32 := checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	value := func(v any) *checkpoint.Snapshot { return &checkpoint.Snapshot{Values: map[string]any{"x": v}} }
	for name, test := range map[string]struct {
		file string
		s    *checkpoint.Snapshot
		want string
	}{
		"no format":            {"x.txt", everything(), `".txt"`},
		"BF16 in NumPy":        {"x.npz", one("w", checkpoint.Array{DType: "BF16", Shape: []int64{1}, Data: []byte{0, 0}}), "BF16"},
		"a short array":        {"x.npz", one("w", checkpoint.Array{DType: "F32", Shape: []int64{2}, Data: []byte{0, 0}}), "2 bytes"},
		"a short array in .pt": {"x.pt", one("w", checkpoint.Array{DType: "F32", Shape: []int64{2}, Data: []byte{0, 0}}), "2 bytes"},
		"values of its own":    {"x.pt", one("gorl/w", f32), `"gorl"`},
		"metadata of its own":  {"x.pt", one("__metadata__", f32), `"__metadata__"`},
		"a large number":       {"x.pt", value(uint64(math.MaxUint64)), "too large"},
		"a struct":             {"x.pt", value(struct{}{}), "no place"},
		"a struct in .npz":     {"x.npz", value(struct{}{}), "cannot be stored"},
		"a struct in between":  {"x.safetensors", value(struct{}{}), "cannot be stored"},
	} {
		path := filepath.Join(dir, test.file)
		if err := convert.Write(path, test.s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, test.want)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was written", name)
		}
	}
	if err := convert.File(filepath.Join(dir, "none.pt"), filepath.Join(dir, "x.npz")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"empty": {"", "empty"}, "text": {"hello, this is text", "not a safetensors file"}, "npy": {"\x93NUMPY\x01\x00", "npz"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := convert.Read(path); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := convert.Read("../torchfile/testdata/legacy.pt"); !errors.Is(err, torchfile.ErrLegacy) {
		t.Error(err)
	}
}

// A hostile pickle is no more welcome by this way, and no file is left of it.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range [][2]string{{"a/data.pkl", "\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R."}, {"a/version", "3\n"}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: e[0], Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(dir, "x.pt"), filepath.Join(dir, "x.safetensors")
	if err := os.WriteFile(from, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var h *torchfile.Error
	if err := convert.File(from, to); !errors.As(err, &h) || h.Kind != torchfile.Hostile || h.Global != "posix.system" || h.Path != from {
		t.Error(err)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was written")
	}
}

const compare = `
import sys, json, numpy, torch
pt = torch.load(sys.argv[1])
npz = numpy.load(sys.argv[2])
flat = {}
def walk(v, path):
    for k, x in v.items():
        if isinstance(x, dict):
            walk(x, path + [k])
        elif isinstance(x, torch.Tensor):
            flat["/".join(path + [k])] = x
walk({k: v for k, v in pt.items() if k not in ("gorl", "__metadata__")}, [])
names = [n for n in npz.files if n != "__metadata__"]
assert sorted(flat) == sorted(n for n in names if n != "words"), (sorted(flat), sorted(names))
for name in flat:
    assert flat[name].numpy().dtype == npz[name].dtype and flat[name].shape == npz[name].shape, name
    assert numpy.array_equal(flat[name].numpy(), npz[name]), name
assert pt["gorl"]["timestep"] == 7 and pt["__metadata__"]["author"] == "grüße"
assert json.loads(json.loads(str(npz["__metadata__"]))["__metadata__"]["gorl"])["agent"] == "PPO"
print("equal")
`

// PyTorch and NumPy read what is written.
func TestPeersRead(t *testing.T) {
	python := peers.Python(t, "torch", "numpy")
	dir := t.TempDir()
	s := everything()
	if err := convert.Write(filepath.Join(dir, "x.npz"), s); err != nil {
		t.Fatal(err)
	}
	delete(s.Arrays, "words") // unsigned numbers came with PyTorch 2.3
	if err := convert.Write(filepath.Join(dir, "x.pt"), s); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "compare.py")
	if err := os.WriteFile(script, []byte(compare), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := peers.Run(t, python, script, filepath.Join(dir, "x.pt"), filepath.Join(dir, "x.npz")); !strings.Contains(out, "equal") {
		t.Error(out)
	}
}
