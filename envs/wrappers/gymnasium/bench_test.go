package gymnasium

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
)

// BenchmarkPeersBatch steps a stand-in that returns at once what 4096 humanoids do, 105 observations and 210 AMP
// observations each: what remains is the bridge. Beside it stands one copy of as many bytes in memory, of which the
// bridge makes two.
func BenchmarkPeersBatch(b *testing.B) {
	const n, width = 4096, 105 + 210
	o := real(b, "bridge_batches:Flat", n, 0)
	o.Simulator, o.AMPObservations = Batch, "amp_obs"
	e := open(b, o)
	envtest.Reset(b, e, 1)
	actions := make([]float32, n*28)
	b.Run("step", func(b *testing.B) {
		b.SetBytes(n*width*4 + n*8 + n + n*28*4) // with rewards, flags and actions
		b.ReportAllocs()
		for b.Loop() {
			envtest.Step(b, e, actions)
		}
	})
	b.Run("copy", func(b *testing.B) {
		from, to := make([]float32, n*width), make([]float32, n*width)
		b.SetBytes(n * width * 4)
		for b.Loop() {
			copy(to, from)
		}
	})
}
