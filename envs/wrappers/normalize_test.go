package wrappers_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/spaces"
)

// tape is an environment that returns what was recorded. It can neither save its state nor show its observations, as
// environments of Gymnasium cannot.
type tape struct {
	n, width int
	steps    []envs.Step // the first is that of Reset
	at       int
}

func (e *tape) NumEnvs() int { return e.n }
func (e *tape) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.NewBox(-1000, 1000, e.width), Action: spaces.NewBox(-1, 1, 1)}
}
func (e *tape) Reset(int64) (*envs.Step, error) {
	e.at = 0
	return &e.steps[0], nil
}
func (e *tape) Step([]float32) (*envs.Step, error) {
	e.at++
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
	b, err := os.ReadFile("testdata/normalize.json")
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
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

func TestNormalizeLikeGymnasium(t *testing.T) {
	g := golden(t)
	observed, err := wrappers.NewNormalizeObservation(g.single(), wrappers.NormalizeObservationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	env, err := wrappers.NewNormalizeReward(observed, wrappers.NormalizeRewardOptions{Discount: .9, Variant: wrappers.Gymnasium})
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	for i, want := range g.Single.Steps {
		var s *envs.Step
		if i == 0 {
			s = must(t)(env.Reset(0))
		} else {
			s = must(t)(env.Step([]float32{0}))
			if d := cmp.Diff(want.NormalizedReward, s.Rewards[0], close32); d != "" {
				t.Fatalf("step %d: reward: %s", i, d)
			}
		}
		if d := cmp.Diff(want.Observation, s.Observations, close32); d != "" {
			t.Fatalf("step %d: observation: %s", i, d)
		}
		if d := cmp.Diff(want.Final, s.FinalObservations, close32); d != "" {
			t.Fatalf("step %d: final observation: %s", i, d)
		}
		if want.Final != nil {
			ended++
		}
		// Showing the observation again teaches nothing.
		o, ok := envs.As[envs.Observer](env)
		if !ok {
			t.Fatal("no Observer")
		}
		if d := cmp.Diff(s.Observations, must(t)(o.Observe()).Observations); d != "" {
			t.Fatalf("step %d: observed again: %s", i, d)
		}
	}
	if ended < 10 {
		t.Errorf("only %d episodes ended", ended)
	}
	// Gymnasium rounds the weight that the observations' statistics begin with to float32.
	if d := cmp.Diff(g.Single.Statistics, observed.Statistics(), cmpopts.EquateApprox(1e-7, 0)); d != "" {
		t.Error(d)
	}
	got := env.Statistics()
	delete(got, envs.RunningSums)
	if d := cmp.Diff(g.Single.RewardStatistics, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Error(d)
	}
}

func TestNormalizeRewardsOfSeveralLikeGymnasium(t *testing.T) {
	g := golden(t)
	e := &tape{n: 3, width: 1, steps: []envs.Step{{Observations: make([]float32, 3)}}}
	for _, s := range g.Several {
		e.steps = append(e.steps, envs.Step{Observations: make([]float32, 3), Rewards: s.Rewards, Terminated: s.Terminated, Truncated: s.Truncated})
	}
	env, err := wrappers.NewNormalizeReward(e, wrappers.NormalizeRewardOptions{Discount: .9, Variant: wrappers.Gymnasium})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(env.Reset(0))
	for i, want := range g.Several {
		if d := cmp.Diff(want.NormalizedRewards, must(t)(env.Step(make([]float32, 3))).Rewards, close32); d != "" {
			t.Fatalf("step %d: %s", i, d)
		}
	}
}

// The statistics of several environments are those of all their rows, whatever the variant; the last observations of
// episodes are among them as Gymnasium has them, and not as Stable-Baselines3 has them.
func TestNormalizeObservationLearnsFromAll(t *testing.T) {
	for _, variant := range []wrappers.Variant{wrappers.Gymnasium, wrappers.SB3} {
		env := probes(t, 4, wrappers.ParallelOptions{}, nil)
		plain := probes(t, 4, wrappers.ParallelOptions{}, nil)
		normal, err := wrappers.NewNormalizeObservation(env, wrappers.NormalizeObservationOptions{Variant: variant, Epsilon: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		if got := normal.Spaces().Observation; !got.Equal(spaces.Unbounded(3)) {
			t.Errorf("observations %v, %v to %v", got, got.Low, got.High)
		}
		var rows [][]float64
		add := func(row []float32) { rows = append(rows, []float64{float64(row[0]), float64(row[1]), float64(row[2])}) }
		normalized := func(row []float32) []float32 {
			out := make([]float32, 3)
			for j := range out {
				mean, variance := 0.0, 0.0
				for _, r := range rows {
					mean += r[j] / float64(len(rows))
				}
				for _, r := range rows {
					variance += (r[j] - mean) * (r[j] - mean) / float64(len(rows))
				}
				out[j] = float32((float64(row[j]) - mean) / math.Sqrt(variance+1e-3))
			}
			return out
		}
		must(t)(normal.Reset(4))
		for i, s := 0, must(t)(plain.Reset(4)); i < 4; i++ {
			add(s.Observations[3*i:])
		}
		actions := make([]float32, 8)
		for k := range 120 {
			if k == 100 && normal.Freeze(true) {
				t.Fatal("frozen from the start")
			}
			want, got := must(t)(plain.Step(actions)), must(t)(normal.Step(actions))
			// The weight that the statistics begin with is felt in the first steps.
			same := cmpopts.EquateApprox(2e-3, 2e-3)
			for i := range 4 {
				switch ended := want.Terminated[i]; {
				case k >= 100:
				case ended && variant == wrappers.Gymnasium:
					add(want.FinalObservations[3*i:])
				default:
					add(want.Observations[3*i:])
				}
			}
			for i := range 4 {
				if want.Terminated[i] && k > 5 {
					if d := cmp.Diff(normalized(want.FinalObservations[3*i:3*i+3]), got.FinalObservations[3*i:3*i+3], same); d != "" {
						t.Fatalf("%s: step %d, final observation of %d: %s", variant, k, i, d)
					}
				}
			}
			for i := range 4 {
				if want.Terminated[i] && variant == wrappers.Gymnasium && k < 100 {
					add(want.Observations[3*i:])
				}
			}
			for i := range 4 {
				if d := cmp.Diff(normalized(want.Observations[3*i:3*i+3]), got.Observations[3*i:3*i+3], same); k > 5 && d != "" {
					t.Fatalf("%s: step %d, observation of %d: %s", variant, k, i, d)
				}
			}
			if d := cmp.Diff(want.States, got.States); d != "" {
				t.Fatalf("states changed: %s", d)
			}
		}
	}
}

func TestStatisticsRefuse(t *testing.T) {
	env := probes(t, 2, wrappers.ParallelOptions{}, nil)
	observed, err := wrappers.NewNormalizeObservation(env, wrappers.NormalizeObservationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	normal, err := wrappers.NewNormalizeReward(observed, wrappers.NormalizeRewardOptions{Discount: .5})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(normal.Reset(0))
	onward(t, normal, 7)
	all := envs.All[envs.RunningStatistics](normal)
	if len(all) != 2 || all[0].StatisticsName() != "normalize_observation" || all[1].StatisticsName() != "normalize_reward" {
		t.Fatalf("statistics of %v", all)
	}
	for _, s := range all {
		before := s.Statistics()
		for _, damage := range []func(m map[string][]float64){
			func(m map[string][]float64) { delete(m, "mean") },
			func(m map[string][]float64) { m["variance"] = append(m["variance"], 1) },
			func(m map[string][]float64) { m["variance"][0] = -1 },
			func(m map[string][]float64) { m["mean"][0] = math.NaN() },
			func(m map[string][]float64) { m["count"] = []float64{0} },
			func(m map[string][]float64) { m["count"] = nil },
			func(m map[string][]float64) { m["other"] = []float64{1} },
		} {
			bad := s.Statistics()
			damage(bad)
			if s.SetStatistics(bad) == nil {
				t.Errorf("%s: took %v", s.StatisticsName(), bad)
			}
			if d := cmp.Diff(before, s.Statistics()); d != "" {
				t.Errorf("%s: changed by a refusal: %s", s.StatisticsName(), d)
			}
		}
		other := s.Statistics()
		other["mean"][0]++
		if err := s.SetStatistics(other); err != nil || !cmp.Equal(other, s.Statistics()) {
			t.Errorf("%s: %v", s.StatisticsName(), err)
		}
	}
	// Sums of other environments are left out, the rest is taken.
	sums := normal.Statistics()[envs.RunningSums]
	other := normal.Statistics()
	other[envs.RunningSums], other["count"] = []float64{1, 2, 3}, []float64{99}
	if err := normal.SetStatistics(other); err != nil || normal.Statistics()["count"][0] != 99 || !slices.Equal(sums, normal.Statistics()[envs.RunningSums]) {
		t.Errorf("%v: %v", err, normal.Statistics())
	}
}

// Wrappers that keep statistics refuse what is not finite before they learn from any of a step's rows.
func TestNormalizersRefuseNaN(t *testing.T) {
	step := func(spoil func(s *envs.Step)) []envs.Step {
		s := envs.Step{Observations: []float32{1, 2, 3, 4}, Rewards: []float32{1, 2}, Terminated: []bool{true, false}, Truncated: []bool{false, true},
			FinalObservations: []float32{5, 6, 7, 8}, FinalUnknown: make([]bool, 2)}
		good := s
		s.Observations, s.Rewards = slices.Clone(s.Observations), slices.Clone(s.Rewards)
		s.FinalObservations, s.FinalUnknown = slices.Clone(s.FinalObservations), slices.Clone(s.FinalUnknown)
		spoil(&s)
		return []envs.Step{{Observations: []float32{1, 2, 3, 4}}, good, s, good}
	}
	for _, variant := range []wrappers.Variant{wrappers.Gymnasium, wrappers.SB3} {
		observed := func(inside envs.Env) (envs.Env, error) {
			return wrappers.NewNormalizeObservation(inside, wrappers.NormalizeObservationOptions{Variant: variant})
		}
		rewarded := func(inside envs.Env) (envs.Env, error) {
			return wrappers.NewNormalizeReward(inside, wrappers.NormalizeRewardOptions{Variant: variant, Discount: .5})
		}
		counted := func(inside envs.Env) (envs.Env, error) { return wrappers.NewEpisodeStatistics(inside) }
		for _, c := range []struct {
			make  func(inside envs.Env) (envs.Env, error)
			spoil func(s *envs.Step)
			want  string // "" if the value is not read
		}{
			{observed, func(s *envs.Step) { s.Observations[2] = nan }, "normalize_observation: observations: environment 1, dimension 0 is NaN"},
			{observed, func(s *envs.Step) { s.Observations[1] = -inf }, "normalize_observation: observations: environment 0, dimension 1 is -Inf"},
			{observed, func(s *envs.Step) { s.FinalObservations[3] = inf }, map[wrappers.Variant]string{
				wrappers.Gymnasium: "normalize_observation: final observations: environment 1, dimension 1 is +Inf"}[variant]},
			{observed, func(s *envs.Step) { s.FinalObservations[3], s.FinalUnknown[1] = nan, true }, ""},
			{rewarded, func(s *envs.Step) { s.Rewards[1] = inf }, "normalize_reward: the reward of environment 1 is +Inf"},
			{counted, func(s *envs.Step) { s.Rewards[1] = nan }, "episode_statistics: the reward of environment 1 is NaN"},
		} {
			env, err := c.make(&tape{n: 2, width: 2, steps: step(c.spoil)})
			if err != nil {
				t.Fatal(err)
			}
			must(t)(env.Reset(0))
			must(t)(env.Step(nil))
			learned, ok := env.(envs.RunningStatistics)
			var before map[string][]float64
			if ok {
				before = learned.Statistics()
			}
			_, err = env.Step(nil)
			if c.want == "" && err == nil {
				continue
			}
			if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || ok && !cmp.Equal(before, learned.Statistics()) {
				t.Errorf("%s: error %v, want %q, and the same statistics", variant, err, c.want)
			}
			if s := must(t)(env.Step(nil)); !ok && (s.Episodes[0].Return != 1 || s.Episodes[1].Return != 2) {
				t.Errorf("episodes %v", s.Episodes)
			}
		}
	}
}

func TestClip(t *testing.T) {
	g := golden(t)
	normalize := func() *wrappers.NormalizeObservation {
		normal, err := wrappers.NewNormalizeObservation(g.single(), wrappers.NormalizeObservationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return normal
	}
	plain := normalize()
	observed, err := wrappers.NewClipObservation(normalize(), -.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	env, err := wrappers.NewClipReward(observed, -2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Spaces().Observation; !got.Equal(spaces.NewBox(-.5, 1, 3)) {
		t.Errorf("observations %v, %v to %v", got, got.Low, got.High)
	}
	changed := 0
	clipped := func(low, high float32, rows []float32) []float32 {
		out := slices.Clone(rows)
		for i, x := range out {
			if out[i] = min(max(x, low), high); out[i] != x {
				changed++
			}
		}
		return out
	}
	want, got := must(t)(plain.Reset(0)), must(t)(env.Reset(0))
	for i := range g.Single.Steps {
		if i > 0 {
			want, got = must(t)(plain.Step(nil)), must(t)(env.Step(nil))
		}
		if d := cmp.Diff(clipped(-.5, 1, want.Observations), got.Observations); d != "" {
			t.Fatalf("step %d: observations: %s", i, d)
		}
		if d := cmp.Diff(clipped(-.5, 1, want.FinalObservations), got.FinalObservations); d != "" {
			t.Fatalf("step %d: final observations: %s", i, d)
		}
		if d := cmp.Diff(clipped(-2, 3, want.Rewards), got.Rewards); d != "" {
			t.Fatalf("step %d: rewards: %s", i, d)
		}
		if o, ok := envs.As[envs.Observer](env); !ok || !slices.Equal(got.Observations, must(t)(o.Observe()).Observations) {
			t.Fatalf("step %d: observed again, %t, it is different", i, ok)
		}
	}
	if changed < 30 {
		t.Errorf("only %d numbers were clipped", changed)
	}
}

// looped is a tape that begins again at its end, without allocating.
type looped struct{ *tape }

func (l looped) Step([]float32) (*envs.Step, error) {
	l.at = max(1, (l.at+1)%len(l.steps))
	return &l.steps[l.at], nil
}

func TestNormalizersDoNotAllocate(t *testing.T) {
	g := golden(t)
	observed, err := wrappers.NewNormalizeObservation(looped{g.single()}, wrappers.NormalizeObservationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clipped, err := wrappers.NewClipObservation(observed, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	rewarded, err := wrappers.NewNormalizeReward(clipped, wrappers.NormalizeRewardOptions{Discount: .9})
	if err != nil {
		t.Fatal(err)
	}
	env, err := wrappers.NewClipReward(rewarded, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	must(t)(env.Reset(0))
	if n := testing.AllocsPerRun(100, func() {
		if _, err := env.Step(nil); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a step allocates %g times", n)
	}
}
