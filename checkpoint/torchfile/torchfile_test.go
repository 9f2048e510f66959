package torchfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// dump describes a value, with the elements of tensors.
func dump(v any) string {
	switch v := v.(type) {
	case checkpoint.Array:
		return fmt.Sprintf("tensor(%s %v %x)", v.DType, v.Shape, v.Data)
	case *Dict:
		var b strings.Builder
		for k, x := range v.All() {
			fmt.Fprintf(&b, "%#v: %s, ", k, dump(x))
		}
		text := "{" + b.String() + "}"
		if v.Ordered {
			text = "ordered" + text
		}
		return text
	case *List:
		return "list" + dump(Tuple(v.Items))
	case Tuple:
		var parts []string
		for _, x := range v {
			parts = append(parts, dump(x))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return fmt.Sprintf("%T(%v)", v, v)
}

// What PyTorch wrote is read as what it was.
func TestReadsPyTorchsFile(t *testing.T) {
	d := must.Get(Open("testdata/values.pt"))(t).(*Dict)
	f32 := func(shape []int64, x ...float32) string { return dump(checkpoint.ArrayFloat32(shape, x)) }
	raw := func(dtype checkpoint.DType, shape []int64, data ...byte) string {
		return fmt.Sprintf("tensor(%s %v %x)", dtype, shape, data)
	}
	i64 := func(x ...int64) string { return dump(checkpoint.ArrayInt64([]int64{int64(len(x))}, x)) }
	for key, want := range map[any]string{
		"columns": f32([]int64{2, 2}, 7, 9, 13, 15), "row": f32([]int64{6}, 12, 13, 14, 15, 16, 17),
		"scalar": f32([]int64{}, 2.5), "empty": f32([]int64{0, 3}), "shared": fmt.Sprintf("list(%s, %s, %s)",
			i64(0, 1, 2, 3, 4), i64(2, 3, 4), i64(0, 2, 4)),
		"expanded": f32([]int64{3, 2}, 1, 2, 1, 2, 1, 2), "parameter": f32([]int64{2}, 1, 1),
		"f64": raw("F64", []int64{2}, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0), "f16": raw("F16",
			[]int64{1}, 0, 0x3e),
		"bf16": raw("BF16", []int64{1}, 0xc0, 0x3f), "i32": raw("I32", []int64{1}, 0xf9, 0xff, 0xff,
			0xff), "i16": raw("I16", []int64{1}, 0xf9, 0xff),
		"i8": raw("I8", []int64{1}, 0xf9), "u8": raw("U8", []int64{1}, 200), "bool": raw("BOOL", []int64{2}, 1, 0),
		"c64": raw("C64", []int64{1}, 0, 0, 0x80, 0x3f, 0, 0, 0,
			0x40), "ordered": `ordered{"b": int64(1), "a": int64(2), }`,
		"tuple": "(int64(1), string(two), <nil>(<nil>), bool(true))", "size": "(int64(2), int64(3))",
		"device": "string(cuda:1)",
		"dtype":  "string(bfloat16)", "float": "float64(0.1)",
		"numbers": "list(int64(0), int64(255), int64(256), int64(65536), int64(-1), int64(2147483648), " +
			"int64(-9223372036854775808))",
		7: "string(an integer key)", "text": "string(grüße)", "bytes": "[]uint8([0 255])",
		"numpy": "list(float64(0.5), float64(0.25), int64(-3), bool(true))",
	} {
		v, _ := d.Get(key)
		must.Is(t, dump(v), want, "%v", key)
	}
	v, _ := d.Get("transposed")
	x := must.Get(v.(checkpoint.Array).Float32s())(t)
	must.Not(t, len(x) != 24 || x[1] != 6 || x[4] != 1 || x[23] != 23, "transposed: %v", x)
	m, _ := d.Get("module")
	must.Not(t, !m.(*Dict).Ordered || m.(*Dict).Len() != 2, "a module's state is %s", dump(m))
}

func TestReadsEveryProtocol(t *testing.T) {
	for _, p := range []string{"3", "4", "5"} {
		d := must.Get(Open("testdata/protocol" + p + ".pt"))(t)
		must.Is(t, dump(d), `{"w": tensor(F32 [2] 0000803f0000803f), "f": float64(0.5), "n": int64(1099511627776), }`,
			"protocol %s", p)
	}
}

// What is read and written again says the same, and is the same bytes every time. Data begins at multiples of 64
// bytes, as PyTorch's do.
func TestRoundTrip(t *testing.T) {
	d := must.Get(Open("testdata/values.pt"))(t).(*Dict)
	d.Set("special", Tuple{math.Inf(1), int64(math.MaxInt64), int64(math.MinInt32), "", Tuple{}, &List{}, NewDict()})
	var one, two bytes.Buffer
	must.Do(t, Write(&one, d))
	must.Do(t, Write(&two, d))
	must.Is(t, two.String(), one.String(), "bytes of the same value")
	for _, entry := range must.Get(zip.NewReader(bytes.NewReader(one.Bytes()), int64(one.Len())))(t).File {
		must.Is(t, must.Get(entry.DataOffset())(t)%64, 0, "where the data of %s begin", entry.Name)
	}
	back := must.Get(Read(bytes.NewReader(one.Bytes()), int64(one.Len())))(t)
	must.Is(t, dump(back), dump(d), "read back")
}

func TestWriteRefuses(t *testing.T) {
	circle := &List{}
	circle.Items = []any{circle}
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"a struct":             {struct{}{}, "struct {} cannot be written"},
		"a circle":             {circle, "contains itself"},
		"no list":              {(*List)(nil), "nil list"},
		"no dict":              {(*Dict)(nil), "nil dict"},
		"a type PyTorch lacks": {checkpoint.Array{DType: "U16", Shape: []int64{0}}, "a tensor of U16"},
	} {
		var b bytes.Buffer
		must.RefuseAs(t, name, Write(&b, NewDict("x", test.value)), test.want)
		must.Is(t, b.Len(), 0, "bytes written")
	}
}

// WriteFile replaces; a value that cannot be written leaves the old file.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pt")
	must.Do(t, WriteFile(path, NewDict("x", 1)))
	must.Refuse(t, WriteFile(path, NewDict("x", struct{}{})), "cannot be written")
	must.Is(t, dump(must.Get(Open(path))(t)), `{"x": int64(1), }`, "the file")
	must.Refused(Open(filepath.Dir(path)))(t, "not a regular file")
}

