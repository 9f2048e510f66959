package wrappers_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// tape is an environment that returns what was recorded, and keeps the actions it gets. It can neither save its state
// nor show its observations, as environments of Gymnasium cannot.
type tape struct {
	n, width            int
	observation, action spaces.Space // Boxes of width numbers and of one, unless given
	steps               []envs.Step  // the first is that of Reset
	at                  int
	got                 []float32
}

func (e *tape) NumEnvs() int { return e.n }
func (e *tape) Spaces() spaces.Set {
	set := spaces.Set{Observation: e.observation, Action: e.action}
	if set.Observation.Kind == spaces.None {
		set.Observation = spaces.NewBox(-1000, 1000, e.width)
	}
	if set.Action.Kind == spaces.None {
		set.Action = spaces.NewBox(-1, 1, 1)
	}
	return set
}
func (e *tape) Reset(int64) (*envs.Step, error) {
	e.at = 0
	return &e.steps[0], nil
}
func (e *tape) Step(actions []float32) (*envs.Step, error) {
	e.at, e.got = e.at+1, slices.Clone(actions)
	return &e.steps[e.at], nil
}
func (e *tape) Close() error { return nil }

// gymnasium is testdata/normalize.json, see normalize.py there.
type gymnasium struct {
	Single struct {
		Steps []struct {
			Raw, Observation      []float32
			RawFinal              []float32 `json:"raw_final"`
			Final                 []float32
			Reward                float32
			NormalizedReward      float32 `json:"normalized_reward"`
			Terminated, Truncated bool
		}
		Statistics       map[string][]float64
		RewardStatistics map[string][]float64 `json:"reward_statistics"`
	}
	Several []struct {
		Rewards               []float32
		NormalizedRewards     []float32 `json:"normalized_rewards"`
		Terminated, Truncated []bool
	}
}

func golden(t testing.TB) (g gymnasium) {
	t.Helper()
	must.Do(t, json.Unmarshal(must.Read(t, "testdata/normalize.json"), &g))
	return g
}

// single is the tape of one environment.
func (g *gymnasium) single() *tape {
	e := &tape{n: 1, width: 3}
	for i, s := range g.Single.Steps {
		step := envs.Step{Observations: s.Raw}
		if i > 0 {
			step.Rewards = []float32{s.Reward}
			step.Terminated, step.Truncated = []bool{s.Terminated}, []bool{s.Truncated}
			step.FinalObservations = s.RawFinal
		}
		e.steps = append(e.steps, step)
	}
	return e
}

// close32 says where float32 numbers differ by more than one rounding, which another processor's fused operations may
// cause. Values around 0 are those of columns whose deviation is 1.
var close32 = cmpopts.EquateApprox(1e-6, 1e-6)

var likeGymnasium = wrappers.NormalizeRewardOptions{Discount: .9, Variant: wrappers.Gymnasium}

func TestNormalizeLikeGymnasium(t *testing.T) {
	g := golden(t)
	observed := must.Get(wrappers.NewNormalizeObservation(g.single(), wrappers.NormalizeObservationOptions{}))(t)
	env := must.Get(wrappers.NewNormalizeReward(observed, likeGymnasium))(t)
	for i, want := range g.Single.Steps {
		var s *envs.Step
		if i == 0 {
			s = must.Get(env.Reset(0))(t)
		} else {
			s = must.Get(env.Step([]float32{0}))(t)
			must.Is(t, cmp.Diff(want.NormalizedReward, s.Rewards[0], close32), "", "step %d: reward", i)
		}
		must.Is(t, cmp.Diff(want.Observation, s.Observations, close32), "", "step %d: observation", i)
		must.Is(t, cmp.Diff(want.Final, s.FinalObservations, close32), "", "step %d: final observation", i)
		// Showing the observation again teaches nothing.
		o, _ := envs.As[envs.Observer](env)
		must.Match(t, s.Observations, must.Get(o.Observe())(t).Observations, "step %d: observed again", i)
	}
	// Gymnasium rounds the weight that the observations' statistics begin with to float32.
	must.Equal(t, "statistics", g.Single.Statistics, observed.Statistics(), cmpopts.EquateApprox(1e-7, 0))
	got := env.Statistics()
	delete(got, envs.RunningSums)
	must.Equal(t, "statistics of rewards", g.Single.RewardStatistics, got, cmpopts.EquateApprox(1e-12, 0))
}

