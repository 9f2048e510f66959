package mujoco

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// BenchmarkWalkerStep steps 64 walkers, as learning does. It reports the time of one environment's control step on one
// worker and on one a CPU, and how much longer the simulation alone takes through plain mj_step.
func BenchmarkWalkerStep(b *testing.B) {
	const n = 64
	run := func(b *testing.B, workers int, reference bool) {
		w := walkerOf(b, WalkerConfig{NumEnvs: n, Seed: 1, Workers: workers})
		w.batch.reference = reference
		envtest.Reset(b, w, 1)
		rng := rand.New(rand.NewPCG(1, 1))
		actions := make([]float32, 6*n)
		b.ResetTimer()
		for range b.N {
			noise(actions, 0.3, rng)
			envtest.Step(b, w, actions)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/environment-step")
	}
	b.Run("one worker", func(b *testing.B) { run(b, 1, false) })
	b.Run("one worker, plain mj_step", func(b *testing.B) { run(b, 1, true) })
	b.Run("all workers", func(b *testing.B) { run(b, runtime.GOMAXPROCS(0), false) })
}

// BenchmarkHumanoidStep steps 64 humanoids that follow a clip with noise, as learning does: see [BenchmarkWalkerStep].
func BenchmarkHumanoidStep(b *testing.B) { characterSteps(b, HumanoidBody()) }

// BenchmarkQuadrupedStep does so with quadrupeds.
func BenchmarkQuadrupedStep(b *testing.B) { characterSteps(b, QuadrupedBody()) }

func characterSteps(b *testing.B, body CharacterBody) {
	const n = 64
	run := func(b *testing.B, workers int, reference bool, randomize RandomizeConfig) {
		e := characterOf(b, CharacterConfig{Body: body, NumEnvs: n, Workers: workers, Residual: true,
			Randomize: randomize})
		e.batch.reference = reference
		envtest.Reset(b, e, 1)
		rng := rand.New(rand.NewPCG(1, 1))
		actions := make([]float32, e.Model().NU()*n)
		b.ResetTimer()
		for range b.N {
			noise(actions, 0.5, rng)
			envtest.Step(b, e, actions)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/environment-step")
	}
	b.Run("one worker", func(b *testing.B) { run(b, 1, false, RandomizeConfig{}) })
	b.Run("one worker, randomized", func(b *testing.B) { run(b, 1, false, everything()) })
	b.Run("one worker, terrain", func(b *testing.B) {
		run(b, 1, false, RandomizeConfig{Terrain: TerrainConfig{Slope: 0.4, Steps: 0.1, Rough: 0.05}})
	})
	b.Run("one worker, plain mj_step", func(b *testing.B) { run(b, 1, true, RandomizeConfig{}) })
	b.Run("all workers", func(b *testing.B) { run(b, runtime.GOMAXPROCS(0), false, RandomizeConfig{}) })
}

// BenchmarkRandomizedReset draws the numbers of a humanoid's episode, most of which is MuJoCo's mj_setConst.
func BenchmarkRandomizedReset(b *testing.B) {
	e := characterOf(b, CharacterConfig{Body: HumanoidBody(), Randomize: everything()})
	for b.Loop() {
		must.Do(b, e.random.draw(0, 0, e.rng[0]))
	}
}
