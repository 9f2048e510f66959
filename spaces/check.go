package spaces

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/internal/number"
)

// Check returns an error unless rows holds n elements of the space, one row an environment: n × Width
// values, all finite, for Discrete and MultiDiscrete whole numbers within range, and for Uint8 whole numbers from 0 to
// 255. The error names the
// environment and the dimension. The limits of a Box are not enforced: a Gaussian policy oversteps them, and
// what that means is for the environment to say. It allocates nothing unless it fails.
func (s Space) Check(rows []float32, n int) error {
	w := s.Width()
	if len(rows) != n*w {
		return fmt.Errorf("spaces: %v: got %d values, want %d (%d environments × %d)", s, len(rows), n*w, n, w)
	}
	if s.Kind == Box && s.DType != Uint8 {
		if err := number.CheckRows(rows, w, nil); err != nil {
			return fmt.Errorf("spaces: %v: %w", s, err)
		}
		return nil
	}
	for i, v := range rows {
		wrong := ""
		switch leaf, d := s.at(i % w); {
		case leaf.Kind != Box:
			choices := leaf.NVec[d]
			if f := float64(v); !(f >= 0 && f < float64(choices)) || f != math.Trunc(f) {
				wrong = fmt.Sprintf("it must be a whole number from 0 to %d", choices-1)
			}
		case leaf.DType == Uint8 && float32(uint8(v)) != v:
			wrong = "uint8 is a whole number from 0 to 255"
		case v-v != 0: // Inf-Inf and NaN-NaN are NaN, so one comparison finds both
			wrong = "it must be finite"
		}
		if wrong != "" {
			return fmt.Errorf("spaces: %v: environment %d, dimension %d is %g; %s", s, i/w, i%w, v, wrong)
		}
	}
	return nil
}
