package convert_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// everything is a snapshot with values of all kinds that the three formats can hold.
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
	s.Values = map[string]any{"agent": "PPO", "timestep": int64(7), "rate": 1e-3, "nested": map[string]any{"x": 1.0},
		"list": []any{int64(1), "zwei", nil, true, []any{}}}
	s.Metadata = map[string]string{"format": "pt", "author": "grüße"}
	return s
}

func read(t *testing.T, path string) *checkpoint.Snapshot {
	t.Helper()
	s := must.Get(convert.Read(path))(t)
	return s
}

func equalFiles(t *testing.T, a, b string) {
	t.Helper()
	x := must.Get(os.ReadFile(a))(t)
	y := must.Get(os.ReadFile(b))(t)
	if !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ", filepath.Base(a), filepath.Base(b))
	}
}

// A conversion from any format by any other to the third loses nothing, and every format's file is the same bytes every
// time.
func TestEveryDirection(t *testing.T) {
	extensions := []string{".pt", ".safetensors", ".npz"}
	want := everything()
	for _, a := range extensions {
		for _, b := range extensions {
			for _, c := range extensions {
				dir := t.TempDir()
				one, two, three := filepath.Join(dir, "one"+a), filepath.Join(dir, "two"+b), filepath.Join(dir, "three"+
					c)
				again := filepath.Join(dir, "again"+c)
				must.Do(t, convert.Write(one, want))
				for _, step := range [][2]string{{one, two}, {two, three}, {one, again}} {
					must.Do(t, convert.File(step[0], step[1]))
				}
				if diff := cmp.Diff(want, read(t, three)); diff != "" {
					t.Errorf("%s, %s, %s: -want +got:\n%s", a, b, c, diff)
				}
				equalFiles(t, three, again)
			}
		}
	}
}

// A .pt of PyTorch that was another format in between is restored: the order of keys, containers, numbers.
func TestTreeSurvives(t *testing.T) {
	for _, file := range []string{"../torchfile/testdata/values.pt", "../skrl/testdata/ppo/first.pt"} {
		v := must.Get(torchfile.Open(file))(t)
		d := v.(*torchfile.Dict)
		d.Set("infinite", torchfile.Tuple{math.Inf(-1), 1.0})
		for _, key := range []string{"bf16", "c64"} { // a .npz has neither
			if _, ok := d.Get(key); ok {
				d.Set(key, nil)
			}
		}
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		must.Do(t, torchfile.WriteFile(in("start.pt"), d))
		for _, step := range [][2]string{{"start.pt", "direct.pt"}, {"start.pt", "a.safetensors"},
			{"a.safetensors", "by_a.pt"},
			{"start.pt", "b.npz"}, {"b.npz", "by_b.pt"}} {
			must.Do(t, convert.File(in(step[0]), in(step[1])))
		}
		equalFiles(t, in("by_a.pt"), in("direct.pt"))
		equalFiles(t, in("by_b.pt"), in("direct.pt"))
		back := must.Get(torchfile.Open(in("direct.pt")))(t)
		keys := func(d *torchfile.Dict) (keys []any) {
			for k := range d.All() {
				keys = append(keys, k)
			}
			return keys
		}
		if diff := cmp.Diff(keys(d), keys(back.(*torchfile.Dict))); diff != "" {
			t.Errorf("keys: -want +got:\n%s", diff)
		}
	}
}

// A tree that does not fit its arrays is not used.
func TestStaleTree(t *testing.T) {
	f32 := func(x float32) checkpoint.Array { return checkpoint.ArrayFloat32([]int64{1}, []float32{x}) }
	inner := torchfile.NewDict("w", torchfile.NewTensor(f32(1)))
	s := must.Get(convert.FromTorch(torchfile.NewDict("a", inner, "n", int64(3))))(t)
	s.Arrays["b"] = f32(2)
	b := map[string]any{"tensor": "b"}
	for name, tree := range map[string]any{"of other arrays": s.Values["torch"], "text": "x",
		"a pair": map[string]any{"dict": []any{"x"}}, "twice": map[string]any{"list": []any{b, b}},
		"a key": map[string]any{"dict": []any{[]any{1.5, nil}}}} {
		s.Values["torch"] = tree
		if v, err := convert.ToTorch(s); err != nil || v.(*torchfile.Dict).Len() != 2 {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// Names that cannot be nested stay in one dictionary.
func TestNamesWithinNames(t *testing.T) {
	s := checkpoint.NewSnapshot()
	for _, name := range []string{"a", "a/b", "c/d"} {
		s.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	}
	path := filepath.Join(t.TempDir(), "x.pt")
	must.Do(t, convert.Write(path, s))
	if names := slices.Sorted(maps.Keys(read(t, path).Arrays)); !slices.Equal(names, []string{"a", "a/b", "c/d"}) {
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
	two := func(dtype checkpoint.DType) checkpoint.Array {
		return checkpoint.Array{DType: dtype, Shape: []int64{1}, Data: []byte{0, 0}}
	}
	value := func(v any) *checkpoint.Snapshot { return &checkpoint.Snapshot{Values: map[string]any{"x": v}} }
	for name, test := range map[string]struct {
		file string
		s    *checkpoint.Snapshot
		want string
	}{
		"no format":         {"x.txt", everything(), `".txt"`},
		"BF16 in NumPy":     {"x.npz", one("w", two("BF16")), "BF16"},
		"U16 in PyTorch":    {"x.pt", one("w", two("U16")), "U16"},
		"a short array":     {"x.npz", one("w", two("F32")), "2 bytes"},
		"values of its own": {"x.pt", one("gorl/w", f32), `"gorl"`},
		"a large number":    {"x.pt", value(uint64(math.MaxUint64)), "too large"},
		"a struct":          {"x.pt", value(struct{}{}), "no place"},
	} {
		path := filepath.Join(dir, test.file)
		must.RefuseAs(t, name, convert.Write(path, test.s), test.want)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was written", name)
		}
	}
	if err := convert.File(filepath.Join(dir, "none.pt"), filepath.Join(dir, "x.npz")); !errors.Is(err,
		fs.ErrNotExist) {
		t.Error(err)
	}
	path := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(path, []byte("hello, this is text"), 0o644))
	must.RefusedAs(convert.Read(path))(t, path, path)
	if _, err := convert.Read("../torchfile/testdata/legacy.pt"); !errors.Is(err, torchfile.ErrLegacy) {
		t.Error(err)
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
assert sorted(flat) == sorted(names), (sorted(flat), sorted(names))
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
	must.Do(t, convert.Write(filepath.Join(dir, "x.npz"), s))
	must.Do(t, convert.Write(filepath.Join(dir, "x.pt"), s))
	script := filepath.Join(dir, "compare.py")
	must.Do(t, os.WriteFile(script, []byte(compare), 0o644))
	out := peers.Run(t, python, script, filepath.Join(dir, "x.pt"), filepath.Join(dir, "x.npz"))
	if !strings.Contains(out, "equal") {
		t.Error(out)
	}
}
