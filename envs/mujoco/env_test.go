package mujoco

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// A state of another configuration is refused, and nothing changes.
func TestRestoreRefuses(t *testing.T) {
	cfg := WalkerConfig{NumEnvs: 6, Seed: 1, EpisodeLength: 60, Stagger: 30}
	make := func(cfg WalkerConfig) *Walker {
		w := must.Open(NewWalker(cfg))(t)
		envtest.Reset(t, w, 1)
		return w
	}
	state := envtest.State(t, make(cfg))
	longer := cfg
	longer.EpisodeLength = 70
	w := make(longer)
	before := envtest.State(t, w)
	must.Refuse(t, w.RestoreState(state), "60 steps an episode")
	must.Same(t, envtest.State(t, w), before, "the refused state changed the environment")
	cfg.NumEnvs = 5
	must.Refuse(t, make(cfg).RestoreState(state), "6 environments")
}

func FuzzRestoreState(f *testing.F) {
	w := must.Open(NewWalker(WalkerConfig{NumEnvs: 2, Workers: 1}))(f)
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
	w := must.Open(NewWalker(WalkerConfig{NumEnvs: 7, Workers: 3}))(t)
	must.Is(t, live(), before+8, "%d C objects for a model and seven simulations", live()-before)
	envtest.Reset(t, w, 1)
	must.Get(w.Render(0))(t)
	must.Do(t, w.Close())
	must.Refused(w.Render(0))(t, "")
	must.Is(t, live(), before, "%d C objects are left", live()-before)
}

func TestDivergedEndsTheEpisode(t *testing.T) {
	w := must.Get(NewWalker(WalkerConfig{NumEnvs: 3}))(t)
	envtest.Reset(t, w, 1)
	floats(w.batch.data[2].qvel, 9)[0] = math.Inf(1)
	checked := must.Open(envs.Checked(w))(t)
	s := envtest.Step(t, checked, make([]float32, 18))
	must.Not(t, s.Terminated[0] || !s.Terminated[2] || len(s.Episodes) != 1 || s.Episodes[0].Env != 2,
		"terminated %v, episodes %v", s.Terminated, s.Episodes)
	envtest.Step(t, checked, make([]float32, 18))
}

// Terminate ends the episodes that it names with the next step, and no later one; everything else of that step is as
// without. A Reset, a restored state and another call forget it.
func TestTerminate(t *testing.T) {
	cfg := WalkerConfig{NumEnvs: 3, Seed: 4}
	w, free := must.Open(NewWalker(cfg))(t), must.Open(NewWalker(cfg))(t)
	actions := make([]float32, 18)
	for _, x := range []*Walker{w, free} {
		envtest.Reset(t, x, 4)
		envtest.Step(t, x, actions)
	}
	state := envtest.State(t, w)
	all := []bool{true, true, true}
	must.Do(t, w.Terminate(all))
	must.Do(t, w.Terminate([]bool{false, true, false})) // replaces
	got, want := envtest.Step(t, w, actions), envtest.Step(t, free, actions)
	must.Not(t, !slices.Equal(got.Terminated, []bool{false, true, false}) || slices.Contains(got.Truncated, true) ||
		len(got.Episodes) != 1 || got.Episodes[0].Env != 1 || got.Episodes[0].Length != 2,
		"terminated %v, truncated %v, episodes %v", got.Terminated, got.Truncated, got.Episodes)
	o := w.Spaces().Observation.Width()
	must.Same(t, got.FinalObservations[o:2*o], want.Observations[o:2*o], "the last observation")
	must.Same(t, got.Observations[2*o:], want.Observations[2*o:], "environment 2 goes on")
	must.Same(t, got.Rewards, want.Rewards, "rewards")
	must.Same(t, got.AMPObservations, want.AMPObservations, "AMP observations")
	for name, forget := range map[string]func() error{
		"stepped":  func() error { _, err := w.Step(actions); return err },
		"reset":    func() error { _, err := w.Reset(-1); return err },
		"restored": func() error { return w.RestoreState(state) },
		"nil":      func() error { return w.Terminate(nil) },
	} {
		must.Do(t, errors.Join(w.Terminate(all), forget()))
		must.Not(t, slices.Contains(envtest.Step(t, w, actions).Terminated, true), "%s: terminated", name)
	}
	must.Refuse(t, w.Terminate([]bool{true, true}), "")
}

// These are the optional interfaces of characters.
var _ interface {
	envs.Env
	envs.Observer
	envs.Renderer
	envs.Stateful
	envs.Terminator
	envs.MotionSource
	envs.Supporter
	envs.Curriculum
} = (*Character)(nil)
