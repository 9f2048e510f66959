package statecodec

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

func encoded() *Encoder {
	e := NewEncoder("test 1")
	e.Int(-7)
	e.Float(math.Pi)
	e.Floats([]float32{1, -2})
	e.Bytes([]byte("abc"))
	return e
}

func TestRoundTrip(t *testing.T) {
	d := NewDecoder("test 1", encoded().State())
	i, f, fs, b := d.Int(), d.Float(), d.Floats(2), d.Bytes()
	if err := d.End(); err != nil {
		t.Fatal(err)
	}
	if i != -7 || f != math.Pi || !slices.Equal(fs, []float32{1, -2}) || string(b) != "abc" {
		t.Errorf("read %d, %g, %v, %q", i, f, fs, b)
	}
}

func TestDecoderRefuses(t *testing.T) {
	good := encoded().State()
	nan := NewEncoder("test 1")
	nan.Int(0)
	nan.Float(math.NaN())
	inf := NewEncoder("test 1")
	inf.Int(0)
	inf.Float(0)
	inf.Floats([]float32{0, float32(math.Inf(-1))})
	many := NewEncoder("test 1")
	many.Int(0)
	many.Float(0)
	many.Floats(make([]float32, 3))
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{nil, "it ends too early"},
		{good[:len(good)-1], "it ends too early"},
		{append(slices.Clone(good), 1, 2), "2 bytes are left over"},
		{NewEncoder("other 1").State(), `it begins with "other 1"`},
		{bytes.Repeat([]byte{0xff}, 64), "it ends too early"},
		{nan.State(), "it holds NaN"},
		{inf.State(), "it holds -Inf"},
		{many.State(), "it holds 3 values where there must be 2"},
	} {
		d := NewDecoder("test 1", c.b)
		d.Int()
		d.Float()
		d.Floats(2)
		d.Bytes()
		if err := d.End(); err == nil || !strings.Contains(err.Error(), "not a valid test 1 state: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want it to contain %q", err, c.want)
		}
	}
}
