package mujoco

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// The terms of the reward are those of each walker, and change nothing but the reward.
func TestWalkerShaping(t *testing.T) {
	const n = 4
	var walkers [2]*Walker
	for i := range walkers {
		w := walkerOf(t, WalkerConfig{NumEnvs: n, EpisodeLength: 40, Workers: 2})
		envtest.Reset(t, w, 3)
		walkers[i] = w
	}
	plain, shaped := walkers[0], walkers[1]
	tree := func(weight, sharpness, alive float64) map[string]any {
		return map[string]any{"speed": map[string]any{"weight": weight, "sharpness": sharpness}, "alive": alive}
	}
	must.Equal(t, tree(1, 2, 0), shaped.RewardShaping(), "parameters")
	must.Do(t, errors.Join(shaped.SetRewardShaping(tree(3, 0.5, 0.1), []int{1, 2}),
		shaped.SetRewardShaping(map[string]any{"alive": 1.0}, []int{2})))
	terms := [n]walkerTerms{{1, 2, 0}, {3, 0.5, 0.1}, {3, 0.5, 1}, {1, 2, 0}}
	actions := make([]float32, n*6)
	for k := range 60 {
		for i := range actions {
			actions[i] = float32(math.Sin(float64(k*i) / 9))
		}
		a := envtest.Step(t, plain, actions)
		b := envtest.Step(t, shaped, actions)
		if !slices.Equal(a.Observations, b.Observations) || !slices.Equal(a.Terminated, b.Terminated) {
			t.Fatal("shaping has changed what happens")
		}
		for i, x := range terms {
			want := x.weight*math.Pow(float64(a.Rewards[i]), x.sharpness/2) + x.alive
			must.Near(t, want, float64(b.Rewards[i]), 1e-4, "step %d, environment %d: reward", k, i)
		}
	}
	for _, bad := range []struct {
		values       map[string]any
		environments []int
		words        string
	}{
		{map[string]any{"alive": 5.0}, []int{0, n}, "is not one of 4"},
		{map[string]any{"alife": 5.0}, nil, "alife"},
		{tree(1, -1, 0), []int{}, "must not be negative"},
	} {
		err := shaped.SetRewardShaping(bad.values, bad.environments)
		must.Fail(t, err, bad.words)
	}
	must.Do(t, shaped.SetRewardShaping(map[string]any{"alive": 0.25}, nil))
	if d := cmp.Diff(tree(1, 2, 0.25), shaped.RewardShaping()); d != "" ||
		shaped.task.terms[2] != (walkerTerms{3, 0.5, 0.25}) || shaped.task.terms[0] != (walkerTerms{1, 2, 0.25}) {
		t.Error(d, shaped.task.terms)
	}
}
