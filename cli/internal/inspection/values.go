package inspection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/number"
)

// longest is the number of values up to which a list is shown. Of longer ones, such as the readings of a metric, only
// the number of values is of interest.
const longest = 16

// flatten puts the plain values of a tree, of a snapshot or of a .pt, under the keys that lead to them. A list of plain
// values is one value. flatten leaves out tensors.
func flatten(into map[string]any, at string, v any) {
	below := func(key, x any) {
		name := fmt.Sprint(key)
		if at != "" {
			name = at + "/" + name
		}
		flatten(into, name, x)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			below(key, x)
		}
	case *torchfile.Dict:
		for key, x := range v.All() {
			below(key, x)
		}
	case *torchfile.List:
		flatten(into, at, v.Items)
	case torchfile.Tuple:
		flatten(into, at, []any(v))
	case []any:
		switch {
		case slices.ContainsFunc(v, compound):
			for i, x := range v {
				below(i, x)
			}
		case len(v) > longest:
			into[at] = fmt.Sprintf("%d values", len(v))
		default:
			into[at] = strings.Trim(fmt.Sprint(v), "[]")
		}
	case checkpoint.Array, nil:
	case []byte:
		into[at] = fmt.Sprintf("%d bytes", len(v))
	case string:
		if len(v) > 200 {
			v = fmt.Sprintf("%.40s… (%d bytes)", v, len(v))
		}
		into[at] = v
	default:
		into[at] = writable(v)
	}
}

// compound reports whether a value contains others, or is a tensor, which is described elsewhere.
func compound(v any) bool {
	switch v.(type) {
	case map[string]any, []any, *torchfile.Dict, *torchfile.List, torchfile.Tuple, checkpoint.Array:
		return true
	}
	return false
}

// writable returns a value that JSON can hold: NaN and the infinities, which checkpoints of other programs may have,
// become a [number.JSON].
func writable(v any) any {
	if x, ok := v.(float64); ok && !number.Finite(x) {
		return number.JSON(x)
	}
	return v
}
