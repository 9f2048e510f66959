package pbt

import (
	"encoding/json"
	"fmt"
	"math"
)

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// number is a float64 that JSON can hold: NaN and the infinities are strings.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !finite(f) {
		return fmt.Appendf(nil, "%q", fmt.Sprint(f)), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"NaN"`:
		*n = number(math.NaN())
	case `"+Inf"`:
		*n = number(math.Inf(1))
	case `"-Inf"`:
		*n = number(math.Inf(-1))
	default:
		var f float64
		if err := json.Unmarshal(data, &f); err != nil {
			return err
		}
		*n = number(f)
	}
	return nil
}

// numbers are values by name.
type numbers map[string]number

// toNumbers copies values; nil stays nil.
func toNumbers(values map[string]float64) numbers {
	if values == nil {
		return nil
	}
	n := make(numbers, len(values))
	for k, v := range values {
		n[k] = number(v)
	}
	return n
}

// floats is the reverse of toNumbers.
func (n numbers) floats() map[string]float64 {
	if n == nil {
		return nil
	}
	values := make(map[string]float64, len(n))
	for k, v := range n {
		values[k] = float64(v)
	}
	return values
}
