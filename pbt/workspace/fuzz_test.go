package workspace

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Whatever stands in a record's file, reading it ends with an error or with a record that is written and read again as
// it is.
func FuzzDecodeRecord(f *testing.F) {
	r := record(1, 3, math.NaN())
	r.Weights = &Weights{Path: "001/000003.safetensors", Size: 100, SHA256: strings.Repeat("0a", 32)}
	own := encodeRecord(r, "001")
	f.Add(own, true)
	f.Add(own, false)
	f.Add(own[:200], true)
	f.Add([]byte("a: &a [*a]"), false)
	f.Add([]byte("{}"), true)
	f.Fuzz(func(t *testing.T, text []byte, sealed bool) {
		if sealed {
			text = seal(string(text))
		}
		r, err := decodeRecord(text, 1, 2, "001", 3)
		if err != nil {
			return
		}
		if r.Member != 1 || r.Iteration != 3 || r.Parent < -1 || r.Parent > 1 {
			t.Fatalf("%+v", r)
		}
		if r.Weights != nil && !ownWeights(r.Weights.Path, "001", 3) {
			t.Fatalf("%+v", r.Weights)
		}
		again := encodeRecord(r, "001")
		back, err := decodeRecord(again, 1, 2, "001", 3)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		must.Equal(t, "read again", r, back, sameNaN)
	})
}

func FuzzDecodeHeartbeat(f *testing.F) {
	text := must.Get(encodeHeartbeat(Heartbeat{Owner: "a:1", Phase: Training, Iteration: 3, Objective: math.Inf(1),
		HasObjective: true, Hyperparameters: map[string]float64{"x": 1e-5}, Parent: -1, Note: "n"}))(f)
	f.Add(text)
	f.Add(text[:50])
	f.Add([]byte(`{"schema": 1, "objective": "NaN"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		// The check is mended, so that the rest is reached.
		var file heartbeatFile
		if err := durable.UnsealSchema(text, heartbeatSchema, &file, &file.Check); err != nil {
			if mended, err := durable.Seal(&file, &file.Check); err == nil {
				text = mended
			}
		}
		h, err := decodeHeartbeat(text, 0, 2)
		if err != nil {
			return
		}
		again := must.Get(encodeHeartbeat(h))(t)
		back, err := decodeHeartbeat(again, 0, 2)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		must.Equal(t, "read again", h, back, sameNaN)
	})
}

func FuzzDecodeLease(f *testing.F) {
	l := leaseFileText{Schema: leaseSchema, Number: 3, Token: "0a", Owner: "a:1", Domain: "b"}
	text := must.Get(durable.Seal(&l, &l.Check))(f)
	f.Add(text)
	f.Add(bytes.Repeat([]byte("["), 100))
	f.Fuzz(func(t *testing.T, text []byte) {
		var mended leaseFileText
		if err := durable.UnsealSchema(text, leaseSchema, &mended, &mended.Check); err != nil {
			if again, err := durable.Seal(&mended, &mended.Check); err == nil {
				text = again
			}
		}
		l, err := decodeLease(text, 0, 3)
		if err == nil && (l.Number != 3 || l.Member != 0 || l.Token == "") {
			t.Fatalf("%+v", l)
		}
	})
}

func FuzzParseName(f *testing.F) {
	for _, name := range []string{"000012.yaml", "000012-2.safetensors", "lease-000003.json", "1234567.json",
		"0000012.yaml"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n, kind := parseName(name)
		if (kind == otherFile) != (n == 0) || n < 0 {
			t.Fatalf("%q: %d, %d", name, n, kind)
		}
		if kind == recordFile && recordName(n) != name || kind == leaseFile && leaseFileName("x", n) != "x/"+name {
			t.Fatalf("%q is not the name of number %d", name, n)
		}
	})
}
