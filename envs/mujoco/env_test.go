package mujoco

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
)

// trace runs a walker from where it stands and returns everything it gave.
func trace(t *testing.T, w *Walker, steps int, seed uint64) []float32 {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	actions := make([]float32, w.NumEnvs()*6)
	var out []float32
	for range steps {
		for i := range actions {
			actions[i] = float32(rng.NormFloat64())
		}
		s, err := w.Step(actions)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(append(out, s.Observations...), s.AMPObservations...), s.Rewards...)
		out = append(out, float32(s.Metrics["walker/joint_error"]))
		for _, e := range s.Episodes {
			out = append(out, float32(e.Env), float32(e.Return), float32(e.Length), float32(e.Metrics["speed"]))
		}
	}
	return out
}

func TestWorkersDoNotMatter(t *testing.T) {
	var want []float32
	for _, workers := range []int{1, 2, 3, 8, 0} {
		w, err := NewWalker(WalkerConfig{NumEnvs: 13, Seed: 4, Workers: workers, EpisodeLength: 50, Stagger: 20})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Reset(4); err != nil {
			t.Fatal(err)
		}
		got := trace(t, w, 120, 9)
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("%d workers give another run", workers)
		}
		w.Close()
	}
}

func TestSeeds(t *testing.T) {
	w, err := NewWalker(WalkerConfig{NumEnvs: 4, Seed: 11})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	first := func(seed int64) []float32 {
		s, err := w.Reset(seed)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(s.Observations)
	}
	a, b, c, d := first(-1), first(11), first(12), first(-1)
	if !slices.Equal(a, b) {
		t.Error("the first Reset(-1) does not begin at Config.Seed")
	}
	if slices.Equal(b, c) || slices.Equal(c, d) {
		t.Error("another seed, or none, gives the same states")
	}
}

func TestSaveRestore(t *testing.T) {
	cfg := WalkerConfig{NumEnvs: 6, Seed: 1, EpisodeLength: 60, Stagger: 30}
	make := func(cfg WalkerConfig) *Walker {
		w, err := NewWalker(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		return w
	}
	w := make(cfg)
	if _, err := w.MarshalState(); err == nil {
		t.Error("a state before Reset")
	}
	if _, err := w.Reset(1); err != nil {
		t.Fatal(err)
	}
	trace(t, w, 47, 1)
	state, err := w.MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	observed, err := w.Observe()
	if err != nil {
		t.Fatal(err)
	}
	observations := slices.Clone(observed.Observations)
	want := trace(t, w, 100, 2)

	fresh := make(cfg)
	for _, again := range []*Walker{fresh, w} {
		if err := again.RestoreState(state); err != nil {
			t.Fatal(err)
		}
		o, err := again.Observe()
		if err != nil || !slices.Equal(o.Observations, observations) {
			t.Error("the observations are not those of the saved state", err)
		}
		if back, err := again.MarshalState(); err != nil || !bytes.Equal(back, state) {
			t.Error("saving after restoring gives another state", err)
		}
		if got := trace(t, again, 100, 2); !slices.Equal(got, want) {
			t.Error("the restored run differs")
		}
	}

	other := cfg
	other.NumEnvs = 5
	longer := cfg
	longer.EpisodeLength = 70
	for name, c := range map[string]struct {
		w     *Walker
		state []byte
		want  string
	}{
		"another size":   {make(other), state, "6 environments"},
		"another length": {make(longer), state, "60 steps an episode"},
		"truncated":      {fresh, state[:len(state)-9], "ends too early"},
		"longer":         {fresh, append(slices.Clone(state), 1), "left over"},
		"foreign":        {fresh, []byte("hello"), "state"},
		"empty":          {fresh, nil, "state"},
	} {
		before, _ := fresh.MarshalState()
		if err := c.w.RestoreState(c.state); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := fresh.MarshalState(); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused state changed the environment", name)
		}
	}
}

func FuzzRestoreState(f *testing.F) {
	w, err := NewWalker(WalkerConfig{NumEnvs: 2, Workers: 1})
	if err != nil {
		f.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Reset(1); err != nil {
		f.Fatal(err)
	}
	state, err := w.MarshalState()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add(state[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		if w.RestoreState(b) != nil {
			return
		}
		if _, err := w.Step(make([]float32, 12)); err != nil {
			t.Errorf("an accepted state does not step: %v", err)
		}
	})
}

func TestBadActions(t *testing.T) {
	w, err := NewWalker(WalkerConfig{NumEnvs: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	good := make([]float32, 18)
	if _, err := w.Step(good); err == nil || !strings.Contains(err.Error(), "Reset") {
		t.Errorf("a step before Reset: %v", err)
	}
	if _, err := w.Reset(1); err != nil {
		t.Fatal(err)
	}
	before, _ := w.MarshalState()
	bad := slices.Clone(good)
	bad[6+4] = float32(math.NaN())
	if _, err := w.Step(bad); err == nil || !strings.Contains(err.Error(), "action 4 of environment 1 is NaN") {
		t.Error(err)
	}
	bad[6+4] = float32(math.Inf(1))
	if _, err := w.Step(bad); err == nil {
		t.Error("an infinite action")
	}
	if _, err := w.Step(good[:17]); err == nil {
		t.Error("17 actions for 18")
	}
	if after, _ := w.MarshalState(); !bytes.Equal(before, after) {
		t.Error("a refused action changed the state")
	}
}

func TestCloseFrees(t *testing.T) {
	before := live()
	for range 3 {
		w, err := NewWalker(WalkerConfig{NumEnvs: 7, Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		if live() != before+8 {
			t.Errorf("%d C objects for a model and seven simulations", live()-before)
		}
		if _, err := w.Reset(1); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Render(0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Step(make([]float32, 42)); err == nil {
			t.Error("a closed walker steps")
		}
		if _, err := w.Reset(1); err == nil {
			t.Error("a closed walker resets")
		}
		if _, err := w.Render(0); err == nil {
			t.Error("a closed walker draws itself")
		}
		if _, err := w.MarshalState(); err == nil {
			t.Error("a closed walker has a state")
		}
		if live() != before {
			t.Errorf("%d C objects are left", live()-before)
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	w, err := NewWalker(WalkerConfig{NumEnvs: 8, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Reset(1); err != nil {
		t.Fatal(err)
	}
	actions := make([]float32, 48)
	ended := 0
	perStep := testing.AllocsPerRun(8, func() {
		s, err := w.Step(actions)
		if err != nil {
			t.Fatal(err)
		}
		ended += len(s.Episodes)
	})
	if ended == 0 && perStep != 0 {
		t.Errorf("%g allocations a step", perStep)
	}
}

func TestDivergedEndsTheEpisode(t *testing.T) {
	w, err := NewWalker(WalkerConfig{NumEnvs: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Reset(1); err != nil {
		t.Fatal(err)
	}
	floats(w.batch.data[2].qvel, 9)[0] = math.Inf(1)
	checked, err := envs.Checked(w)
	if err != nil {
		t.Fatal(err)
	}
	s, err := checked.Step(make([]float32, 18))
	if err != nil {
		t.Fatal(err)
	}
	if s.Terminated[0] || !s.Terminated[2] || len(s.Episodes) != 1 || s.Episodes[0].Env != 2 {
		t.Errorf("terminated %v, episodes %v", s.Terminated, s.Episodes)
	}
	if _, err := checked.Step(make([]float32, 18)); err != nil {
		t.Fatal(err)
	}
}
