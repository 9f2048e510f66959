package pbt

import (
	"math"

	"github.com/gorl-dev/gorl/internal/durable"
)

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Numbers in files, which may be NaN or infinite.
type (
	number  = durable.Number
	numbers = durable.Numbers
)
