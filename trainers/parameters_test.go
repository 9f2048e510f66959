package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// advance makes so many timesteps of a trainee.
func advance(t testing.TB, m *trainers.Trainee, timesteps int) {
	t.Helper()
	for range timesteps {
		if _, err := m.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func set(t testing.TB, m *trainers.Trainee, values map[string]float64) {
	t.Helper()
	if err := m.SetHyperparameters(values); err != nil {
		t.Fatal(err)
	}
}

// The environment's parameters stand beside the agent's, in the types that they have.
func TestEnvironmentHyperparameters(t *testing.T) {
	checkLiveTensors(t)
	m := scholar(t, 3, trainers.Config{Seed: 1})
	want := map[string]float64{"env.scale": 1, "env.count": 2, "env.nested.on": 0, "env.nested.delta.0": 0.5}
	maps.Copy(want, m.Agent().(agenttest.Agent).Hyperparameters())
	if got := m.Hyperparameters(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	set(t, m, map[string]float64{"env.count": 3.7, "env.nested.on": 0.9, "env.nested.delta.0": -2, "learning_rate": 0.003})
	maps.Copy(want, map[string]float64{"env.count": 4, "env.nested.on": 1, "env.nested.delta.0": -2, "learning_rate": 0.003})
	if got := m.Hyperparameters(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Refused values change nothing, neither the agent's nor the environment's.
func TestSetHyperparametersIsAllOrNothing(t *testing.T) {
	checkLiveTensors(t)
	m := scholar(t, 3, trainers.Config{Seed: 1, SaveBuffers: true})
	advance(t, m, 4)
	before, figures := m.Hyperparameters(), mustSnapshot(t, m)
	for words, values := range map[string]map[string]float64{
		"did you mean \"scale\"": {"learning_rate": 0.5, "env.scal": 2},
		"too much":               {"learning_rate": 0.5, "env.scale": 1e9},
		"must be finite":         {"learning_rate": 0.5, "env.scale": math.NaN()},
		"out of the range":       {"learning_rate": 0.5, "env.count": 1e40},
		"cannot change while":    {"learning_speed": 0.5, "env.scale": 2},
	} {
		if err := m.SetHyperparameters(values); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v: error %v, want one with %q", values, err, words)
		}
		if got := m.Hyperparameters(); !maps.Equal(got, before) {
			t.Errorf("%v: %v, want %v", values, got, before)
		}
		if d := agenttest.Differences(figures, mustSnapshot(t, m)); len(d) > 0 {
			t.Errorf("%v: %q changed", values, d)
		}
	}
	advance(t, m, 12)
	if x := m.Metrics()["episode.highest"]; x != 1 {
		t.Errorf("an episode has seen the scale %g", x)
	}
	env, agent := scenes[0].make(t)
	plain := sequential(t, env, agent, trainers.Config{}).Trainee()
	defer plain.Close()
	if err := plain.SetHyperparameters(map[string]float64{"env.scale": 2}); err == nil || !strings.Contains(err.Error(), "no parameters to set") {
		t.Errorf("an environment without parameters: %v", err)
	}
}

func mustSnapshot(t testing.TB, m *trainers.Trainee) *checkpoint.Snapshot {
	t.Helper()
	snap, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return agenttest.Through(t, snap)
}

// New values are never applied within an episode, and apply to every episode that begins after they were set.
func TestParametersWaitForEpisodes(t *testing.T) {
	checkLiveTensors(t)
	m := scholar(t, 5, trainers.Config{Seed: 1}) // episodes of 3 to 7 steps
	steps := 0
	scaleAt := map[int]float64{0: 1}
	latest := 1.0
	expect := func(s *envs.Step) {
		for _, e := range s.Episodes {
			begun := steps - e.Length // the number of steps before its first
			want := scaleAt[begun]
			if e.Metrics["lowest"] != want || e.Metrics["highest"] != want {
				t.Errorf("environment %d: the episode of steps %d to %d has seen scales %g to %g, want %g",
					e.Env, begun+1, steps, e.Metrics["lowest"], e.Metrics["highest"], want)
			}
		}
	}
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
		scaleAt[steps] = latest
		s, err := m.Step(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		steps++
		expect(s)
	}
}

// At a Reset, all environments take what was set last.
func TestParametersApplyAtReset(t *testing.T) {
	checkLiveTensors(t)
	m := student(t, lessons(t, 5, false), trainers.Config{Seed: 1})
	advance(t, m, 2)
	set(t, m, map[string]float64{"env.scale": 9})
	if e, err := m.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 5, Seed: 3}); err != nil || e.Metrics["lowest"] != 9 {
		t.Errorf("evaluated: %+v, %v; want the scale 9", e, err)
	}
	advance(t, m, 7) // the environment cannot be restored: it has been reset
	if got := m.Samples("episode.lowest", 100); len(got) < 5 || got[0] != 9 {
		t.Errorf("episodes have seen %v, want 9 from the first", got)
	}
}

// A run that is saved at any moment and goes on in a new trainer is the run that never ended, also where values are waiting
// for episodes to end, and others are set afterwards.
func TestParametersResumeExactly(t *testing.T) {
	checkLiveTensors(t)
	walkers := func(t testing.TB) *trainers.Trainee {
		env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, EpisodeLength: 9, Stagger: 8, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		return student(t, env, trainers.Config{Seed: 1, SaveBuffers: true})
	}
	for name, test := range map[string]struct {
		make func(t testing.TB) *trainers.Trainee
		set  map[int]map[string]float64
	}{
		"lessons": {func(t testing.TB) *trainers.Trainee {
			return scholar(t, 4, trainers.Config{Seed: 1, SaveBuffers: true})
		}, map[int]map[string]float64{
			4: {"env.scale": 3, "env.nested.on": 1}, 9: {"env.scale": 5, "learning_rate": 0.02}, 10: {"env.scale": 3}, 12: {"env.count": 7},
		}},
		"walkers": {walkers, map[int]map[string]float64{4: {"env.alive": 0.5}, 9: {"env.speed.weight": 2}, 13: {"env.speed.sharpness": 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			const length = 24
			whole := test.make(t)
			saved, values := map[int]*checkpoint.Snapshot{}, map[int]map[string]float64{}
			for k := range length {
				advance(t, whole, 1)
				saved[k], values[k] = mustSnapshot(t, whole), whole.Hyperparameters()
				set(t, whole, test.set[k])
			}
			for _, k := range []int{3, 4, 5, 7, 9, 10, 11, 14, 20} {
				m := test.make(t)
				if k%2 == 0 { // one that has done something else before
					advance(t, m, 5)
					set(t, m, test.set[9])
					advance(t, m, 1)
				}
				if err := m.Restore(saved[k]); err != nil {
					t.Fatal(err)
				}
				set(t, m, values[k]) // as a population does: settings are no part of an agent's snapshot
				set(t, m, test.set[k])
				for j := k + 1; j < length; j++ {
					advance(t, m, 1)
					set(t, m, test.set[j])
				}
				sameStanding(t, fmt.Sprintf("resumed after step %d", k), whole, m)
				if !maps.Equal(whole.Metrics(), m.Metrics()) {
					t.Errorf("resumed after step %d: figures %v, want %v", k, m.Metrics(), whole.Metrics())
				}
			}
		})
	}
}

// Without the environment's state, a snapshot's parameters are for all environments; where episodes are running, for the next
// ones.
func TestParametersWithoutBuffers(t *testing.T) {
	checkLiveTensors(t)
	donor := scholar(t, 3, trainers.Config{Seed: 1, SaveBuffers: true}) // those that take over from it have none
	set(t, donor, map[string]float64{"env.scale": 4})
	advance(t, donor, 8)
	set(t, donor, map[string]float64{"env.scale": 6})
	snap := mustSnapshot(t, donor)

	anew := scholar(t, 2, trainers.Config{Seed: 1})
	running := scholar(t, 3, trainers.Config{Seed: 1})
	advance(t, running, 1)
	for _, m := range []*trainers.Trainee{anew, running} {
		if err := m.Restore(snap); err != nil {
			t.Fatal(err)
		}
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

// The curriculum is in every snapshot, and comes back with it, into another number of environments too.
func TestCurriculumIsSaved(t *testing.T) {
	checkLiveTensors(t)
	donor := scholar(t, 3, trainers.Config{Seed: 1})
	advance(t, donor, 20) // 6, 5 and 4 episodes
	snap := mustSnapshot(t, donor)
	for _, n := range []int{3, 5} {
		m := scholar(t, n, trainers.Config{Seed: 2})
		advance(t, m, 1)
		before := mustSnapshot(t, m)
		bad := mustSnapshot(t, donor)
		delete(bad.Arrays, "policy/net.0.weight")
		if err := m.Restore(bad); err == nil {
			t.Fatal("restored without weights")
		}
		if d := agenttest.Differences(before, mustSnapshot(t, m)); len(d) > 0 {
			t.Errorf("after a refused snapshot %q differ", d)
		}
		spoilt := mustSnapshot(t, donor)
		spoilt.Arrays["environment/curriculum"] = checkpoint.ArrayBytes([]int64{3}, []byte("abc"))
		if err := m.Restore(spoilt); err == nil || !strings.Contains(err.Error(), "curriculum") {
			t.Errorf("a spoilt curriculum: %v", err)
		}
		if err := errors.Join(m.Restore(snap), m.Reseed(1)); err != nil {
			t.Fatal(err)
		}
		advance(t, m, 2*(2+n)) // every episode ends twice, of which the first is not counted: it was begun by other weights
		want := 0.0
		for i, levels := 0, []float64{6, 5, 4}; i < n; i++ {
			want += levels[i%3]
		}
		sum := 0.0
		for _, x := range firstOfEach(t, m, n) {
			sum += x - 2
		}
		if sum != want {
			t.Errorf("%d environments: the levels add up to %g, want %g", n, sum, want)
		}
	}
}

// firstOfEach returns the level at the end of the first episode of each environment, whose order of ending is that of
// their lengths.
func firstOfEach(t testing.TB, m *trainers.Trainee, n int) []float64 {
	t.Helper()
	lengths, levels := m.Samples("episode.length", 100), m.Samples("episode.Curriculum/difficulty_level", 100)
	seen, out := map[float64]bool{}, []float64{}
	for i, l := range lengths {
		if !seen[l] {
			seen[l] = true
			out = append(out, levels[i])
		}
	}
	if len(out) != n {
		t.Fatalf("%d environments have ended an episode, want %d", len(out), n)
	}
	return out
}

// A snapshot of before there were parameters, or with spoilt ones.
func TestRestoreParametersRefuses(t *testing.T) {
	checkLiveTensors(t)
	donor, m := scholar(t, 3, trainers.Config{Seed: 1, SaveBuffers: true}), scholar(t, 3, trainers.Config{Seed: 2, SaveBuffers: true})
	advance(t, donor, 6)
	advance(t, m, 4)
	set(t, m, map[string]float64{"env.scale": 3})
	before := mustSnapshot(t, m)
	for _, state := range []string{
		`{`, `{"format":2}`, `{"format":1,"target":{"speed":1}}`, `{"format":1,"target":{"scale":1000}}`,
		`{"format":1,"target":{},"current":[{"values":{},"environments":[0,1]}]}`,
		`{"format":1,"target":{},"current":[{"values":{},"environments":[0,1,1]}]}`,
		`{"format":1,"target":{},"current":[{"values":{},"environments":[0,1,3]}]}`,
		`{"format":1,"target":{},"current":[{"values":{"x":1},"environments":[0,1,2]}]}`,
		`{"format":1,"target":{},"current":[{"values":{},"environments":[0,1,2]}],"fresh":[3]}`,
	} {
		snap := mustSnapshot(t, donor)
		snap.Arrays["environment/parameters"] = checkpoint.ArrayBytes([]int64{int64(len(state))}, []byte(state))
		if err := m.Restore(snap); err == nil || !strings.Contains(err.Error(), "parameters") {
			t.Errorf("%s: %v", state, err)
		}
		if d := agenttest.Differences(before, mustSnapshot(t, m)); len(d) > 0 {
			t.Errorf("%s: %q changed", state, d)
		}
	}
	old := mustSnapshot(t, donor)
	delete(old.Arrays, "environment/parameters")
	delete(old.Arrays, "environment/curriculum")
	if err := m.Restore(old); err != nil || m.Hyperparameters()["env.scale"] != 3 {
		t.Errorf("a snapshot without parameters: %v, %v", err, m.Hyperparameters())
	}
	advance(t, m, 9)
}

// Evaluating changes nothing about training, in place and in an environment of its own.
func TestEvaluateMetricsDoesNotDisturb(t *testing.T) {
	checkLiveTensors(t)
	made := 0
	apart := func(n int, seed int64) (envs.Env, error) {
		made++
		return lessons(t, n, false), nil
	}
	for name, test := range map[string]struct {
		saved bool
		cfg   trainers.Config
	}{
		"in place":                       {true, trainers.Config{Seed: 1, SaveBuffers: true}},
		"in place, sampling in Evaluate": {true, trainers.Config{Seed: 1, SaveBuffers: true, StochasticEvaluation: true}},
		"apart":                          {false, trainers.Config{Seed: 1, EvaluationEnv: apart}},
		"apart from one that can":        {true, trainers.Config{Seed: -1, EvaluationEnv: apart, SaveBuffers: true}},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(evaluate bool) *trainers.Trainee {
				m := student(t, lessons(t, 4, test.saved), test.cfg)
				for k := range 23 {
					if evaluate && k%5 == 0 {
						first, err := m.EvaluateMetrics(context.Background(), 6, 3)
						if err != nil {
							t.Fatal(err)
						}
						again, err := m.EvaluateMetrics(context.Background(), 6, 3)
						if err != nil || !maps.Equal(first, again) {
							t.Errorf("evaluated twice: %v, %v (%v)", first, again, err)
						}
						if l := first["episode.length"]; l != 4.5 || first["episode.true_objective"] != 4.5 { // two episodes each of 3 to 6 steps
							t.Errorf("figures %v", first)
						}
						ctx, cancel := context.WithCancel(context.Background())
						cancel()
						if x, err := m.EvaluateMetrics(ctx, 6, 3); !errors.Is(err, context.Canceled) || x != nil {
							t.Errorf("cancelled: %v, %v", x, err)
						}
					}
					advance(t, m, 1)
					if k%6 == 0 {
						set(t, m, map[string]float64{"env.scale": 1 + float64(k)})
					}
				}
				return m
			}
			want, got := run(false), run(true)
			sameStanding(t, "with evaluations", want, got)
			advance(t, want, 9)
			advance(t, got, 9)
			sameStanding(t, "after them", want, got)
		})
	}
	if made == 0 {
		t.Error("EvaluationEnv was not asked")
	}
}

func TestEvaluateMetricsRefuses(t *testing.T) {
	checkLiveTensors(t)
	broken := errors.New("broken")
	for words, cfg := range map[string]trainers.Config{
		"give Config.EvaluationEnv":          {},
		"broken":                             {EvaluationEnv: func(int, int64) (envs.Env, error) { return nil, broken }},
		"returned none":                      {EvaluationEnv: func(int, int64) (envs.Env, error) { return nil, nil }},
		"has 2 environments, want 3":         {EvaluationEnv: func(int, int64) (envs.Env, error) { return lessons(t, 2, true), nil }},
		"evaluation: the environment has ob": {EvaluationEnv: func(int, int64) (envs.Env, error) { e, a := scenes[1].make(t); return e, a.Close() }},
	} {
		m := student(t, lessons(t, 3, false), cfg)
		if _, err := m.EvaluateMetrics(context.Background(), 3, 1); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one with %q", err, words)
		}
	}
	m := scholar(t, 3, trainers.Config{})
	if _, err := m.EvaluateMetrics(context.Background(), 0, 1); err == nil {
		t.Error("no episodes were evaluated")
	}
}

// Figures with dots and slashes in their names, of episodes and of steps, and the measurements behind them.
func TestSamples(t *testing.T) {
	checkLiveTensors(t)
	m := student(t, &talker{Env: lessons(t, 2, true)}, trainers.Config{Seed: 1})
	advance(t, m, 130)
	figures := m.Metrics()
	if x := figures["episode.Curriculum/adr.level"]; x != 130 {
		t.Errorf("of the last step: %g, want 130", x)
	}
	if x := figures["Curriculum/adr.level"]; x != 130 {
		t.Errorf("by its own name: %g, want 130", x)
	}
	if got := m.Samples("episode.Curriculum/adr.level", 3); len(got) != 3 || got[0] != 128 || got[2] != 130 {
		t.Errorf("samples of steps %v", got)
	}
	if got := m.Samples("episode.length", 1000); len(got) != 43+32 || got[0] != 3 { // 130/3 and 130/4 episodes
		t.Errorf("%d lengths %v", len(got), got)
	}
	levels := m.Samples("episode.Curriculum/difficulty_level", 2)
	if len(levels) != 2 || max(levels[0], levels[1]) != 43 {
		t.Errorf("levels %v", levels)
	}
	advance(t, m, 100) // more than are kept
	all := m.Samples("episode.true_objective", 1000)
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	if mean := m.Metrics()["episode.true_objective"]; len(all) != 100 || math.Abs(sum/100-mean) > 1e-12 {
		t.Errorf("%d samples with mean %g, the figure is %g", len(all), sum/100, mean)
	}
	if got := m.Samples("Loss / Value loss", 5); len(got) != 5 || got[4] != m.Metrics()["Loss / Value loss"] {
		t.Errorf("samples of updates %v", got)
	}
	for _, n := range []int{0, -1} {
		if got := m.Samples("episode.length", n); got != nil {
			t.Errorf("%d samples: %v", n, got)
		}
	}
	if got := m.Samples("episode.nothing", 9); got != nil {
		t.Errorf("samples of nothing: %v", got)
	}
	after := student(t, &talker{Env: lessons(t, 2, true)}, trainers.Config{Seed: 1})
	if err := after.Restore(mustSnapshot(t, m)); err != nil || !maps.Equal(after.Metrics(), m.Metrics()) {
		t.Errorf("restored (%v): %v, want %v", err, after.Metrics(), m.Metrics())
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
	k.out.Metrics = map[string]float64{"Curriculum/adr.level": float64(k.steps)}
	return &k.out, nil
}

// Training with parameters costs no allocation more than without.
func TestParametersDoNotAllocate(t *testing.T) {
	checkLiveTensors(t)
	env := lessons(t, 4, true)
	agent, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{4}, "tanh"), Dict: map[string]any{"rollouts": 4096}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{4}, "tanh"), Dict: map[string]any{"rollouts": 4096}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	per := func(env envs.Env, a agents.Agent) float64 {
		m := sequential(t, env, a, trainers.Config{Seed: 1}).Trainee()
		defer m.Close()
		advance(t, m, 50)
		return testing.AllocsPerRun(200, func() { advance(t, m, 1) })
	}
	with, without := per(env, agent), per(&opaque{lessons(t, 4, true)}, plain)
	if with > without {
		t.Errorf("%g allocations a step with parameters, %g without", with, without)
	}
}

// opaque hides what an environment can do beside stepping.
type opaque struct{ envs.Env }

// The weights of a reward's terms are hyperparameters beside the agent's, and can be tuned with them.
func ExampleTrainer_SetHyperparameters() {
	env, err := classic.NewMountainCar(classic.Config{NumEnvs: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := exampleAgent(env)
	defer agent.Close()
	trainer, err := trainers.New(env, agent, trainers.Config{Seed: 1, CloseEnvironmentAtExit: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trainer.Close()
	if err := trainer.SetHyperparameters(map[string]float64{"learning_rate": 3e-4, "env.velocity": 0.5}); err != nil {
		fmt.Println(err)
		return
	}
	h := trainer.Hyperparameters()
	fmt.Println(h["learning_rate"], h["env.velocity"], h["env.height"])
	fmt.Println(trainer.SetHyperparameters(map[string]float64{"env.velocty": 1}))
	// Output:
	// 0.0003 0.5 0
	// trainers: the environment's parameters: envs: there is no reward parameter "velocty": did you mean "velocity"?
}
