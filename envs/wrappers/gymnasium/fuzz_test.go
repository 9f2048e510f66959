package gymnasium

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// testLayout is a small memory with its header.
func testLayout(t testing.TB) (*layout, []byte) {
	t.Helper()
	about := &policyJSON{Name: strings.Repeat("long", 3000)} // longer than a page
	l := plan("policy", 2, 4, []array{{"observations", "f4", 3}, {"rewards", "f8", -1}, {"flags", "u1", -1},
		{"states", "f4", 0}}, about)
	memory := make([]byte, l.Size)
	copy(memory, l.header())
	return l, memory
}

func FuzzHeader(f *testing.F) {
	_, memory := testLayout(f)
	f.Add(memory)
	f.Add(memory[:100])
	f.Add([]byte(magic + "\x01\x00\x00\x00\x02\x00\x00\x00{}"))
	for _, at := range []int{-64, 0, len(memory), 1 << 62, 65} {
		l, memory := testLayout(f)
		l.Control.Offset = at
		b := must.Get(json.Marshal(l))(f)
		binary.LittleEndian.PutUint32(memory[12:], uint32(len(b)))
		copy(memory[headerStart:], b)
		if _, err := parseHeader(memory); err == nil {
			f.Errorf("a header with the control blocks at %d was accepted", at)
		}
		f.Add(memory)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := parseHeader(b); err == nil {
			_ = l.block(b, 0).intact() // it can be read to its end
		}
	})
}

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
