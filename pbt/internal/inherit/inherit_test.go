package inherit

import (
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Copies of gorl's agents are tested with them, in internal/test/populations: a test program with
// libtorch in it takes too long to start for tests that kill processes.

// TestCombine copies snapshots that are not of gorl's agents as they are, and gives a member without anything of its
// own the source's. The running statistics of an environment's wrappers go with the weights, as the agent's scalers do,
// whatever becomes of the environment's state.
func TestCombine(t *testing.T) {
	statistic, scaler := layout.WrapperStatistic(0, "normalize_reward", "mean"), "value_preprocessor/running_mean"
	moment := "optimizer/exp_avg/w"
	snapshot := func(x float32) *checkpoint.Snapshot {
		s := &checkpoint.Snapshot{Arrays: map[string]checkpoint.Array{},
			Values: map[string]any{layout.OptimizerSteps: map[string]any{"optimizer": int64(5)}, "rollout_steps": 4}}
		for _, name := range []string{statistic, scaler, layout.EnvironmentState, moment} {
			s.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{x})
		}
		return s
	}
	for _, x := range []struct {
		options                            Parts
		own                                *checkpoint.Snapshot
		statistic, scaler, inside, moments float32 // 1 is the source's, 2 the member's own
	}{
		{Parts{}, snapshot(2), 1, 1, 1, 1},
		{Parts{Environment: Keep}, snapshot(2), 1, 1, 2, 1},
		{Parts{Optimizer: Keep, Buffers: Keep}, snapshot(2), 1, 1, 1, 2},
		{Parts{Optimizer: Decay, MomentDecay: 0.5}, snapshot(2), 1, 1, 1, 0.5},
		{Parts{Optimizer: Keep, Normalizers: Keep, Environment: Keep, Buffers: Keep}, nil, 1, 1,
			1, 1},
	} {
		got := must.Get(x.options.Combine(snapshot(1), x.own))(t)
		for name, want := range map[string]float32{statistic: x.statistic, scaler: x.scaler,
			layout.EnvironmentState: x.inside, moment: x.moments} {
			if v, err := got.Arrays[name].Float32s(); err != nil || v[0] != want {
				t.Errorf("%+v: %s is of %v, want %g (%v)", x.options, name, v, want, err)
			}
		}
	}

	o := Parts{Optimizer: Reset, Normalizers: Keep, Environment: Keep, Buffers: Keep}
	foreign := &checkpoint.Snapshot{Arrays: map[string]checkpoint.Array{
		"environment/x": checkpoint.ArrayFloat32([]int64{1}, []float32{3})}, Values: map[string]any{"rollout_steps": 4}}
	if got, err := o.Combine(foreign, &checkpoint.Snapshot{}); err != nil || got != foreign {
		t.Errorf("got %+v, %v", got, err)
	}
	source := snapshot(1)
	must.Refused(o.Combine(source, foreign))(t, "the member has none")
	source.Arrays[moment] = checkpoint.ArrayFloat64([]int64{1}, []float64{3})
	must.Refused(o.Combine(source, nil))(t, `array "optimizer/exp_avg/w"`)
}
