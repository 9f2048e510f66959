package mujoco

import (
	"slices"
	"testing"
)

// Terminate ends the episodes that it names with the next step, and no later one; everything else of that step is as
// without. A Reset, a restored state and another call forget it.
func TestTerminate(t *testing.T) {
	begun := func() *Walker {
		w, err := NewWalker(WalkerConfig{NumEnvs: 3, Seed: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		if _, err := w.Reset(4); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w, free := begun(), begun()
	actions := [18]float32{}
	for range 3 {
		for _, x := range []*Walker{w, free} {
			if _, err := x.Step(actions[:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	state, err := w.MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	terminate := func(ends []bool) {
		t.Helper()
		if err := w.Terminate(ends); err != nil {
			t.Fatal(err)
		}
	}
	terminate([]bool{true, true, false})
	terminate([]bool{false, true, false}) // replaces
	got, err := w.Step(actions[:])
	if err != nil {
		t.Fatal(err)
	}
	want, err := free.Step(actions[:])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Terminated, []bool{false, true, false}) || slices.Contains(got.Truncated, true) {
		t.Fatalf("terminated %v, truncated %v", got.Terminated, got.Truncated)
	}
	if len(got.Episodes) != 1 || got.Episodes[0].Env != 1 || got.Episodes[0].Length != 4 {
		t.Errorf("episodes %v", got.Episodes)
	}
	o := w.Spaces().Observation.Width()
	if !slices.Equal(got.FinalObservations[o:2*o], want.Observations[o:2*o]) {
		t.Error("the last observation is not the one that the step led to")
	}
	if slices.Equal(got.Observations[o:2*o], want.Observations[o:2*o]) || !slices.Equal(got.Observations[2*o:],
		want.Observations[2*o:]) {
		t.Error("environment 1 alone begins a new episode")
	}
	if !slices.Equal(got.Rewards, want.Rewards) || !slices.Equal(got.AMPObservations, want.AMPObservations) {
		t.Error("rewards or AMP observations are others than without Terminate")
	}
	for name, forget := range map[string]func() error{
		"step":     func() error { return nil }, // the one above
		"reset":    func() error { terminate([]bool{true, true, true}); _, err := w.Reset(-1); return err },
		"restored": func() error { terminate([]bool{true, true, true}); return w.RestoreState(state) },
		"nil":      func() error { terminate([]bool{true, true, true}); return w.Terminate(nil) },
	} {
		if err := forget(); err != nil {
			t.Fatal(err)
		}
		if s, err := w.Step(actions[:]); err != nil || slices.Contains(s.Terminated, true) {
			t.Errorf("%s: %v, terminated %v", name, err, s.Terminated)
		}
	}
	if err := w.Terminate([]bool{true, true}); err == nil {
		t.Error("a wrong number of environments is accepted")
	}
}
