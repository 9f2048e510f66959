package number

import (
	"math"
	"math/rand/v2"
	"testing"
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
		if i := FirstNonFinite(x); i != -1 {
			t.Fatalf("%d finite values: %g at %d is reported", n, x[i], i)
		}
		for i := range x {
			was := x[i]
			for _, bits := range bad {
				x[i], x[n-1] = math.Float32frombits(bits), math.Float32frombits(bits)
				if got := FirstNonFinite(x); got != i {
					t.Errorf("%x at %d of %d: reported at %d", bits, i, n, got)
				}
			}
			x[i], x[n-1] = was, 1
		}
	}
}

// BenchmarkFirstNonFinite scans the observations of 4,096 environments, and of 4.
func BenchmarkFirstNonFinite(b *testing.B) {
	for name, n := range map[string]int{"4096x60": 4096 * 60, "4x4": 16} {
		b.Run(name, func(b *testing.B) {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i) - 1e4
			}
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				if FirstNonFinite(x) >= 0 {
					b.Fatal("finite values are reported")
				}
			}
		})
	}
}
