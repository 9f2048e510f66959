package wrappers_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/spaces"
)

func TestTimeLimit(t *testing.T) {
	single := &probe{length: 4}
	limited, err := wrappers.NewTimeLimit(single, 3)
	if err != nil {
		t.Fatal(err)
	}
	out := envs.Row{Observation: make([]float32, 3), State: make([]float32, 1), AMPObservation: make([]float32, 1)}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, length := range []int{4, 3, 2} {
		single.length = length
		if err := limited.Reset(rng, out); err != nil {
			t.Fatal(err)
		}
		for step := 1; ; step++ {
			_, terminated, truncated, err := limited.Step([]float32{0, 0}, out)
			if err != nil {
				t.Fatal(err)
			}
			if wantTerminated, wantTruncated := step == length, step == 3 && length > 3; terminated != wantTerminated || truncated != wantTruncated {
				t.Errorf("length %d, step %d: terminated %t, truncated %t", length, step, terminated, truncated)
			}
			if terminated || truncated {
				break
			}
		}
	}
	if m, ok := envs.SingleAs[envs.Metered](limited); !ok || m.EpisodeMetrics()["episode"] != 3 {
		t.Error("the metrics inside are hidden")
	}
	if p, ok := envs.SingleAs[*probe](limited); !ok || p != single {
		t.Error("the environment inside is hidden")
	}
}

func TestTimeLimitState(t *testing.T) {
	create := func(limit int) *wrappers.TimeLimit {
		limited, err := wrappers.NewTimeLimit(&classic.Pendulum{}, limit)
		if err != nil {
			t.Fatal(err)
		}
		return limited
	}
	a, b := create(5), create(5)
	out := envs.Row{Observation: make([]float32, 3)}
	if err := a.Reset(rand.New(rand.NewPCG(1, 1)), out); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, _, err := a.Step([]float32{1}, out); err != nil {
			t.Fatal(err)
		}
	}
	state, err := a.MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	if err := create(3).RestoreState(state); err == nil || !strings.Contains(err.Error(), "3 steps were taken of an episode of at most 3") {
		t.Errorf("error %v", err)
	}
	if err := b.RestoreState(state); err != nil {
		t.Fatal(err)
	}
	for step, want := range []bool{false, true} {
		if _, _, truncated, err := b.Step([]float32{1}, out); err != nil || truncated != want {
			t.Errorf("step %d after restoring: truncated %t, %v", step, truncated, err)
		}
	}
}

func TestRewardScale(t *testing.T) {
	env := probes(t, 2, wrappers.ParallelOptions{}, nil)
	scaled, err := wrappers.NewRewardScale(env, .5)
	if err != nil {
		t.Fatal(err)
	}
	must(t)(scaled.Reset(0))
	actions := []float32{3, 0, -4, 0}
	must(t)(scaled.Step(actions))
	s := must(t)(scaled.Step(actions))
	if !slices.Equal(s.Rewards, []float32{1.5, -2}) {
		t.Errorf("rewards %v", s.Rewards)
	}
	if len(s.Episodes) != 1 || s.Episodes[0].Return != 6 {
		t.Errorf("episodes %+v, want the unscaled return 6", s.Episodes)
	}
	if _, err := scaled.Step(nil); err == nil {
		t.Error("the error inside was lost")
	}
}

// spy is an environment that keeps the actions it gets and nothing else.
type spy struct {
	action spaces.Space
	got    []float32
}

func (s *spy) NumEnvs() int { return 2 }
func (s *spy) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(1), Action: s.action}
}
func (s *spy) Reset(int64) (*envs.Step, error) {
	return &envs.Step{Observations: make([]float32, 2)}, nil
}
func (s *spy) Step(actions []float32) (*envs.Step, error) {
	s.got = slices.Clone(actions)
	return &envs.Step{Observations: make([]float32, 2), Rewards: []float32{1, 2}, Terminated: make([]bool, 2), Truncated: make([]bool, 2)}, nil
}
func (s *spy) Close() error { return nil }

// blind is an environment whose observations are no Box.
type blind struct{ envs.Env }

func (blind) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.NewDiscrete(2), Action: spaces.Unbounded(1)}
}

