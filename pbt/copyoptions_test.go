package pbt

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
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

// The running statistics of an environment's wrappers go with the weights, as the agent's scalers do, and stay where these
// stay, whatever becomes of the environment's state.
func TestCopiesOfWrapperStatistics(t *testing.T) {
	name := layout.WrapperStatistic(0, "normalize_reward", "mean")
	snapshot := func(x float64) *checkpoint.Snapshot {
		array := checkpoint.ArrayFloat64([]int64{1}, []float64{x})
		return &checkpoint.Snapshot{
			Arrays: map[string]checkpoint.Array{name: array, "value_preprocessor/running_mean": array, layout.EnvironmentState: array},
			Values: map[string]any{layout.OptimizerSteps: map[string]any{"optimizer": int64(5)}},
		}
	}
	for _, x := range []struct {
		h                          CopyOptions
		statistics, scaler, inside float64 // 1 is the source's, 2 the member's own
	}{
		{CopyOptions{}, 1, 1, 1},
		{CopyOptions{Environment: KeepPart}, 1, 1, 2},
		{CopyOptions{Normalizers: KeepPart}, 2, 2, 1},
		{CopyOptions{Normalizers: KeepPart, Environment: KeepPart}, 2, 2, 2},
	} {
		got, err := x.h.combine(snapshot(1), snapshot(2))
		if err != nil {
			t.Fatal(err)
		}
		for array, want := range map[string]float64{name: x.statistics, "value_preprocessor/running_mean": x.scaler, layout.EnvironmentState: x.inside} {
			if v, err := got.Float64s(array, 1); err != nil || v[0] != want {
				t.Errorf("%+v: %s is of %v, want %g (%v)", x.h, array, v, want, err)
			}
		}
	}
}

func TestCopyOptionsAreChecked(t *testing.T) {
	for want, h := range map[string]CopyOptions{
		`inherit.optimizer is "forget"; give one of ["copy" "keep" "reset" "decay"]`: {Optimizer: "forget"},
		`inherit.normalizers is "reset"`:                                             {Normalizers: ResetPart},
		`inherit.schedule is "decay"`:                                                {Schedule: DecayPart},
		`inherit.environment is "reset"`:                                             {Environment: ResetPart},
		`inherit.buffers is "decay"`:                                                 {Buffers: DecayPart},
		`inherit.moment_decay is 0; give a factor`:                                   {Optimizer: DecayPart},
		`inherit.moment_decay is 1.5`:                                                {Optimizer: DecayPart, MomentDecay: 1.5},
		`inherit.moment_decay is NaN`:                                                {Optimizer: DecayPart, MomentDecay: math.NaN()},
		`moment_decay is 0.5, but inherit.optimizer is "reset"`:                      {Optimizer: ResetPart, MomentDecay: 0.5},
		`moment_decay is 0.5, but inherit.optimizer is ""; make `:                    {MomentDecay: 0.5},
	} {
		c := newColony(2)
		c.opt.Copy = h
		if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
