package wrappers_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// shaped is a probe with parameters and a curriculum.
type shaped struct {
	*probe
	weight, bonus float64
	level         string
	refuses       bool
	panics        bool // the next SetRewardShaping, after it has set a part
}

func (s *shaped) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	_, terminated, truncated, err = s.probe.Step(action, out)
	return s.weight, terminated, truncated, err
}

func (s *shaped) RewardShaping() map[string]any {
	return map[string]any{"weight": s.weight, "terms": map[string]any{"bonus": s.bonus}}
}

func (s *shaped) SetRewardShaping(values map[string]any) error {
	if s.refuses {
		return errors.New("no")
	}
	if s.panics {
		s.panics, s.weight = false, 9
		panic("halfway")
	}
	return envs.AssignShaping(values, map[string]*float64{"weight": &s.weight, "terms.bonus": &s.bonus})
}

func (s *shaped) CurriculumState() ([]byte, error) { return []byte(s.level), nil }

func (s *shaped) SetCurriculumState(b []byte) error {
	if s.refuses {
		return errors.New("no")
	}
	s.level = string(b)
	return nil
}

// shapedBatch is a batch behind every wrapper that there is.
func shapedBatch(t *testing.T, n int) (envs.Env, []*shaped) {
	t.Helper()
	var all []*shaped
	env, err := wrappers.NewParallel(n, func(i int) (envs.Single, error) {
		s := &shaped{probe: &probe{index: i, length: 3 + i}, weight: 1, bonus: 2, level: fmt.Sprint(i)}
		all = append(all, s)
		return wrappers.NewTimeLimit(s, 40)
	}, wrappers.ParallelOptions{Workers: 2})
	checked := wrapped(t, env, err, everyWrapper(t.TempDir()))
	t.Cleanup(func() { must.Do(t, checked.Close()) })
	return checked, all
}

func weights(all []*shaped) (out []float64) {
	for _, s := range all {
		out = append(out, s.weight)
	}
	return out
}

func TestShapingReachesEveryEnvironment(t *testing.T) {
	env, all := shapedBatch(t, 4)
	shaper, _ := envs.As[envs.RewardShaper](env)
	defaults := map[string]any{"weight": 1.0, "terms": map[string]any{"bonus": 2.0}}
	must.Match(t, defaults, shaper.RewardShaping(), "parameters")
	set := func(values map[string]any, environments []int, want ...float64) {
		t.Helper()
		must.Do(t, shaper.SetRewardShaping(values, environments))
		must.Same(t, weights(all), want, "weights")
	}
	set(map[string]any{"weight": 3.0}, []int{0, 2}, 3, 1, 3, 1)
	must.Match(t, defaults, shaper.RewardShaping(), "what single environments have is not what all were given")
	set(map[string]any{"weight": 4.0}, []int{}, 3, 1, 3, 1) // only checked
	set(map[string]any{"weight": 5.0}, nil, 5, 5, 5, 5)
	must.Match(t, map[string]any{"weight": 5.0, "terms": map[string]any{"bonus": 2.0}}, shaper.RewardShaping(), "now")
	// While environments step on several goroutines, parameters change between steps.
	must.Get(env.Reset(1))(t)
	actions := make([]float32, 4*2)
	for k := range 30 {
		set(map[string]any{"weight": float64(k)}, []int{3}, 5, 5, 5, float64(k))
		must.Get(env.Step(actions))(t)
	}
}

func TestShapingIsAllOrNothing(t *testing.T) {
	env, all := shapedBatch(t, 4)
	shaper, _ := envs.As[envs.RewardShaper](env)
	all[2].refuses = true
	for _, test := range []struct {
		values       map[string]any
		environments []int
		words        string
	}{
		{map[string]any{"weight": 7.0}, nil, "environment 2"},
		{map[string]any{"weight": 7.0}, []int{1, 1, 2}, "environment 2"},
		{map[string]any{"weight": 7.0}, []int{1, 4}, "environment 4 is not one of 4"},
		{map[string]any{"wait": 1}, []int{}, `no reward parameter "wait"`},
	} {
		must.Refuse(t, shaper.SetRewardShaping(test.values, test.environments), test.words)
		must.Same(t, weights(all), []float64{1, 1, 1, 1}, "%v: weights", test.environments)
	}
	all[0].panics = true
	must.Refuse(t, shaper.SetRewardShaping(map[string]any{"weight": 7.0}, []int{}), "halfway")
	must.Same(t, weights(all), []float64{1, 1, 1, 1}, "weights after a panic")
}