func TestNormalizeRewardsOfSeveralLikeGymnasium(t *testing.T) {
	g := golden(t)
	e := &tape{n: 3, width: 1, steps: []envs.Step{{Observations: make([]float32, 3)}}}
	for _, s := range g.Several {
		e.steps = append(e.steps, envs.Step{Observations: make([]float32, 3), Rewards: s.Rewards,
			Terminated: s.Terminated, Truncated: s.Truncated})
	}
	env := must.Get(wrappers.NewNormalizeReward(e, likeGymnasium))(t)
	must.Get(env.Reset(0))(t)
	for i, want := range g.Several {
		s := must.Get(env.Step(make([]float32, 3)))(t)
		must.Is(t, cmp.Diff(want.NormalizedRewards, s.Rewards, close32), "", "step %d", i)
	}
}

func TestStatisticsRefuse(t *testing.T) {
	env := probes(t, 2, wrappers.ParallelOptions{}, nil)
	observed := must.Get(wrappers.NewNormalizeObservation(env, wrappers.NormalizeObservationOptions{}))(t)
	normal := must.Get(wrappers.NewNormalizeReward(observed, wrappers.NormalizeRewardOptions{Discount: .5}))(t)
	must.Get(normal.Reset(0))(t)
	for range 7 {
		must.Get(normal.Step(make([]float32, 4)))(t)
	}
	all := envs.All[envs.RunningStatistics](normal)
	must.Is(t, len(all), 2, "statistics of %v", all)
	for _, s := range all {
		before := s.Statistics()
		for _, damage := range []func(m map[string][]float64){
			func(m map[string][]float64) { m["mean"] = nil },
			func(m map[string][]float64) { m["mean"][0] = math.NaN() },
			func(m map[string][]float64) { m["variance"] = append(m["variance"], 1) },
			func(m map[string][]float64) { m["variance"][0] = -1 },
			func(m map[string][]float64) { m["count"] = []float64{0} },
			func(m map[string][]float64) { m["other"] = []float64{1} },
		} {
			bad := s.Statistics()
			damage(bad)
			must.Refuse(t, s.SetStatistics(bad), "")
			must.Match(t, before, s.Statistics(), "%s: changed by a refusal", s.StatisticsName())
		}
		other := s.Statistics()
		other["mean"][0]++
		must.Do(t, s.SetStatistics(other))
		must.Match(t, other, s.Statistics(), "%s", s.StatisticsName())
	}
	want, other := normal.Statistics(), normal.Statistics()
	other[envs.RunningSums], other["count"], want["count"] = []float64{1, 2, 3}, []float64{99}, []float64{99}
	must.Do(t, normal.SetStatistics(other))
	must.Match(t, want, normal.Statistics(), "the sums of other environments are left out")
}

