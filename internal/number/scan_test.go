package number

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// The first NaN or infinity is found at every place of rows of every length, and finite values never are.
func TestFirstNonFinite(t *testing.T) {
	bad := []uint32{0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff} // ±Inf, NaNs of all kinds
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		x := make([]float32, n+1)[1:] // off the allocation's alignment
		for i := range x {
			for x[i] = math.Float32frombits(rng.Uint32()); x[i]-x[i] != 0; {
				x[i] = math.Float32frombits(rng.Uint32())
			}
		}
		if n > 2 {
			x[n/2], x[n/3] = math.MaxFloat32, -math.SmallestNonzeroFloat32
		}
		must.Is(t, FirstNonFinite(x), -1, "%d finite values", n)
		for i := range x {
			was := x[i]
			for _, bits := range bad {
				x[i], x[n-1] = math.Float32frombits(bits), math.Float32frombits(bits)
				must.Is(t, FirstNonFinite(x), i, "%x of %d", bits, n)
			}
			x[i], x[n-1] = was, 1
		}
	}
}