const readBack = `
import sys, torch
value = torch.load(sys.argv[1], weights_only=True)
print({k: (str(v.dtype), v.shape, v.tolist()) for k, v in value.items() if hasattr(v, "dtype")})
full = torch.load(sys.argv[2])
theirs = torch.load(sys.argv[3])
theirs.update(size=(2, 3), device="cuda:1", dtype="bfloat16")  # read as plain values
theirs["parameter"] = theirs["parameter"].data
assert str(full) == str(theirs), (full, theirs)
assert type(full["module"]) is type(theirs["module"])
module = torch.nn.Linear(3, 2)
module.load_state_dict(full["module"])
print("equal")
`

// PyTorch reads what is written, weights without trusting the file.
func TestPeersPyTorchReads(t *testing.T) {
	python := peers.Python(t, "torch")
	dir := t.TempDir()
	whole := checkpoint.ArrayFloat32([]int64{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	weights := NewDict("whole", whole, "n", 2, "t", Tuple{1, "x"},
		"double", checkpoint.ArrayFloat64([]int64{}, []float64{0.1}))
	must.Do(t, WriteFile(filepath.Join(dir, "weights.pt"), weights))
	must.Do(t, WriteFile(filepath.Join(dir, "full.pt"), must.Get(Open("testdata/values.pt"))(t)))
	script := filepath.Join(dir, "read.py")
	must.Do(t, os.WriteFile(script, []byte(readBack), 0o644))
	out := peers.Run(t, python, script, filepath.Join(dir, "weights.pt"), filepath.Join(dir, "full.pt"),
		"testdata/values.pt")
	for _, want := range []string{"'whole': ('torch.float32', torch.Size([2, 3]), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])",
		"'double': ('torch.float64', torch.Size([]), 0.1)", "equal"} {
		must.Not(t, !strings.Contains(out, want), "Python says %s, want %s", out, want)
	}
}
