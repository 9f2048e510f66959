package wrappers_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

func TestTimeLimit(t *testing.T) {
	single := &probe{length: 4}
	limited := must.Get(wrappers.NewTimeLimit(single, 3))(t)
	out := envs.Row{Observation: make([]float32, 3), State: make([]float32, 1), AMPObservation: make([]float32, 1)}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, length := range []int{4, 3, 2} {
		single.length = length
		must.Do(t, limited.Reset(rng, out))
		for step := 1; ; step++ {
			_, terminated, truncated, err := limited.Step([]float32{0, 0}, out)
			must.Not(t, err != nil || terminated != (step == length) || truncated != (step == 3 && length > 3),
				"length %d, step %d: terminated %t, truncated %t, %v", length, step, terminated, truncated, err)
			if terminated || truncated {
				break
			}
		}
	}
	if m, ok := envs.SingleAs[envs.Metered](limited); !ok || m.EpisodeMetrics()["episode"] != 3 {
		t.Error("the metrics inside are hidden")
	}
}

func TestRewardScale(t *testing.T) {
	scaled := must.Get(wrappers.NewRewardScale(probes(t, 2, wrappers.ParallelOptions{}, nil), .5))(t)
	must.Get(scaled.Reset(0))(t)
	actions := []float32{3, 0, -4, 0}
	must.Get(scaled.Step(actions))(t)
	s := must.Get(scaled.Step(actions))(t)
	if !slices.Equal(s.Rewards, []float32{1.5, -2}) || len(s.Episodes) != 1 || s.Episodes[0].Return != 6 {
		t.Errorf("rewards %v, episodes %+v; the return must be the unscaled 6", s.Rewards, s.Episodes)
	}
}

// acts is an environment of two with an action space.
func acts(space spaces.Space) *tape {
	return &tape{n: 2, width: 1, action: space, steps: make([]envs.Step, 2)}
}

func TestActionWrappers(t *testing.T) {
	space := func(low, high []float32) spaces.Space {
		return spaces.Space{Kind: spaces.Box, Shape: []int{2}, Low: low, High: high}
	}
	limits := space([]float32{-2, 0}, []float32{2, 10})
	half, fixed := space([]float32{-2, 0}, nil), space([]float32{-2, 1}, []float32{2, 1})
	wide := spaces.NewBox(-math.MaxFloat32, math.MaxFloat32, 2)
	to := func(low, high float64) wrap {
		return func(e envs.Env) (envs.Env, error) { return wrappers.NewClipActionTo(e, low, high) }
	}
	unit := spaces.NewBox(-1, 1, 2)
	for i, c := range []struct {
		wrap          wrap
		inside        spaces.Space
		outside       spaces.Space
		actions, want []float32
	}{
		{clipAction, limits, limits, []float32{-3, 11, 1.5, -1}, []float32{-2, 10, 1.5, 0}},
		{clipAction, fixed, fixed, []float32{-3, 11, 1.5, -1}, []float32{-2, 1, 1.5, 1}},
		{to(-1, 1), limits, space([]float32{-1, 0}, []float32{1, 1}), []float32{-3, 9, 0, -1}, []float32{-1, 1, 0, 0}},
		{to(-1, math.Inf(1)), half, space([]float32{-1, 0}, nil), []float32{-3, 11, 1, -1}, []float32{-1, 11, 1, 0}},
		{rescaleAction, limits, unit, []float32{-1, -1, 1, 1}, []float32{-2, 0, 2, 10}},
		{rescaleAction, limits, unit, []float32{0, .5, -3, 7}, []float32{0, 7.5, -2, 10}},
		{rescaleAction, wide, unit, []float32{-1, 1, 0, -.5},
			[]float32{-math.MaxFloat32, math.MaxFloat32, 0, -math.MaxFloat32 / 2}},
	} {
		inside := acts(c.inside)
		env := must.Get(c.wrap(inside))(t)
		given := slices.Clone(c.actions)
		must.Get(env.Step(given))(t)
		must.Same(t, inside.got, c.want, "case %d: the actions that arrive", i)
		must.Same(t, given, c.actions, "case %d: the caller's actions", i)
		must.Is(t, env.Spaces().Action.Equal(c.outside), true, "case %d: the action space", i)
	}
}

