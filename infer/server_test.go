package infer

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorl-dev/gorl/models/description"
)

var requests = flag.Int("requests", 20_000, "requests of TestServer")

// TestServer serves one policy by an HTTP handler to 64 goroutines. Every answer equals that of a single goroutine.
//
//	go test ./infer -run TestServer -requests 1000000
func TestServer(t *testing.T) {
	shared := made(t, vector, []int{64, 64}, description.Gaussian)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		observation, action := make([]float32, vector.Observation.Width()), make([]float32, vector.Action.Width())
		err := json.NewDecoder(r.Body).Decode(&observation)
		if err == nil {
			err = shared.Act(observation, action)
		}
		if err == nil {
			err = json.NewEncoder(w).Encode(action)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	rng := rand.New(rand.NewPCG(1, 1))
	var bodies, want [256]string
	for i := range bodies {
		x, a := randomRow(rng, vector.Observation.Width()), make([]float32, vector.Action.Width())
		if err := shared.Act(x, a); err != nil {
			t.Fatal(err)
		}
		bodies[i] = encoded(t, x)
		want[i] = encoded(t, a) + "\n"
	}
	var sent, wrong atomic.Int64
	each(64, func(int) {
		for k := sent.Add(1); k <= int64(*requests); k = sent.Add(1) {
			i := k % int64(len(bodies))
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(bodies[i])))
			if got := answer.Body.String(); got != want[i] && wrong.Add(1) == 1 {
				t.Errorf("request %d: %d, %q; want %q", k, answer.Code, got, want[i])
			}
		}
	})
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d answers are wrong", n, *requests)
	}
}

// raced reports whether the race detector is on: the pool of scratch memory then drops some on purpose.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func encoded(t *testing.T, x []float32) string {
	t.Helper()
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
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
	if err := p.Act(x, a); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(p.hidden)
	w, err := p.enter(&callActBatch) // an ActBatch in progress
	if err != nil {
		t.Fatal(err)
	}
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

// BenchmarkServer compares one shared policy with a pool of clones, on all cores.
func BenchmarkServer(b *testing.B) {
	for _, hidden := range [][]int{{64, 64}, {512, 256, 128}} {
		shared := made(b, vector, hidden, description.Gaussian)
		clones := sync.Pool{New: func() any { return shared.Clone() }}
		for name, act := range map[string]func(x, a []float32) error{
			"shared": shared.Act,
			"clones": func(x, a []float32) error {
				p := clones.Get().(*Policy)
				defer clones.Put(p)
				return p.Act(x, a)
			},
		} {
			b.Run(fmt.Sprint(hidden, name), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(64)
				b.RunParallel(func(pb *testing.PB) {
					x, a := make([]float32, vector.Observation.Width()), make([]float32, vector.Action.Width())
					for pb.Next() {
						if err := act(x, a); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
