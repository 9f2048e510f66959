package convert_test

import (
	"bytes"
	"encoding/binary"
	"errors"
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

// A conversion from any format by any other to the third loses nothing, and every format's file is the same bytes every
// time.
func TestEveryDirection(t *testing.T) {
	extensions := []string{".pt", ".safetensors", ".npz"}
	want := everything()
	for _, a := range extensions {
		for _, b := range extensions {
			for _, c := range extensions {
				dir := t.TempDir()
				one, two := filepath.Join(dir, "one"+a), filepath.Join(dir, "two"+b)
				three, again := filepath.Join(dir, "three"+c), filepath.Join(dir, "again"+c)
				must.Do(t, convert.Write(one, want))
				for _, step := range [][2]string{{one, two}, {two, three}, {one, again}} {
					must.Do(t, convert.Write(step[1], must.Get(convert.Read(step[0]))(t)))
				}
				must.Match(t, want, must.Get(convert.Read(three))(t), "%s, %s, %s", a, b, c)
				must.Is(t, string(must.Read(t, again)), string(must.Read(t, three)), "the file written directly")
			}
		}
	}
}

// The other values of a .pt of PyTorch are kept beside its tensors, through every format.
func TestOtherValues(t *testing.T) {
	weight := checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	state := torchfile.NewDict(0, torchfile.NewDict("step", weight), "betas", torchfile.Tuple{0.9, math.Inf(1)})
	v := torchfile.NewDict("model", torchfile.NewOrderedDict("w", weight), "optimizer", state, "epoch", int64(3),
		"raw", []byte{255}, "none", nil, "list", &torchfile.List{Items: []any{weight, "x"}})
	want := map[string]any{"torch": map[string]any{"epoch": int64(3), "raw": "/w==", "none": nil,
		"list": []any{nil, "x"}, "optimizer": map[string]any{"betas": []any{0.9, "+Inf"}}}}
	dir := t.TempDir()
	last := filepath.Join(dir, "a.pt")
	must.Do(t, torchfile.WriteFile(last, v))
	for _, name := range []string{"a.pt", "b.npz", "c.safetensors", "d.pt"} {
		path := filepath.Join(dir, name)
		if path != last {
			must.Do(t, convert.Write(path, must.Get(convert.Read(last))(t)))
		}
		s := must.Get(convert.Read(path))(t)
		names := slices.Sorted(maps.Keys(s.Arrays))
		must.Same(t, names, []string{"list/0", "model/w", "optimizer/0/step"}, "tensors of %s", name)
		must.Match(t, want, s.Values, "values of %s", name)
		last = path
	}
	must.RefusedAs(convert.FromTorch(torchfile.NewDict(1, "a", "1", "b")))(t, "two keys", "two values would be named")
}

// The file of a .pt as v0.1.0 wrote it, with a tree around the tensors, keeps tensors and tree, also if a
// program adds to the .pt.
func TestOlderTree(t *testing.T) {
	s := checkpoint.NewSnapshot()
	s.Arrays["model/w"] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	pair := func(key string, x any) map[string]any { return map[string]any{"dict": []any{[]any{key, x}}} }
	s.Values["torch"] = pair("model", pair("w", map[string]any{"tensor": "model/w", "parameter": true}))
	v := must.Get(convert.ToTorch(s))(t)
	must.Match(t, s, must.Get(convert.FromTorch(v))(t), "from the tree")
	v.(*torchfile.Dict).Set("epoch", int64(3))
	want := map[string]any{"torch": map[string]any{"gorl": s.Values, "epoch": int64(3)}}
	must.Match(t, want, must.Get(convert.FromTorch(v))(t).Values, "values of the changed tree")

	foreign := torchfile.NewDict("gorl", torchfile.NewDict("w", s.Arrays["model/w"], "epoch", int64(3)))
	want = map[string]any{"torch": map[string]any{"gorl": map[string]any{"epoch": int64(3)}}}
	must.Match(t, want, must.Get(convert.FromTorch(foreign))(t).Values, "values beside tensors of that name")
}

// Names that cannot be nested stay in one dictionary.
func TestNamesWithinNames(t *testing.T) {
	s := checkpoint.NewSnapshot()
	for _, name := range []string{"a", "a/b", "c/d"} {
		s.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	}
	must.Match(t, s, must.Get(convert.FromTorch(must.Get(convert.ToTorch(s))(t)))(t), "read back")
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	one := func(name string, dtype checkpoint.DType, bytes int) *checkpoint.Snapshot {
		return &checkpoint.Snapshot{Arrays: map[string]checkpoint.Array{
			name: {DType: dtype, Shape: []int64{1}, Data: make([]byte, bytes)}}}
	}
	for _, test := range []struct {
		file string
		s    *checkpoint.Snapshot
		want string
	}{
		{"x.txt", everything(), `".txt"`}, {"x.npz", one("w", "BF16", 2), "BF16"}, {"x.pt", one("w", "U16", 2), "U16"},
		{"x.npz", one("w", "F32", 2), "2 bytes"}, {"x.pt", one("gorl/w", "F32", 4), `"gorl"`},
		{"x.pt", &checkpoint.Snapshot{Values: map[string]any{"x": uint64(math.MaxUint64)}}, "too large"},
	} {
		path := filepath.Join(dir, test.file)
		must.RefuseAs(t, test.want, convert.Write(path, test.s), test.want)
		_, err := os.Stat(path)
		must.Not(t, !errors.Is(err, fs.ErrNotExist), "%s: a file was written", test.want)
	}
	path := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(path, []byte("hello, this is text"), 0o644))
	must.Refused(convert.Read(path))(t, path)
	_, err := convert.Read("../torchfile/testdata/legacy.pt")
	must.Not(t, !errors.Is(err, torchfile.ErrLegacy), "%v", err)
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
	must.Not(t, !strings.Contains(out, "equal"), "%s", out)
}

// Any safetensors file gives a .pt that reads back with the same tensors, or an error.
func FuzzTree(f *testing.F) {
	f.Add(`{"__metadata__":{"gorl":"{\"torch\":{\"dict\":[[\"a\",{\"tensor\":\"a\"}],[3,{\"tuple\":[1,2.5,null]}]]` +
		`}}"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`)
	f.Add(`{"__metadata__":{"gorl":"{\"torch\":{\"ordered\":[[\"a\",{\"tensor\":\"a\"}]],` +
		`\"attributes\":{\"dict\":[]}}}"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`)
	f.Add(`{"__metadata__":{"x":"y","gorl":"{\"list\":[{\"float\":\"inf\"}]}"},` +
		`"gorl/a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"b":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}}`)
	f.Fuzz(func(t *testing.T, header string) {
		file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		s, err := checkpoint.DecodeSafetensors(append(append(file, header...), 1, 2))
		if err != nil {
			return
		}
		v, err := convert.ToTorch(s)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := torchfile.Write(&b, v); err != nil {
			return
		}
		back, err := torchfile.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		again, err := convert.FromTorch(back)
		if err != nil {
			return // two names that are one
		}
		if len(again.Arrays) != len(s.Arrays) {
			t.Errorf("%d arrays became %d", len(s.Arrays), len(again.Arrays))
		}
	})
}
