package gymnasium

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

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

func TestLayout(t *testing.T) {
	if controlStride != 192 || unsafe.Offsetof(control{}.seed) != 16 || unsafe.Offsetof(control{}.done) != 64 {
		t.Errorf("a control block has %d bytes, the seed at %d, the second half at %d", controlStride,
			unsafe.Offsetof(control{}.seed), unsafe.Offsetof(control{}.done))
	}
	l, memory := testLayout(t)
	got := must.Get(parseHeader(memory))(t)
	if len(got.Arrays) != 3 || got.Arrays["rewards"].Offset != l.Arrays["rewards"].Offset ||
		len(view[float64](memory, got, "rewards")) != 4 ||
		len(view[float32](memory, got, "observations")) != 12 || view[float32](memory, got, "states") != nil {
		t.Errorf("read %+v, wrote %+v", got, l)
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	for name, change := range map[string]func(l *layout){
		"size":          func(l *layout) { l.Size++ },
		"no blocks":     func(l *layout) { l.Control.Count = 0 },
		"narrow blocks": func(l *layout) { l.Control.Stride = 64 },
		"unaligned":     func(l *layout) { l.Control.Offset++ },
		"many blocks":   func(l *layout) { l.Control.Count = 1 << 40 },
		"outside": func(l *layout) {
			l.Arrays["rewards"] = place{Offset: l.Size - 8, DType: "f8",
				Shape: []int{4}}
		},
		"negative": func(l *layout) { l.Arrays["rewards"] = place{Offset: -8, DType: "f8", Shape: []int{4}} },
		"overlap": func(l *layout) {
			l.Arrays["x"] = place{Offset: l.Arrays["rewards"].Offset + 8, DType: "u1", Shape: []int{4}}
		},
		"kind":     func(l *layout) { l.Arrays["x"] = place{Offset: 0, DType: "U9", Shape: []int{4}} },
		"huge":     func(l *layout) { l.Arrays["x"] = place{Offset: 0, DType: "f4", Shape: []int{1 << 62, 1 << 62}} },
		"no shape": func(l *layout) { l.Arrays["x"] = place{Offset: 0, DType: "f4"} },
	} {
		l, memory := testLayout(t)
		change(l)
		header := must.Get(l.header())(t)
		copy(memory, header)
		if _, err := parseHeader(memory); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

func FuzzHeader(f *testing.F) {
	_, memory := testLayout(f)
	f.Add(memory)
	f.Add(memory[:100])
	f.Add([]byte(magic + "\x01\x00\x00\x00\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseHeader(b)
		if err != nil {
			return
		}
		// Whatever was accepted can be read to its ends.
		for i := range l.Control.Count {
			_ = l.block(b, i).intact()
		}
		total := 0.0
		for name, p := range l.Arrays {
			switch p.DType {
			case "f4":
				v := view[float32](b, l, name)
				total += float64(v[0]) + float64(v[len(v)-1])
			case "f8":
				v := view[float64](b, l, name)
				total += v[0] + v[len(v)-1]
			case "u1":
				v := view[uint8](b, l, name)
				total += float64(v[0]) + float64(v[len(v)-1])
			}
		}
		_ = total
	})
}

func FuzzDescription(f *testing.F) {
	f.Add([]byte(fakeSpaces))
	f.Add([]byte(`{"observation": {"kind": "Tuple", "spaces": [{"kind": "MultiBinary", "nvec": [2, 2]}, ` +
		`{"kind": "Box", "shape": [], "low": [0], "high": [1e300]}]}, "action": {"kind": "Discrete", "nvec": [3]}}`))
	f.Add([]byte(`{"error": "nothing works"}`))
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
