package wrappers_test

import (
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// benchmark steps a batch and reports environment steps a second.
func benchmark(b *testing.B, create func(classic.Config) (envs.Env, error)) {
	for _, n := range []int{1, 16, 256, 4096} {
		for _, workers := range []int{1, 2} {
			if workers > n {
				continue
			}
			b.Run(fmt.Sprintf("envs=%d/workers=%d", n, workers), func(b *testing.B) {
				env := must.Open(create(classic.Config{NumEnvs: n, Workers: workers}))(b)
				must.Get(env.Reset(0))(b)
				actions := make([]float32, n)
				for i := range actions {
					actions[i] = float32(i % 2)
				}
				b.ReportAllocs()
				for b.Loop() {
					must.Get(env.Step(actions))(b)
				}
				b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}

func BenchmarkParallelCartPole(b *testing.B) { benchmark(b, classic.NewCartPole) }
