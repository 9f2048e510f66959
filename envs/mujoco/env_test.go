package mujoco

import (
	"bytes"
	"math"
	"math/rand/v2"
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

// A state of another configuration is refused, and nothing changes.
func TestRestoreRefuses(t *testing.T) {
	cfg := WalkerConfig{NumEnvs: 6, Seed: 1, EpisodeLength: 60, Stagger: 30}
	make := func(cfg WalkerConfig) *Walker {
		w, err := NewWalker(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		if _, err := w.Reset(1); err != nil {
			t.Fatal(err)
		}
		return w
	}
	state, err := make(cfg).MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	other, longer := cfg, cfg
	other.NumEnvs, longer.EpisodeLength = 5, 70
	for want, w := range map[string]*Walker{"6 environments": make(other), "60 steps an episode": make(longer)} {
		before, _ := w.MarshalState()
		if err := w.RestoreState(state); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if after, _ := w.MarshalState(); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused state changed the environment", want)
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
		if _, err := w.Render(0); err == nil {
			t.Error("a closed walker draws itself")
		}
		if live() != before {
			t.Errorf("%d C objects are left", live()-before)
		}
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
