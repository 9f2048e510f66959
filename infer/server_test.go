package infer

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
)

// raced reports whether the race detector is on: the pool of scratch memory then drops some on purpose.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// A policy with memory refuses a call that overlaps with another, and its states stay as they were.
func TestRefusesOverlap(t *testing.T) {
	p := remembering(t, description.GRU, 1)
	x, a, rng := []float32{1, -1, 0.5}, make([]float32, 2), rand.New(rand.NewPCG(1, 1))
	must.Do(t, p.Act(x, a))
	before := slices.Clone(p.hidden)
	must.Do(t, p.guard.Enter(&callActBatch)) // an ActBatch in progress
	for method, err := range map[string]error{"Act": p.Act(x, a), "ActBatch": p.ActBatch(x, a),
		"Sample": p.Sample(x, a, rng), "Outputs": p.Outputs(x, a), "Reset": p.Reset(0)} {
		must.Refuse(t, err, "infer: "+method+" was called while ActBatch is running", "Clone")
	}
	must.Do(t, p.Clone().Act(x, a))
	must.Do(t, p.ActHidden(x, make([]float32, p.HiddenSize()), a))
	p.guard.Leave()
	must.Same(t, p.hidden, before, "a refused call changed a state")
	must.Do(t, p.Act(x, a))
}

// Every method that takes its states from the caller, or needs none, may be called by many goroutines at once.
func TestShared(t *testing.T) {
	gaussian := made(t, vector, []int{32}, description.Gaussian)
	discrete := made(t, choices, []int{32}, description.Categorical)
	memory := remembering(t, description.LSTM, 2)
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	for name, call := range map[string]func(x, y []float32) error{
		"ActBatch":          func(x, y []float32) error { return gaussian.ActBatch(x, y[:60]) },
		"Sample":            func(x, y []float32) error { return gaussian.Sample(x[:5], y[:3], rng()) },
		"Outputs":           func(x, y []float32) error { return gaussian.Outputs(x[:5], y[:3]) },
		"LogStdAt":          func(x, y []float32) error { return gaussian.LogStdAt(x[:5], y[:3]) },
		"Probabilities":     func(x, y []float32) error { return discrete.Probabilities(x[:5], y[:5]) },
		"Sample of choices": func(x, y []float32) error { return discrete.Sample(x[:5], y[:2], rng()) },
		"ActHidden": func(x, y []float32) error {
			return memory.ActHidden(x[:3], y[2:2+memory.HiddenSize()], y[:2])
		},
	} {
		var all sync.WaitGroup
		draw := rand.New(rand.NewPCG(2, 2))
		for range 16 {
			x, want := randomRow(draw, 100), make([]float32, 60)
			must.Do(t, call(x, want))
			all.Go(func() {
				for range 200 {
					got := make([]float32, 60)
					if err := call(x, got); err != nil || !slices.Equal(got, want) {
						t.Errorf("%s: %v, %v; one goroutine's is %v", name, got, err, want)
						return
					}
				}
			})
		}
		all.Wait()
	}
}
