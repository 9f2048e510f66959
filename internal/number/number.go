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

// Map is values by name, each in JSON as [JSON] is.
type Map map[string]float64

// MarshalJSON implements json.Marshaler.
func (m Map) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	values := make(map[string]JSON, len(m))
	for k, v := range m {
		values[k] = JSON(v)
	}
	return json.Marshal(values)
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Map) UnmarshalJSON(text []byte) error {
	var values map[string]JSON
	if err := json.Unmarshal(text, &values); err != nil || values == nil {
		return err
	}
	*m = make(Map, len(values))
	for k, v := range values {
		(*m)[k] = float64(v)
	}
	return nil
}