func TestActionWrappers(t *testing.T) {
	limits := spaces.Space{Kind: spaces.Box, Shape: []int{2}, Low: []float32{-2, 0}, High: []float32{2, 10}}
	half := spaces.Space{Kind: spaces.Box, Shape: []int{2}, Low: []float32{-2, 0}}
	wide := spaces.NewBox(-math.MaxFloat32, math.MaxFloat32, 2)
	clip := func(e envs.Env) (envs.Env, error) { return wrappers.NewClipAction(e) }
	to := func(low, high float64) func(e envs.Env) (envs.Env, error) {
		return func(e envs.Env) (envs.Env, error) { return wrappers.NewClipActionTo(e, low, high) }
	}
	rescale := func(e envs.Env) (envs.Env, error) { return wrappers.NewRescaleAction(e) }
	for _, c := range []struct {
		name          string
		wrap          func(envs.Env) (envs.Env, error)
		space         spaces.Space
		actions, want []float32
	}{
		{"clip", clip, limits, []float32{-3, 11, 1.5, -1}, []float32{-2, 10, 1.5, 0}},
		{"clip", clip, half, []float32{-3, 11, 1.5, -1}, []float32{-2, 11, 1.5, 0}},
		{"clip", clip, spaces.Unbounded(2), []float32{-3, 1e9, 1.5, -1}, []float32{-3, 1e9, 1.5, -1}},
		{"clip to -1", to(-1, 1), limits, []float32{-3, 11, .5, -1}, []float32{-1, 1, .5, 0}},
		{"clip to -1", to(-1, math.Inf(1)), half, []float32{-3, 11, 1.5, -1}, []float32{-1, 11, 1.5, 0}},
		{"clip to -1", to(-1, 1), spaces.Unbounded(2), []float32{-3, 1e9, .5, -1}, []float32{-1, 1, .5, -1}},
		{"rescale", rescale, limits, []float32{-1, -1, 1, 1}, []float32{-2, 0, 2, 10}},
		{"rescale", rescale, limits, []float32{0, .5, -3, 7}, []float32{0, 7.5, -2, 10}},
		{"rescale", rescale, wide, []float32{-1, 1, 0, -.5}, []float32{-math.MaxFloat32, math.MaxFloat32, 0, -math.MaxFloat32 / 2}},
	} {
		inside := &spy{action: c.space}
		env, err := c.wrap(inside)
		if err != nil {
			t.Fatal(err)
		}
		given := slices.Clone(c.actions)
		must(t)(env.Step(given))
		if !slices.Equal(inside.got, c.want) {
			t.Errorf("%s %v to %v, %v: %v arrives as %v, want %v", c.name, c.space, c.space.Low, c.space.High, c.actions, inside.got, c.want)
		}
		if !slices.Equal(given, c.actions) {
			t.Errorf("%s changed the caller's actions", c.name)
		}
		inside.got = nil
		for _, bad := range [][]float32{nil, {1, 2, 3}, {0, nan, 0, 0}, {0, 0, 0, inf}} {
			if _, err := env.Step(bad); err == nil || !strings.HasPrefix(err.Error(), "wrappers: actions: ") {
				t.Errorf("%s: actions %v give the error %v", c.name, bad, err)
			}
		}
		if inside.got != nil {
			t.Errorf("%s passed on bad actions", c.name)
		}
		want := c.space
		if c.name == "rescale" {
			want = spaces.NewBox(-1, 1, 2)
		}
		if c.name == "clip to -1" { // its limits and those of the space inside, whichever are narrower
			want = env.Spaces().Action
			low, high := float32(-1), min(float32(1), c.want[1])
			if want.Low[0] != low || want.Low[1] != max(low, c.want[3]) || c.want[1] == 1 && want.High[1] != high {
				t.Errorf("%s of %v %v: the limits are %v to %v", c.name, c.space.Low, c.space.High, want.Low, want.High)
			}
		}
		if !env.Spaces().Action.Equal(want) {
			t.Errorf("%s: action space %v", c.name, env.Spaces().Action)
		}
	}
}

