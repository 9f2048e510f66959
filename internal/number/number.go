// Package number has float64s as gorl needs them in files: JSON knows no NaN and no infinity.
package number

import (
	"encoding/json"
	"math"
	"strconv"
)

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Float32s appends numbers in float32. One beyond its range becomes an infinity.
func Float32s(to []float32, values []float64) []float32 {
	for _, x := range values {
		to = append(to, float32(x))
	}
	return to
}

// JSON is a float64 that JSON can hold: NaN and the infinities are the texts "NaN", "+Inf" and "-Inf".
type JSON float64

// MarshalJSON implements json.Marshaler.
func (n JSON) MarshalJSON() ([]byte, error) {
	if f := float64(n); !Finite(f) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *JSON) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*n = JSON(math.NaN())
	case `"+Inf"`:
		*n = JSON(math.Inf(1))
	case `"-Inf"`:
		*n = JSON(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}

// Optional returns v for a file that leaves it out where it is not known.
func Optional(v float64, known bool) *JSON {
	if !known {
		return nil
	}
	return (*JSON)(&v)
}

// Known is the inverse of [Optional]; v is 0 where it is not known.
func (n *JSON) Known() (v float64, known bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

// Map is values by name.
type Map map[string]JSON

// MapOf copies values; nil stays nil.
func MapOf(values map[string]float64) Map {
	if values == nil {
		return nil
	}
	n := make(Map, len(values))
	for k, v := range values {
		n[k] = JSON(v)
	}
	return n
}

// Floats is the inverse of [MapOf].
func (n Map) Floats() map[string]float64 {
	if n == nil {
		return nil
	}
	values := make(map[string]float64, len(n))
	for k, v := range n {
		values[k] = float64(v)
	}
	return values
}
