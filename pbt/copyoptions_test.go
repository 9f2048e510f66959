package pbt

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Copies of gorl's agents are tested with them, in internal/test/populations: a test program with
// libtorch in it takes too long to start for tests that kill processes.

// TestCopiesOfOthers copies snapshots that are not of gorl's agents as they are, and gives a member without anything
// of its own the source's.
func TestCopiesOfOthers(t *testing.T) {
	h := CopyOptions{Optimizer: ResetPart, Normalizers: KeepPart, Environment: KeepPart, Buffers: KeepPart}
	array := checkpoint.ArrayFloat32([]int64{1}, []float32{3})
	foreign := &checkpoint.Snapshot{Arrays: map[string]checkpoint.Array{"environment/x": array}, Values: map[string]any{"rollout_steps": 4}}
	got, err := h.combine(foreign, &checkpoint.Snapshot{})
	if err != nil || got != foreign {
		t.Errorf("got %+v, %v", got, err)
	}
	source := &checkpoint.Snapshot{
		Arrays: map[string]checkpoint.Array{"optimizer/exp_avg/w": array, "value_preprocessor/running_mean": array, "environment/state": array, "rollout/x": array},
		Values: map[string]any{"optimizer_steps": map[string]any{"optimizer": 5}, "rollout_steps": 4},
	}
	got, err = (CopyOptions{Optimizer: KeepPart, Normalizers: KeepPart, Environment: KeepPart, Buffers: KeepPart}).combine(source, nil)
	if err != nil || len(got.Arrays) != 4 || got.Values["rollout_steps"] != 4 {
		t.Errorf("a member without its own gets %+v, %v", got, err)
	}
	if _, err := h.combine(source, foreign); err == nil || !strings.Contains(err.Error(), "the member has none") {
		t.Errorf("the error is %v", err)
	}
	source.Arrays["optimizer/exp_avg/w"] = checkpoint.ArrayFloat64([]int64{1}, []float64{3})
	if _, err := h.combine(source, nil); err == nil || !strings.Contains(err.Error(), `array "optimizer/exp_avg/w"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestCopyOptionsAreChecked(t *testing.T) {
	for want, h := range map[string]CopyOptions{
		`Copy.Optimizer is "forget"; give one of ["copy" "keep" "reset" "decay"]`: {Optimizer: "forget"},
		`Copy.Normalizers is "reset"`:                         {Normalizers: ResetPart},
		`Copy.Schedule is "decay"`:                            {Schedule: DecayPart},
		`Copy.Environment is "reset"`:                         {Environment: ResetPart},
		`Copy.Buffers is "decay"`:                             {Buffers: DecayPart},
		`Copy.MomentDecay is 0; give a factor`:                {Optimizer: DecayPart},
		`Copy.MomentDecay is 1.5`:                             {Optimizer: DecayPart, MomentDecay: 1.5},
		`Copy.MomentDecay is NaN`:                             {Optimizer: DecayPart, MomentDecay: math.NaN()},
		`MomentDecay is 0.5, but Copy.Optimizer is "reset"`:   {Optimizer: ResetPart, MomentDecay: 0.5},
		`MomentDecay is 0.5, but Copy.Optimizer is ""; make `: {MomentDecay: 0.5},
	} {
		c := newColony(2)
		c.opt.Copy = h
		if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