func TestConstructorsRefuse(t *testing.T) {
	discrete := &spy{action: spaces.NewDiscrete(2)}
	box := &spy{action: spaces.Unbounded(2)}
	dir := t.TempDir()
	for _, c := range []struct {
		err  func() error
		want string
	}{
		{func() error { _, err := wrappers.NewTimeLimit(nil, 1); return err }, "got nil"},
		{func() error { _, err := wrappers.NewTimeLimit(&probe{}, 0); return err }, "time limit is 0 steps"},
		{func() error { _, err := wrappers.NewTimeLimit(&probe{}, -1); return err }, "time limit is -1 steps"},
		{func() error { _, err := wrappers.NewRewardScale(nil, 1); return err }, "got nil"},
		{func() error { _, err := wrappers.NewRewardScale(box, 0); return err }, "reward scale is 0"},
		{func() error { _, err := wrappers.NewRewardScale(box, math.NaN()); return err }, "reward scale is NaN"},
		{func() error { _, err := wrappers.NewRewardScale(box, 1e300); return err }, "reward scale is 1e+300"},
		{func() error { _, err := wrappers.NewClipAction(nil); return err }, "got nil"},
		{func() error { _, err := wrappers.NewClipAction(discrete); return err }, "needs a Box of actions, the action space is Discrete(2)"},
		{func() error { _, err := wrappers.NewClipAction(&spy{action: spaces.NewBox(1, -1, 2)}); return err }, "low 1 is not below high -1"},
		{func() error { _, err := wrappers.NewClipActionTo(nil, -1, 1); return err }, "got nil"},
		{func() error { _, err := wrappers.NewClipActionTo(discrete, -1, 1); return err }, "needs a Box of actions"},
		{func() error { _, err := wrappers.NewClipActionTo(box, 1, -1); return err }, "low must be below high"},
		{func() error {
			_, err := wrappers.NewClipActionTo(&spy{action: spaces.NewBox(3, 4, 2)}, -1, 1)
			return err
		}, "[-1 1] leaves nothing of the action space"},
		{func() error { _, err := wrappers.NewRescaleAction(nil); return err }, "got nil"},
		{func() error { _, err := wrappers.NewRescaleAction(discrete); return err }, "needs a Box of actions"},
		{func() error { _, err := wrappers.NewRescaleAction(box); return err }, "needs finite limits"},
		{func() error { _, err := wrappers.NewEpisodeStatistics(nil); return err }, "got nil"},
		{func() error {
			_, err := wrappers.NewNormalizeReward(nil, wrappers.NormalizeRewardOptions{Discount: .9})
			return err
		}, "got nil"},
		{func() error {
			_, err := wrappers.NewNormalizeReward(box, wrappers.NormalizeRewardOptions{Discount: 1.1})
			return err
		}, "discount is 1.1"},
		{func() error {
			_, err := wrappers.NewNormalizeReward(box, wrappers.NormalizeRewardOptions{Discount: math.NaN()})
			return err
		}, "discount is NaN"},
		{func() error {
			_, err := wrappers.NewNormalizeReward(box, wrappers.NormalizeRewardOptions{Epsilon: -1})
			return err
		}, "epsilon is -1"},
		{func() error {
			_, err := wrappers.NewNormalizeReward(box, wrappers.NormalizeRewardOptions{Variant: "x"})
			return err
		}, `variant is "x"; it must be "gymnasium" or "sb3"`},
		{func() error {
			_, err := wrappers.NewNormalizeObservation(nil, wrappers.NormalizeObservationOptions{})
			return err
		}, "got nil"},
		{func() error {
			_, err := wrappers.NewNormalizeObservation(blind{box}, wrappers.NormalizeObservationOptions{})
			return err
		}, "needs a Box of observations, the observation space is Discrete(2)"},
		{func() error { _, err := wrappers.NewClipObservation(nil, -1, 1); return err }, "got nil"},
		{func() error { _, err := wrappers.NewClipObservation(blind{box}, -1, 1); return err }, "needs a Box of observations"},
		{func() error { _, err := wrappers.NewClipObservation(box, 1, 1); return err }, "low is 1 and high 1"},
		{func() error { _, err := wrappers.NewClipReward(nil, -1, 1); return err }, "got nil"},
		{func() error { _, err := wrappers.NewClipReward(box, 0, math.NaN()); return err }, "low is 0 and high NaN"},
		{func() error {
			_, err := wrappers.NewRecord(nil, wrappers.RecordOptions{Dir: dir, GIF: true})
			return err
		}, "got nil"},
		{func() error { _, err := wrappers.NewRecord(box, wrappers.RecordOptions{Transitions: true}); return err }, "set Dir"},
		{func() error { _, err := wrappers.NewRecord(box, wrappers.RecordOptions{Dir: dir}); return err }, "nothing to record"},
		{func() error {
			_, err := wrappers.NewRecord(box, wrappers.RecordOptions{Dir: dir, GIF: true})
			return err
		}, "*wrappers_test.spy cannot draw itself"},
		{func() error {
			_, err := wrappers.NewRecord(box, wrappers.RecordOptions{Dir: dir, Transitions: true, Env: 2})
			return err
		}, "environment to record is 2; it must be 0 to 1"},
		{func() error {
			_, err := wrappers.NewRecord(box, wrappers.RecordOptions{Dir: dir, Transitions: true, Every: -1})
			return err
		}, "Every is -1"},
		{func() error {
			_, err := wrappers.NewRecord(box, wrappers.RecordOptions{Dir: dir, Transitions: true, MaxSteps: -1})
			return err
		}, "MaxSteps -1"},
		{func() error {
			_, err := wrappers.NewRecord(box, wrappers.RecordOptions{Dir: dir, Transitions: true, FPS: 101})
			return err
		}, "FPS is 101"},
	} {
		if err := c.err(); err == nil || !strings.HasPrefix(err.Error(), "wrappers: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want it to contain %q", err, c.want)
		}
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
	reporting := probes(t, 3, wrappers.ParallelOptions{}, nil)
	counted, err := wrappers.NewEpisodeStatistics(silent{probes(t, 3, wrappers.ParallelOptions{}, nil)})
	if err != nil {
		t.Fatal(err)
	}
	both, err := wrappers.NewEpisodeStatistics(probes(t, 3, wrappers.ParallelOptions{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	for _, seed := range []int64{0, 1} { // a Reset in the middle of episodes begins to count anew
		for _, e := range []envs.Env{reporting, counted, both} {
			must(t)(e.Reset(seed))
		}
		for k := range 15 {
			actions := []float32{float32(k), 0, 1, 0, -2, 0}
			want, got, full := must(t)(reporting.Step(actions)), must(t)(counted.Step(actions)), must(t)(both.Step(actions))
			if d := cmp.Diff(want.Episodes, full.Episodes); d != "" {
				t.Errorf("step %d: with metrics: %s", k, d)
			}
			plain := slices.Clone(want.Episodes)
			for i := range plain {
				plain[i].Metrics = nil
			}
			if d := cmp.Diff(plain, got.Episodes); d != "" {
				t.Errorf("step %d: %s", k, d)
			}
			ended += len(got.Episodes)
		}
	}
	if ended < 20 {
		t.Errorf("only %d episodes ended", ended)
	}
}

func TestNormalizeReward(t *testing.T) {
	const discount = .8
	env := probes(t, 3, wrappers.ParallelOptions{}, nil)
	normal, err := wrappers.NewNormalizeReward(env, wrappers.NormalizeRewardOptions{Discount: discount})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(normal.Reset(0))
	rng := rand.New(rand.NewPCG(3, 3))
	actions := make([]float32, 6)
	var all []float64 // every discounted sum so far
	sums := make([]float64, 3)
	for k := range 300 {
		for i := range actions {
			actions[i] = 5 + 30*rng.Float32()
		}
		if k == 299 {
			normal.Freeze(true)
		}
		s := must(t)(normal.Step(actions))
		for i := range sums {
			sums[i] = discount*sums[i] + float64(actions[2*i])
			if k < 299 {
				all = append(all, sums[i])
			}
			if s.Terminated[i] {
				sums[i] = 0
			}
		}
		var mean, variance float64
		for _, x := range all {
			mean += x / float64(len(all))
		}
		for _, x := range all {
			variance += (x - mean) * (x - mean) / float64(len(all))
		}
		for i, r := range s.Rewards {
			// The statistics begin with a ten-thousandth of a value 0, which is felt in the first steps.
			want := float64(actions[2*i]) / math.Sqrt(variance)
			if k > 3 && math.Abs(float64(r)-want) > 1e-4*want {
				t.Fatalf("step %d, environment %d: reward %g, want %g", k, i, r, want)
			}
		}
	}
}
