package durable

import (
	"encoding/json"
	"math"
	"strconv"
)

// Number is a float64 that JSON can hold: NaN and the infinities are the texts "NaN", "+Inf" and "-Inf".
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*n = Number(math.NaN())
	case `"+Inf"`:
		*n = Number(math.Inf(1))
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}

// Numbers are values by name.
type Numbers map[string]Number

// NumbersOf copies values; nil stays nil.
func NumbersOf(values map[string]float64) Numbers {
	if values == nil {
		return nil
	}
	n := make(Numbers, len(values))
	for k, v := range values {
		n[k] = Number(v)
	}
	return n
}

// Floats is the inverse of [NumbersOf].
func (n Numbers) Floats() map[string]float64 {
	if n == nil {
		return nil
	}
	values := make(map[string]float64, len(n))
	for k, v := range n {
		values[k] = float64(v)
	}
	return values
}
