package mujoco

import (
	"bytes"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// A state of another configuration is refused, and nothing changes.
func TestRestoreRefuses(t *testing.T) {
	cfg := WalkerConfig{NumEnvs: 6, Seed: 1, EpisodeLength: 60, Stagger: 30}
	make := func(cfg WalkerConfig) *Walker {
		w := walkerOf(t, cfg)
		envtest.Reset(t, w, 1)
		return w
	}
	state := envtest.State(t, make(cfg))
	other, longer := cfg, cfg
	other.NumEnvs, longer.EpisodeLength = 5, 70
	for want, w := range map[string]*Walker{"6 environments": make(other), "60 steps an episode": make(longer)} {
		before, _ := w.MarshalState()
		must.Fail(t, w.RestoreState(state), want)
		if after, _ := w.MarshalState(); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused state changed the environment", want)
		}
	}
}

func FuzzRestoreState(f *testing.F) {
	w := walkerOf(f, WalkerConfig{NumEnvs: 2, Workers: 1})
	envtest.Reset(f, w, 1)
	state := envtest.State(f, w)
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
	w := walkerOf(t, WalkerConfig{NumEnvs: 7, Workers: 3})
	must.Is(t, live(), before+8, "%d C objects for a model and seven simulations", live()-before)
	envtest.Reset(t, w, 1)
	must.Get(w.Render(0))(t)
	must.Do(t, w.Close())
	must.Refuse(w.Render(0))(t, "")
	must.Is(t, live(), before, "%d C objects are left", live()-before)
}

func TestDivergedEndsTheEpisode(t *testing.T) {
	w, err := NewWalker(WalkerConfig{NumEnvs: 3})
	envtest.Reset(t, w, 1)
	floats(w.batch.data[2].qvel, 9)[0] = math.Inf(1)
	checked, err := envs.Checked(w)
	must.Do(t, err)
	s := envtest.Step(t, checked, make([]float32, 18))
	if s.Terminated[0] || !s.Terminated[2] || len(s.Episodes) != 1 || s.Episodes[0].Env != 2 {
		t.Errorf("terminated %v, episodes %v", s.Terminated, s.Episodes)
	}
	envtest.Step(t, checked, make([]float32, 18))
}