func TestConstructorsRefuse(t *testing.T) {
	discrete, box := acts(spaces.NewDiscrete(2)), acts(spaces.Unbounded(2))
	choices := &tape{n: 1, observation: spaces.NewDiscrete(2)}
	err := func(_ any, err error) error { return err }
	reward := func(o wrappers.NormalizeRewardOptions) error { return err(wrappers.NewNormalizeReward(box, o)) }
	record := func(o wrappers.RecordOptions) error {
		o.Dir = t.TempDir()
		return err(wrappers.NewRecord(box, o))
	}
	skill := func(o wrappers.SkillsOptions) error { return err(wrappers.NewSkills(box, o)) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{err(wrappers.NewTimeLimit(&probe{}, 0)), "time limit is 0 steps"},
		{err(wrappers.NewRewardScale(box, 0)), "reward scale is 0"},
		{err(wrappers.NewClipAction(discrete)), "needs a Box of actions, the action space is Discrete(2)"},
		{err(wrappers.NewClipActionTo(box, 1, -1)), "low must be below high"},
		{err(wrappers.NewClipActionTo(acts(spaces.NewBox(3, 4, 2)), -1, 1)), "leaves nothing of the action space"},
		{err(wrappers.NewRescaleAction(box)), "needs finite limits"},
		{reward(wrappers.NormalizeRewardOptions{Discount: 1.1}), "discount is 1.1"},
		{reward(wrappers.NormalizeRewardOptions{Variant: "x"}), `variant is "x"; it must be "gymnasium" or "sb3"`},
		{err(normalizeObservation(choices)), "needs a Box of observations, the observation space is Discrete(2)"},
		{err(wrappers.NewClipObservation(box, 1, 1)), "low is 1 and high 1"},
		{err(wrappers.NewClipReward(box, 0, math.NaN())), "low is 0 and high NaN"},
		{skill(wrappers.SkillsOptions{Size: 1}), "2 dimensions"},
		{skill(wrappers.SkillsOptions{MinSteps: 9, MaxSteps: 8}), "MinSteps ≤"},
		{err(wrappers.NewRecord(box, wrappers.RecordOptions{})), "set Dir"},
		{record(wrappers.RecordOptions{Env: 2}), "environment to record is 2; it must be 0 to 1"},
		{record(wrappers.RecordOptions{MaxSteps: -1}), "MaxSteps -1"},
	} {
		must.Refuse(t, c.err, "wrappers: ", c.want)
	}
}

// silent hides the episodes that a batch reports.
type silent struct{ *wrappers.Parallel }

func (s silent) Step(actions []float32) (*envs.Step, error) {
	step, err := s.Parallel.Step(actions)
	if err != nil {
		return nil, err
	}
	quiet := *step
	quiet.Episodes = nil
	return &quiet, nil
}

func TestEpisodeStatistics(t *testing.T) {
	three := func() *wrappers.Parallel { return probes(t, 3, wrappers.ParallelOptions{}, nil) }
	reporting := three()
	counted, both := must.Get(countEpisodes(silent{three()}))(t), must.Get(countEpisodes(three()))(t)
	ended := 0
	for _, seed := range []int64{0, 1} { // a Reset in the middle of episodes begins to count anew
		for _, e := range []envs.Env{reporting, counted, both} {
			must.Get(e.Reset(seed))(t)
		}
		for k := range 15 {
			actions := []float32{float32(k), 0, 1, 0, -2, 0}
			want, got, full := must.Get(reporting.Step(actions))(t), must.Get(counted.Step(actions))(t),
				must.Get(both.Step(actions))(t)
			must.Match(t, want.Episodes, full.Episodes, "step %d: with metrics", k)
			plain := slices.Clone(want.Episodes)
			for i := range plain {
				plain[i].Metrics = nil
			}
			must.Match(t, plain, got.Episodes, "step %d", k)
			ended += len(got.Episodes)
		}
	}
	must.Not(t, ended < 20, "only %d episodes ended", ended)
}

func TestNormalizeReward(t *testing.T) {
	const discount = .8
	env := probes(t, 3, wrappers.ParallelOptions{}, nil)
	normal := must.Get(wrappers.NewNormalizeReward(env, wrappers.NormalizeRewardOptions{Discount: discount}))(t)
	must.Get(normal.Reset(0))(t)
	rng := rand.New(rand.NewPCG(3, 3))
	actions, sums := make([]float32, 6), make([]float64, 3)
	var n, total, squares float64 // of every discounted sum so far
	for k := range 300 {
		for i := range actions {
			actions[i] = 5 + 30*rng.Float32()
		}
		if k == 299 {
			normal.Freeze(true)
		}
		s := must.Get(normal.Step(actions))(t)
		for i := range sums {
			sums[i] = discount*sums[i] + float64(actions[2*i])
			if k < 299 {
				n, total, squares = n+1, total+sums[i], squares+sums[i]*sums[i]
			}
			if s.Terminated[i] {
				sums[i] = 0
			}
		}
		deviation := math.Sqrt(squares/n - total/n*total/n)
		for i, r := range s.Rewards {
			// The statistics begin with a ten-thousandth of a value 0, which is felt in the first steps.
			want := float64(actions[2*i]) / deviation
			must.Not(t, k > 3 && math.Abs(float64(r)-want) > 1e-4*want, "step %d: reward %g, want %g", k, r, want)
		}
	}
}
