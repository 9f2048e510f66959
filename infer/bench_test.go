package infer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// BenchmarkAct times a single action, the row of a robot's control loop.
func BenchmarkAct(b *testing.B) {
	for _, size := range []struct {
		in     int
		hidden []int
		out    int
	}{{3, []int{64, 64}, 1}, {36, []int{128, 64}, 7}, {60, []int{512, 256, 128}, 12}, {105, []int{1024, 512}, 28}} {
		sp := spaces.Set{Observation: spaces.Unbounded(size.in), Action: spaces.Unbounded(size.out)}
		p := made(b, sp, size.hidden, description.Gaussian)
		x, a := randomRow(rand.New(rand.NewPCG(1, 1)), size.in), make([]float32, size.out)
		b.Run(fmt.Sprint(size.in, size.hidden, size.out), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, p.Act(x, a))
			}
		})
	}
}
