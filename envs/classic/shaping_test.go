package classic

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Shaping adds its terms to the reward and nothing else; the true objective is the return without them.
func TestMountainCarShaping(t *testing.T) {
	plain, shaped := &MountainCar{}, &MountainCar{}
	must.Do(t, shaped.SetRewardShaping(map[string]any{"height": 0.5, "velocity": 2.0}))
	if got := shaped.RewardShaping(); got["height"] != 0.5 || got["velocity"] != 2.0 {
		t.Errorf("parameters %v", got)
	}
	row := func() envs.Row { return envs.Row{Observation: make([]float32, 2)} }
	a, b := row(), row()
	sum, ended := 0.0, false
	must.Do(t, errors.Join(plain.Reset(rand.New(rand.NewPCG(1, 1)), a), shaped.Reset(rand.New(rand.NewPCG(1, 1)),
		b)))
	for range 300 {
		action := []float32{1}
		if a.Observation[1] < 0 { // rocking reaches the flag
			action[0] = -1
		}
		r1, end1, _, err1 := plain.Step(action, a)
		r2, end2, _, err2 := shaped.Step(action, b)
		must.Do(t, errors.Join(err1, err2))
		if !slices.Equal(a.Observation, b.Observation) || end1 != end2 {
			t.Fatal("shaping has changed what happens")
		}
		height, speed := 0.5+0.5*math.Sin(3*plain.x), math.Abs(plain.v)/0.07
		must.Near(t, r2, r1+0.5*height+2*speed, 1e-12, "reward")
		if sum += r1; end1 {
			ended = true
			break
		}
	}
	if !ended || sum < 50 {
		t.Fatalf("the flag is not reached: return %g", sum)
	}
	for _, m := range []*MountainCar{plain, shaped} {
		must.Near(t, m.EpisodeMetrics()["true_objective"], sum, 1e-12, "true objective")
	}
	for _, bad := range []map[string]any{{"height": math.Inf(1)}, {"height": 9.0, "hight": 1.0}} {
		if err := shaped.SetRewardShaping(bad); err == nil || shaped.height != 0.5 {
			t.Errorf("%v: %v, height %g", bad, err, shaped.height)
		}
	}
	// The true objective goes with the state, the parameters do not.
	state := must.Get(shaped.MarshalState())(t)
	other := &MountainCar{velocity: 7}
	if err := other.RestoreState(state); err != nil || other.objective != shaped.objective || other.velocity != 7 {
		t.Errorf("restored (%v): objective %g, velocity %g", err, other.objective, other.velocity)
	}
}
