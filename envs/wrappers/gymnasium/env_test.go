package gymnasium

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// open makes a batch that is closed at the end of the test.
func open(t testing.TB, o Options) *Env {
	t.Helper()
	return must.Open(New(o))(t)
}

// actions is a row for each environment: 0.5 and its index / 1000.
func actions(n int) []float32 {
	a := make([]float32, 2*n)
	for i := range n {
		a[2*i], a[2*i+1] = 0.5, float32(i)/1000
	}
	return a
}

func TestConform(t *testing.T) {
	envtest.Conform(t, 60, func(seed int64, workers int) (envs.Env, error) {
		o := fake(t, 7, workers, "")
		o.Seed = seed
		return New(o)
	})
}

// What the children write must arrive where it belongs, with the last observations of episodes that end.
func TestStep(t *testing.T) {
	const n = 5
	e := open(t, fake(t, n, 2, ""))
	s := envtest.Reset(t, e, 100)
	finals, states := make([]float32, 4*n), make([]float32, n) // rows that do not end keep what they had
	for step := range 41 {
		want := envs.Step{Terminated: make([]bool, n), Truncated: make([]bool, n)}
		for i := range n {
			f := fakeEnv{i: i, seed: float32(100 + i)}
			f.steps = step % f.length()
			row, state, amp := make([]float32, 4), float32(f.steps), f.steps
			f.observe(row)
			if f.steps == 0 {
				state, amp = -1, f.length()
			}
			want.Observations, want.States = append(want.Observations, row...), append(want.States, state)
			want.AMPObservations = append(want.AMPObservations, float32(100*i+amp))
			if step == 0 || f.steps > 0 {
				continue
			}
			want.Terminated[i], want.Truncated[i] = i%2 == 0, i%2 == 1
			f.steps = f.length()
			f.observe(finals[4*i:])
			states[i] = float32(f.steps)
			want.FinalObservations, want.FinalStates = finals, states
			want.Episodes = append(want.Episodes, envs.Episode{Env: i, Length: f.steps, Metrics: map[string]float64{
				"steps": float64(f.steps)}, Return: float64(f.steps) * (0.5 + 10*float64(float32(i)/1000))})
		}
		if step == 0 {
			want = envs.Step{Observations: want.Observations, States: want.States}
		} else {
			s = envtest.Step(t, e, actions(n))
			want.Rewards = s.Rewards // returns are their sums
		}
		must.Equal(t, fmt.Sprint("step ", step), want, *s, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty())
	}
}

// Two bits of the flags say that a last observation is unknown and that there was no transition.
func TestMarks(t *testing.T) {
	const n = 3
	e := open(t, fake(t, n, 1, "marks"))
	envtest.Reset(t, e, 100)
	for step := 1; step <= 4; step++ {
		s := envtest.Step(t, e, actions(n))
		if got := slices.Index(s.Invalid, true); (step == 2) != (s.Invalid != nil) || step == 2 && got != 1 {
			t.Errorf("step %d: invalid %v", step, s.Invalid)
		}
		if (step >= 3) != (s.FinalUnknown != nil) || step >= 3 && (!s.Ended(step-3) || !s.FinalUnknown[step-3]) {
			t.Errorf("step %d: unknown %v", step, s.FinalUnknown)
		}
		// of environment 1, whose second step was none
		if step == 4 && (len(s.Episodes) != 1 || s.Episodes[0].Length != 3) {
			t.Errorf("episodes %+v", s.Episodes)
		}
	}
}

// Rows are copied and checked in portions.
func TestCopyFinite(t *testing.T) {
	for _, n := range []int{0, 1, 2047, 2048, 2049, 3*2048 + 7} {
		from, to := make([]float32, n), make([]float32, n)
		for i := range from {
			from[i] = float32(i)
		}
		if !copyFinite(to, from) || !slices.Equal(to, from) {
			t.Errorf("%d finite numbers are refused, or were not copied", n)
		}
		for _, i := range []int{0, 2047, 2048, 5000, n - 1} {
			if i < 0 || i >= n {
				continue
			}
			from[i] = float32(math.Inf(1))
			if copyFinite(to, from) || to[i] != from[i] {
				t.Errorf("infinity at %d of %d is not seen", i, n)
			}
			from[i] = 0
		}
	}
}

func TestOptions(t *testing.T) {
	batch := func(change func(*Options)) func(*Options) {
		return func(o *Options) {
			o.ID, o.Factory, o.Simulator, o.Children = "", "a:b", Batch, 0
			change(o)
		}
	}
	for want, change := range map[string]func(*Options){
		"one of ID and Factory":      func(o *Options) { o.Factory = "a:b" },
		"do not fit into JSON":       func(o *Options) { o.Kwargs = map[string]any{"f": func() {}} },
		"are for simulators; set":    func(o *Options) { o.Autoreset = NextStep },
		"so there is one child":      batch(func(o *Options) { o.Children = 2 }),
		"are for single environment": batch(func(o *Options) { o.Infos = true }),
	} {
		o := fake(t, 2, 2, "")
		change(&o)
		must.Refused(New(o))(t, want)
	}
}

func TestNoPython(t *testing.T) {
	missing, none := fake(t, 2, 2, "start-missing"), fake(t, 2, 2, "")
	none.Python = "no-such-python3"
	for _, o := range []Options{missing, none} {
		_, err := New(o)
		must.Not(t, !errors.Is(err, ErrNoPython), "%s: %v", o.Python, err)
	}
}

// Stepping must not leave work for the garbage collector.
func TestStepAllocatesNothing(t *testing.T) {
	o := fake(t, 4, 2, "")
	o.StepMetrics, o.EpisodeMetrics = []string{"steps"}, []string{}
	e := open(t, o)
	envtest.Reset(t, e, 0)
	a := actions(4)
	must.Is(t, testing.AllocsPerRun(100, func() { envtest.Step(t, e, a) }), 0, "allocations a step")
}

// left is what the process holds: descriptors, mappings of the bridge and goroutines.
func left(t *testing.T) (descriptors, mappings, goroutines int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	maps := must.Get(os.ReadFile("/proc/self/maps"))(t)
	return len(entries), strings.Count(string(maps), "gorl-gymnasium"), runtime.NumGoroutine()
}

// nothingMore compares what the process holds with what it held. A goroutine that has just said its last takes a moment
// to end.
func nothingMore(t *testing.T, descriptors, mappings, goroutines int) {
	t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		d, m, g := left(t)
		if d == descriptors && m == mappings && g <= goroutines {
			return
		}
		if d != descriptors || m != mappings || time.Now().After(until) {
			t.Errorf("%d descriptors, %d mappings, %d goroutines; before %d, %d, %d", d, m, g, descriptors, mappings,
				goroutines)
			return
		}
	}
}

// children lists the processes that this one has started and not waited for.
func children(t *testing.T) []string {
	t.Helper()
	var found []string
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		found = append(found, strings.Fields(string(b))...)
	}
	return found
}
