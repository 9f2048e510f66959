package trainers_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// advance makes so many timesteps of a trainee.
func advance(t testing.TB, m *trainers.Trainee, timesteps int) {
	t.Helper()
	for range timesteps {
		value(m.Step(context.Background()))(t)
	}
}

func set(t testing.TB, m *trainers.Trainee, values map[string]float64) {
	t.Helper()
	must(t, m.SetHyperparameters(values))
}

// The environment's parameters stand beside the agent's, in the types that they have.
func TestEnvironmentHyperparameters(t *testing.T) {
	m := scholar(t, 3, trainers.Config{Seed: 1})
	want := map[string]float64{"env.scale": 1, "env.count": 2, "env.nested.on": 0, "env.nested.delta.0": 0.5}
	maps.Copy(want, m.Agent().(agenttest.Agent).Hyperparameters())
	if got := m.Hyperparameters(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	set(t, m, map[string]float64{"env.count": 3.7, "env.nested.on": 0.9, "env.nested.delta.0": -2,
		"learning_rate": 0.003})
	maps.Copy(want, map[string]float64{"env.count": 4, "env.nested.on": 1, "env.nested.delta.0": -2,
		"learning_rate": 0.003})
	if got := m.Hyperparameters(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Refused values change nothing, neither the agent's nor the environment's.
func TestSetHyperparametersIsAllOrNothing(t *testing.T) {
	m := scholar(t, 3, trainers.Config{Seed: 1, SaveBuffers: true})
	advance(t, m, 4)
	before, figures := m.Hyperparameters(), mustSnapshot(t, m)
	for words, values := range map[string]map[string]float64{
		"did you mean \"scale\"": {"learning_rate": 0.5, "env.scal": 2},
		"too much":               {"learning_rate": 0.5, "env.scale": 1e9},
		"must be finite":         {"learning_rate": 0.5, "env.scale": math.NaN()},
		"cannot change while":    {"learning_speed": 0.5, "env.scale": 2},
	} {
		wantError(t, fmt.Sprint(values), m.SetHyperparameters(values), words)
		if d := agenttest.Differences(figures, mustSnapshot(t, m)); len(d) > 0 ||
			!maps.Equal(m.Hyperparameters(), before) {
			t.Errorf("%v: %v, want %v; %q changed", values, m.Hyperparameters(), before, d)
		}
	}
}

func mustSnapshot(t testing.TB, m *trainers.Trainee) *checkpoint.Snapshot {
	t.Helper()
	snap := value(m.Snapshot())(t)
	return agenttest.Through(t, snap)
}

// New values are never applied within an episode. They apply to every episode that begins after they were set, also in
// a run that is resumed meanwhile, and at a reset to all environments.
func TestParametersWaitForEpisodes(t *testing.T) {
	cfg := trainers.Config{Seed: 1, SaveBuffers: true}
	m := scholar(t, 5, cfg) // episodes of 3 to 7 steps
	scaleAt, latest := map[int]float64{}, 1.0
	var saved []*checkpoint.Snapshot
	for k := range 60 {
		if k%7 == 0 { // before the first step, too
			latest = 2 + float64(k)
			if k == 21 {
				latest = 2 // and back to an earlier one
			}
			set(t, m, map[string]float64{"env.scale": latest})
			if got := m.Hyperparameters()["env.scale"]; got != latest {
				t.Errorf("the scale reads %g, was set to %g", got, latest)
			}
		}
		scaleAt[k] = latest
		for _, e := range value(m.Step(context.Background()))(t).Episodes {
			begun := k + 1 - e.Length // the number of steps before its first
			if want := scaleAt[begun]; e.Metrics["lowest"] != want || e.Metrics["highest"] != want {
				t.Errorf("environment %d: the episode of steps %d to %d has seen scales %g to %g, want %g",
					e.Env, begun+1, k+1, e.Metrics["lowest"], e.Metrics["highest"], want)
			}
		}
		if k == 55 || k == 56 { // episodes have just begun, and then others wait for values
			saved = append(saved, mustSnapshot(t, m))
		}
	}
	for i, snap := range saved {
		resumed := scholar(t, 5, cfg)
		must(t, resumed.Restore(snap))
		set(t, resumed, map[string]float64{"env.scale": latest})
		advance(t, resumed, 4-i)
		sameStanding(t, fmt.Sprint("resumed before step ", 57+i), m, resumed)
	}
	forgets := student(t, lessons(t, 5, false), trainers.Config{Seed: 1})
	advance(t, forgets, 2)
	set(t, forgets, map[string]float64{"env.scale": 9})
	if e, err := forgets.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 5, Seed: 3}); err != nil ||
		e.Metrics["lowest"] != 9 {
		t.Errorf("evaluated: %+v, %v; want the scale 9", e, err)
	}
	advance(t, forgets, 7) // the environment cannot be restored: it has been reset
	if got := forgets.Samples("episode.lowest", 100); len(got) < 5 || got[0] != 9 {
		t.Errorf("episodes have seen %v, want 9 from the first", got)
	}
}

// Without the environment's state, a snapshot's parameters are for all environments; where episodes are running, for
// the next ones.
func TestParametersWithoutBuffers(t *testing.T) {
	donor := scholar(t, 3, trainers.Config{Seed: 1, SaveBuffers: true}) // those that take over from it have none
	set(t, donor, map[string]float64{"env.scale": 4})
	advance(t, donor, 8)
	set(t, donor, map[string]float64{"env.scale": 6})
	snap := mustSnapshot(t, donor)

	anew := scholar(t, 2, trainers.Config{Seed: 1})
	running := scholar(t, 3, trainers.Config{Seed: 1})
	advance(t, running, 1)
	for _, m := range []*trainers.Trainee{anew, running} {
		must(t, m.Restore(snap))
		if got := m.Hyperparameters()["env.scale"]; got != 6 {
			t.Errorf("the scale is %g, want 6", got)
		}
	}
	advance(t, anew, 4)
	if got := anew.Samples("episode.lowest", 2); len(got) != 2 || got[0] != 6 || got[1] != 6 {
		t.Errorf("in a new environment: %v", got)
	}
	advance(t, running, 7)
	if got := running.Samples("episode.highest", 5); !slices.Equal(got, []float64{1, 1, 1, 6, 6}) {
		t.Errorf("in a running environment: %v, want the running episodes' 1, then 6", got)
	}
}

// A snapshot with anything missing or spoilt is refused, and nothing of trainer, agent and environment changes. A whole
// one is what the trainer then is.
func TestRestoreIsAllOrNothing(t *testing.T) {
	cfg := trainers.Config{Seed: 1, SaveBuffers: true}
	donor, m := scholar(t, 3, cfg), scholar(t, 3, cfg)
	advance(t, donor, 6)
	advance(t, m, 4)
	set(t, m, map[string]float64{"env.scale": 3})
	before := mustSnapshot(t, m)
	type snapshot = checkpoint.Snapshot
	spoilt := func(what, want string, spoil func(s *snapshot)) {
		t.Helper()
		snap := mustSnapshot(t, donor)
		spoil(snap)
		wantError(t, what, m.Restore(snap), want)
		if d := agenttest.Differences(before, mustSnapshot(t, m)); len(d) > 0 {
			t.Errorf("%s: %q changed", what, d)
		}
	}
	spoilt("negative timestep", "", func(s *snapshot) { s.Values["trainer"] = map[string]any{"timestep": -1} })
	spoilt("no weights", "policy/net.0.weight", func(s *snapshot) { delete(s.Arrays, "policy/net.0.weight") })
	for _, x := range [][3]string{
		{"state", "abc", ""}, {"curriculum", "abc", "curriculum"},
		{"episodes", "\x01\x01", "environment/episodes: it is of 2 environments, here are 3"},
		{"parameters", `{"format":2}`, "parameters"},
		{"parameters", `{"format":1,"target":{},"current":[{"values":{},"environments":[0,1,1]}]}`, "parameters"},
		{"parameters", `{"format":1,"target":{},"current":[{"values":{"x":1},"environments":[0,1,2]}]}`, "parameters"},
	} {
		spoilt(x[0]+" "+x[1], x[2], func(s *snapshot) {
			s.Arrays["environment/"+x[0]] = checkpoint.ArrayBytes([]int64{int64(len(x[1]))}, []byte(x[1]))
		})
	}
	must(t, m.Restore(mustSnapshot(t, donor)))
	sameStanding(t, "restored", donor, m)
}

// EvaluateMetrics changes nothing about training with parameters, in place and in an environment of its own. Without
// one it is an error.
func TestEvaluateMetricsDoesNotDisturb(t *testing.T) {
	apart := func(n int, _ int64) (envs.Env, error) { return lessons(t, n, false), nil }
	for name, test := range map[string]struct {
		saved bool
		cfg   trainers.Config
	}{
		"in place": {true, trainers.Config{Seed: 1, SaveBuffers: true, StochasticEvaluation: true}},
		"apart":    {false, trainers.Config{Seed: 1, EvaluationEnv: apart}},
	} {
		run := func(evaluate bool) *trainers.Trainee {
			m := student(t, lessons(t, 4, test.saved), test.cfg)
			for k := range 32 {
				if evaluate && k%5 == 0 {
					first := value(m.EvaluateMetrics(context.Background(), 6, 3))(t)
					again := value(m.EvaluateMetrics(context.Background(), 6, 3))(t)
					// Two episodes each of 3 to 6 steps.
					if l := first["episode.length"]; l != 4.5 || first["episode.true_objective"] != 4.5 ||
						!maps.Equal(first, again) {
						t.Errorf("%s: figures %v, then %v", name, first, again)
					}
				}
				advance(t, m, 1)
				if k%6 == 0 {
					set(t, m, map[string]float64{"env.scale": 1 + float64(k)})
				}
			}
			return m
		}
		sameStanding(t, name, run(false), run(true))
	}
	for words, make := range map[string]func(int, int64) (envs.Env, error){
		"give Config.EvaluationEnv": nil, "returned none": func(int, int64) (envs.Env, error) { return nil, nil },
		"has 2 environments, want 3": func(int, int64) (envs.Env, error) { return lessons(t, 2, true), nil },
	} {
		refused(student(t, lessons(t, 3, false),
			trainers.Config{EvaluationEnv: make}).EvaluateMetrics(context.Background(), 3, 1))(t, words, words)
	}
}

// Figures with dots and slashes in their names, of episodes and of steps, and the measurements behind them.
func TestSamples(t *testing.T) {
	m := student(t, &talker{Env: lessons(t, 2, true)}, trainers.Config{Seed: 1})
	advance(t, m, 230) // 76 and 57 episodes, of which 100 are kept
	figures := m.Metrics()
	if x, y := figures["episode.Curriculum/adr.level"], figures["Curriculum/adr.level"]; x != 230 || y != 230 {
		t.Errorf("of the last step: %g and %g, want 230", x, y)
	}
	if got := m.Samples("episode.Curriculum/adr.level", 3); !slices.Equal(got, []float64{228, 229, 230}) {
		t.Errorf("samples of steps %v", got)
	}
	all := m.Samples("episode.true_objective", 1000)
	if mean := figures["episode.true_objective"]; len(all) != 100 || math.Abs(stat.Mean(all, nil)-mean) > 1e-12 {
		t.Errorf("%d samples with mean %g, the figure is %g", len(all), stat.Mean(all, nil), mean)
	}
}

// talker says something of every step.
type talker struct {
	envs.Env
	steps int
	out   envs.Step
}

func (k *talker) Unwrap() envs.Env { return k.Env }

func (k *talker) Step(actions []float32) (*envs.Step, error) {
	s, err := k.Env.Step(actions)
	if err != nil {
		return nil, err
	}
	k.steps++
	k.out = *s
	k.out.Metrics = map[string]float64{"Curriculum/adr.level": float64(k.steps), "resets": 1}
	return &k.out, nil
}

// opaque hides what an environment can do beside stepping.
type opaque struct{ envs.Env }
