package number

import (
	"encoding/json"
	"fmt"
	"math"
)

// finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// number is a float64 that JSON can hold: NaN and the infinities are strings.
type JSON float64

// MarshalJSON implements json.Marshaler.
func (n JSON) MarshalJSON() ([]byte, error) {
	if f := float64(n); !Finite(f) {
		return fmt.Appendf(nil, "%q", fmt.Sprint(f)), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *JSON) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"NaN"`:
		*n = JSON(math.NaN())
	case `"+Inf"`:
		*n = JSON(math.Inf(1))
	case `"-Inf"`:
		*n = JSON(math.Inf(-1))
	default:
		var f float64
		if err := json.Unmarshal(data, &f); err != nil {
			return err
		}
		*n = JSON(f)
	}
	return nil
}

// numbers are values by name.
type Map map[string]JSON

// toNumbers copies values; nil stays nil.
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

// floats is the reverse of toNumbers.
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