// Wrappers that keep statistics refuse what is not finite before they learn from any of a step's rows.
func TestNormalizersRefuseNaN(t *testing.T) {
	step := func() envs.Step {
		return envs.Step{Observations: []float32{1, 2, 3, 4}, Rewards: []float32{1, 2}, Terminated: []bool{true, false},
			Truncated: []bool{false, true}, FinalObservations: []float32{5, 6, 7, 8}, FinalUnknown: make([]bool, 2)}
	}
	for _, variant := range []wrappers.Variant{wrappers.Gymnasium, wrappers.SB3} {
		observed := func(inside envs.Env) (envs.Env, error) {
			return wrappers.NewNormalizeObservation(inside, wrappers.NormalizeObservationOptions{Variant: variant})
		}
		rewarded := func(inside envs.Env) (envs.Env, error) {
			return wrappers.NewNormalizeReward(inside, wrappers.NormalizeRewardOptions{Variant: variant, Discount: .5})
		}
		finals := map[wrappers.Variant]string{wrappers.Gymnasium: "ment 1, dimension 1 is +Inf"}[variant]
		for _, c := range []struct {
			make  wrap
			spoil func(s *envs.Step)
			want  string // "" if the value is not read
		}{
			{observed, func(s *envs.Step) { s.Observations[2] = nan },
				"normalize_observation: observations: environment 1, dimension 0 is NaN"},
			{observed, func(s *envs.Step) { s.FinalObservations[3] = inf }, finals},
			{observed, func(s *envs.Step) { s.FinalObservations[3], s.FinalUnknown[1] = nan, true }, ""},
			{rewarded, func(s *envs.Step) { s.Rewards[1] = inf }, "reward: the reward of environment 1 is +Inf"},
			{countEpisodes, func(s *envs.Step) { s.Rewards[1] = nan }, "the reward of environment 1 is NaN"},
		} {
			bad := step()
			c.spoil(&bad)
			env := must.Get(c.make(&tape{n: 2, width: 2, steps: []envs.Step{step(), step(), bad, step()}}))(t)
			must.Get(env.Reset(0))(t)
			must.Get(env.Step(nil))(t)
			var before map[string][]float64
			learned, ok := env.(envs.RunningStatistics)
			if ok {
				before = learned.Statistics()
			}
			_, err := env.Step(nil)
			if c.want == "" {
				must.Do(t, err)
				continue
			}
			must.Refuse(t, err, c.want)
			if ok {
				must.Match(t, before, learned.Statistics(), "%s: the statistics", c.want)
			}
			s := must.Get(env.Step(nil))(t)
			must.Not(t, !ok && (s.Episodes[0].Return != 1 || s.Episodes[1].Return != 2), "episodes %v", s.Episodes)
		}
	}
}

// A Dict of Boxes is clipped part by part, final observations too, and has the narrower limits; one with another part
// is refused.
func TestClip(t *testing.T) {
	dict := spaces.NewDict(map[string]spaces.Space{"policy": spaces.NewBox(-1, 20, 2), "proprio": spaces.Unbounded(1)})
	step := envs.Step{Observations: []float32{-9, 9, 0.5, 9, -9, 0.25}, FinalObservations: []float32{7, 1, -7, 0, 0, 0},
		Rewards: []float32{-3, 4}, Terminated: []bool{true, false}, Truncated: make([]bool, 2)}
	inside := &tape{n: 2, observation: dict, steps: []envs.Step{{Observations: step.Observations}, step}}
	observed := must.Get(wrappers.NewClipObservation(inside, -5, 5))(t)
	env := must.Get(wrappers.NewClipReward(observed, -2, 3))(t)
	parts := map[string]spaces.Space{"policy": spaces.NewBox(-1, 5, 2), "proprio": spaces.NewBox(-5, 5, 1)}
	must.Is(t, env.Spaces().Observation.Equal(spaces.NewDict(parts)), true, "the space's limits")
	want := []float32{-5, 5, 0.5, 5, -5, 0.25}
	must.Same(t, must.Get(env.Reset(0))(t).Observations, want, "the first observations")
	must.Same(t, must.Get(observed.Observe())(t).Observations, want, "shown again")
	s := must.Get(env.Step(nil))(t)
	if !slices.Equal(s.Observations, want) || !slices.Equal(s.FinalObservations, []float32{5, 1, -5, 0, 0, 0}) ||
		!slices.Equal(s.Rewards, []float32{-2, 3}) || !slices.Equal(s.RawRewards, step.Rewards) {
		t.Errorf("clipped to %+v", s)
	}
	inside.observation = spaces.NewDict(map[string]spaces.Space{"b": spaces.NewDiscrete(2)})
	must.Refused(wrappers.NewClipObservation(inside, -5, 5))(t, "")
}
