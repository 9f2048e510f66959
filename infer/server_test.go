package infer

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/models/description"
)

// raced reports whether the race detector is on: the pool of scratch memory then drops some on purpose.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// each runs f on n goroutines.
func each(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// Every method that takes its states from the caller, or needs none, may be called by many goroutines at once.
func TestShared(t *testing.T) {
	gaussian := made(t, vector, []int{32}, description.Gaussian)
	discrete := made(t, choices, []int{32}, description.Categorical)
	memory := remembering(t, description.LSTM, 2)
	for name, call := range map[string]func(x []float32) ([]float32, error){
		"ActBatch": func(x []float32) ([]float32, error) {
			y := make([]float32, 60)
			return y, gaussian.ActBatch(x[:100], y)
		},
		"Sample": func(x []float32) ([]float32, error) {
			y := make([]float32, 3)
			return y, gaussian.Sample(x[:5], y, rand.New(rand.NewPCG(1, 1)))
		},
		"Outputs":  func(x []float32) ([]float32, error) { y := make([]float32, 3); return y, gaussian.Outputs(x[:5], y) },
		"LogStdAt": func(x []float32) ([]float32, error) { y := make([]float32, 3); return y, gaussian.LogStdAt(x[:5], y) },
		"Probabilities": func(x []float32) ([]float32, error) {
			y := make([]float32, 5)
			return y, discrete.Probabilities(x[:5], y)
		},
		"Sample of choices": func(x []float32) ([]float32, error) {
			y := make([]float32, 2)
			return y, discrete.Sample(x[:5], y, rand.New(rand.NewPCG(1, 1)))
		},
		"ActHidden": func(x []float32) ([]float32, error) {
			y := make([]float32, 2+memory.HiddenSize())
			return y, memory.ActHidden(x[:3], y[2:], y[:2])
		},
	} {
		rng := rand.New(rand.NewPCG(2, 2))
		var rows, want [16][]float32
		for i := range rows {
			var err error
			rows[i] = randomRow(rng, 100)
			if want[i], err = call(rows[i]); err != nil {
				t.Fatal(err)
			}
		}
		each(16, func(i int) {
			for range 200 {
				if got, err := call(rows[i]); err != nil || !slices.Equal(got, want[i]) {
					t.Errorf("%s: %v, %v; one goroutine's is %v", name, got, err, want[i])
					return
				}
			}
		})
	}
}

// A policy with memory refuses a call that overlaps with another, and its states stay as they were.
func TestRefusesOverlap(t *testing.T) {
	p := remembering(t, description.GRU, 1)
	x, a, rng := []float32{1, -1, 0.5}, make([]float32, 2), rand.New(rand.NewPCG(1, 1))
	must(t, p.Act(x, a))
	before := slices.Clone(p.hidden)
	w, err := p.enter(&callActBatch) // an ActBatch in progress
	must(t, err)
	for method, err := range map[string]error{"Act": p.Act(x, a), "ActBatch": p.ActBatch(x, a),
		"Sample": p.Sample(x, a, rng), "Outputs": p.Outputs(x, a), "Reset": p.Reset(0)} {
		want := "infer: " + method + " was called while ActBatch is running"
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "Clone") {
			t.Errorf("%v, want %q and what to do", err, want)
		}
	}
	if err := p.Clone().Act(x, a); err != nil {
		t.Error(err)
	}
	if err := p.ActHidden(x, make([]float32, p.HiddenSize()), a); err != nil {
		t.Error(err)
	}
	p.leave(w)
	if !slices.Equal(p.hidden, before) {
		t.Error("a refused call changed a state")
	}
	if err := p.Act(x, a); err != nil {
		t.Error(err)
	}
}