func TestCurriculumReachesEveryEnvironment(t *testing.T) {
	env, all := shapedBatch(t, 3)
	levels := func(all []*shaped) (out string) {
		for _, s := range all {
			out += s.level + " "
		}
		return out
	}
	curriculum, _ := envs.As[envs.Curriculum](env)
	all[1].level = ""
	state := must.Get(curriculum.CurriculumState())(t)
	for _, s := range all {
		s.level = "x"
	}
	all[2].refuses = true
	must.Refuse(t, curriculum.SetCurriculumState(state), "")
	must.Is(t, levels(all), "x x x ", "refused")
	all[2].refuses = false
	must.Do(t, curriculum.SetCurriculumState(state))
	must.Is(t, levels(all), "0  2 ", "levels")
	more, other := shapedBatch(t, 5)
	curriculum, _ = envs.As[envs.Curriculum](more)
	must.Do(t, curriculum.SetCurriculumState(state))
	must.Is(t, levels(other), "0  2 0  ", "into more environments")
}

func FuzzParallelCurriculum(f *testing.F) {
	make := func(t testing.TB) *wrappers.Parallel {
		return must.Get(wrappers.NewParallel(2, func(i int) (envs.Single, error) {
			return &shaped{probe: &probe{index: i, length: 3}, level: fmt.Sprint(rand.IntN(9))}, nil
		}, wrappers.ParallelOptions{Workers: 1}))(t)
	}
	seed := make(f)
	state, err := seed.CurriculumState()
	must.Do(f, errors.Join(err, seed.Close()))
	f.Add(state)
	f.Add(state[:len(state)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		env := make(t)
		defer env.Close()
		before, _ := env.CurriculumState()
		err := env.SetCurriculumState(b)
		if after, _ := env.CurriculumState(); err != nil && !slices.Equal(before, after) {
			t.Fatalf("refused (%v), and changed", err)
		}
	})
}

// A batch whose environments refuse a state goes on as if nothing had been asked.
func TestRestoreUndoesWhenAnEnvironmentRefuses(t *testing.T) {
	donor := probes(t, 4, wrappers.ParallelOptions{Seed: 1}, nil)
	must.Get(donor.Reset(-1))(t)
	state := must.Get(donor.MarshalState())(t)
	must.Refuse(t, probes(t, 3, wrappers.ParallelOptions{}, nil).RestoreState(state), "of 4 environments, here are 3")
	var last *probe
	env := probes(t, 4, wrappers.ParallelOptions{Seed: 2}, func(i int, p *probe) { last = p })
	twin := probes(t, 4, wrappers.ParallelOptions{Seed: 2}, nil)
	actions := make([]float32, 8)
	for _, e := range []envs.Env{env, twin} {
		must.Get(e.Reset(-1))(t)
		must.Get(e.Step(actions))(t)
	}
	last.badState = true
	must.Refuse(t, env.RestoreState(state), "environment 3 (*wrappers_test.probe): probe: bad state")
	for range 20 {
		a, b := must.Get(twin.Step(actions))(t), must.Get(env.Step(actions))(t)
		must.Same(t, a.Observations, b.Observations, "a refused state changed how it goes on")
	}
}

func FuzzRestoreState(f *testing.F) {
	env := must.Get(classic.NewPendulum(classic.Config{NumEnvs: 2, Seed: 1}))(f)
	statistics := must.Get(wrappers.NewEpisodeStatistics(env))(f)
	s := must.Open(wrappers.NewSkills(statistics, wrappers.SkillsOptions{Size: 2}))(f)
	must.Get(s.Reset(-1))(f)
	state := must.Get(s.MarshalState())(f)
	f.Add(state)
	f.Add(state[:len(state)/2])
	flipped := slices.Clone(state)
	flipped[len(flipped)/3] ^= 0x80
	f.Add(flipped)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := must.Get(s.MarshalState())(t)
		if s.RestoreState(b) == nil {
			before = b
		}
		must.Same(t, must.Get(s.MarshalState())(t), before, "the state")
	})
}
