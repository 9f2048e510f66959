package gymnasium

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// testLayout is a small memory with its header.
func testLayout(t testing.TB) (*layout, []byte) {
	t.Helper()
	about := &policyJSON{Name: strings.Repeat("long", 3000)} // longer than a page
	l := must.Get(plan("policy", 2, 4, []array{{"observations", "f4", 3}, {"rewards", "f8", -1}, {"flags", "u1", -1},
		{"states", "f4", 0}}, about))(t)
	header := must.Get(l.header())(t)
	memory := make([]byte, l.Size)
	copy(memory, header)
	return l, memory
}

func FuzzHeader(f *testing.F) {
	_, memory := testLayout(f)
	f.Add(memory)
	f.Add(memory[:100])
	f.Add([]byte(magic + "\x01\x00\x00\x00\x02\x00\x00\x00{}"))
	for i, change := range []func(l *layout){
		func(l *layout) { l.Size++ },
		func(l *layout) { l.Control.Count = 0 },
		func(l *layout) { l.Control.Count = 1 << 40 },
		func(l *layout) { l.Control.Stride = 64 },
		func(l *layout) { l.Control.Offset++ },
		func(l *layout) { l.Arrays["x"] = place{Offset: l.Size - 8, DType: "f8", Shape: []int{4}} },
		func(l *layout) { l.Arrays["x"] = place{Offset: -8, DType: "f8", Shape: []int{4}} },
		func(l *layout) {
			l.Arrays["x"] = place{Offset: l.Arrays["rewards"].Offset + 8, DType: "u1", Shape: []int{4}}
		},
		func(l *layout) { l.Arrays["x"] = place{DType: "U9", Shape: []int{4}} },
		func(l *layout) { l.Arrays["x"] = place{DType: "f4", Shape: []int{1 << 62, 1 << 62}} },
	} {
		l, memory := testLayout(f)
		change(l)
		copy(memory, must.Get(l.header())(f))
		if _, err := parseHeader(memory); err == nil {
			f.Errorf("header %d, which cannot be right, was accepted", i)
		}
		f.Add(memory)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseHeader(b)
		if err != nil {
			return
		}
		// Whatever was accepted can be read to its ends.
		for i := range l.Control.Count {
			_ = l.block(b, i).intact()
		}
		for name, p := range l.Arrays {
			switch p.DType {
			case "f4":
				touch(view[float32](b, l, name))
			case "f8":
				touch(view[float64](b, l, name))
			case "u1":
				touch(view[uint8](b, l, name))
			}
		}
	})
}

var touched any

// touch reads the first and the last value.
func touch[T any](values []T) { touched = []T{values[0], values[len(values)-1]} }

func FuzzDescription(f *testing.F) {
	f.Add([]byte(fakeSpaces))
	f.Add([]byte(`{"observation": {"kind": "Tuple", "spaces": [{"kind": "MultiBinary", "nvec": [2, 2]}, ` +
		`{"kind": "Box", "shape": [], "low": [0], "high": [1e300]}]}, "action": {"kind": "Discrete", "nvec": [3]}}`))
	f.Add([]byte(`{"error": "nothing works"}`))
	const box = `{"kind": "Box", "shape": [2], "low": [null], "high": [null]}`
	for _, action := range []string{box, `{"kind": "Discrete", "nvec": [3]}`, `{"kind": "Tuple", "spaces": []}`} {
		f.Add(fmt.Appendf(nil, `{"observation": {"kind": "Tuple", "spaces": [%s, %[1]s]}, "action": {"kind": "Tuple", `+
			`"spaces": [%[2]s, %[2]s]}, "seats": [{"name": "a", "masks": true}, {"name": "b"}]}`, box, action))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, set, err := parseDescription(b)
		if err != nil {
			return
		}
		if err := set.Validate(); err != nil {
			t.Errorf("accepted spaces that are not valid: %v", err)
		}
		if k := choices(set.Observation); k != nil && len(k) != set.Observation.Width() {
			t.Errorf("%d choices for %d columns", len(k), set.Observation.Width())
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x03\x00\x00\x00{}abc"))
	f.Add([]byte("\x02\x00\x00\x00\x04\x00\x00\x00{}abc"))
	f.Add([]byte("\xff\xff\xff\x03\xff\xff\xff\x0f{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		head, payload, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		m, n := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if len(head) != int(m) || len(payload) != int(n) || 8+len(head)+len(payload) > len(b) {
			t.Errorf("read %d and %d bytes of %d, said to be %d and %d", len(head), len(payload), len(b), m, n)
		}
	})
}

func FuzzPicture(f *testing.F) {
	f.Add([]byte(`{"shape": [2, 1, 3]}`), []byte("abcdef"))
	f.Add([]byte(`{"shape": [1, 1, 4]}`), []byte("abcd"))
	f.Fuzz(func(t *testing.T, head, pixels []byte) {
		picture, err := parsePicture(head, pixels)
		if err == nil && picture.Bounds().Empty() {
			t.Error("the picture is empty")
		}
	})
}
