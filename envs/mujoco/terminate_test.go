package mujoco

import (
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Terminate ends the episodes that it names with the next step, and no later one; everything else of that step is as
// without. A Reset, a restored state and another call forget it.
func TestTerminate(t *testing.T) {
	cfg := WalkerConfig{NumEnvs: 3, Seed: 4}
	w, free := walkerOf(t, cfg), walkerOf(t, cfg)
	actions := make([]float32, 18)
	for _, x := range []*Walker{w, free} {
		envtest.Reset(t, x, 4)
		envtest.Step(t, x, actions)
	}
	state := envtest.State(t, w)
	terminate := func(ends ...bool) {
		t.Helper()
		must.Do(t, w.Terminate(ends))
	}
	terminate(true, true, false)
	terminate(false, true, false) // replaces
	got, want := envtest.Step(t, w, actions), envtest.Step(t, free, actions)
	if !slices.Equal(got.Terminated, []bool{false, true, false}) || slices.Contains(got.Truncated, true) ||
		len(got.Episodes) != 1 || got.Episodes[0].Env != 1 || got.Episodes[0].Length != 2 {
		t.Fatalf("terminated %v, truncated %v, episodes %v", got.Terminated, got.Truncated, got.Episodes)
	}
	o := w.Spaces().Observation.Width()
	must.Same(t, got.FinalObservations[o:2*o], want.Observations[o:2*o],
		"the last observation is not the one that the step led to")
	if slices.Equal(got.Observations[o:2*o], want.Observations[o:2*o]) ||
		!slices.Equal(got.Observations[2*o:], want.Observations[2*o:]) {
		t.Error("environment 1 alone begins a new episode")
	}
	if !slices.Equal(got.Rewards, want.Rewards) || !slices.Equal(got.AMPObservations, want.AMPObservations) {
		t.Error("rewards or AMP observations are others than without Terminate")
	}
	for name, forget := range map[string]func() error{
		"step":     func() error { return nil }, // the one above
		"reset":    func() error { terminate(true, true, true); _, err := w.Reset(-1); return err },
		"restored": func() error { terminate(true, true, true); return w.RestoreState(state) },
		"nil":      func() error { terminate(true, true, true); return w.Terminate(nil) },
	} {
		must.Do(t, forget())
		if s := envtest.Step(t, w, actions); slices.Contains(s.Terminated, true) {
			t.Errorf("%s: terminated %v", name, s.Terminated)
		}
	}
	must.Fail(t, w.Terminate([]bool{true, true}), "")
}
