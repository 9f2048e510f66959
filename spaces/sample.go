package spaces

import (
	"math"
	"math/rand/v2"
)

// Sample fills rows, whose length is a multiple of Width, with random elements. A Box is uniform between two finite
// limits, an exponential distance from a single limit, and standard normal without limits. Choices of Discrete and
// MultiDiscrete and the whole numbers of Uint8 are uniform. Sample allocates nothing.
func (s Space) Sample(rng *rand.Rand, rows []float32) {
	w := s.Width()
	for i := range rows {
		leaf, d := s.at(i % w)
		if leaf.Kind != Box {
			rows[i] = float32(rng.IntN(leaf.NVec[d]))
			continue
		}
		l, h := leaf.limits(d)
		low, high := float64(l), float64(h)
		if leaf.DType == Uint8 {
			rows[i] = float32(math.Ceil(low) + float64(rng.IntN(int(math.Floor(high)-math.Ceil(low))+1)))
			continue
		}
		below, above := !math.IsInf(low, 0), !math.IsInf(high, 0)
		switch {
		case below && above:
			// Weighted ends instead of low + u·(high-low), whose difference can overflow float32.
			u := rng.Float64()
			rows[i] = float32(low*(1-u) + high*u)
		case below:
			rows[i] = float32(low + rng.ExpFloat64())
		case above:
			rows[i] = float32(high - rng.ExpFloat64())
		default:
			rows[i] = float32(rng.NormFloat64())
		}
	}
}
