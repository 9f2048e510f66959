package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// onEvaluation is a callback after every evaluation.
type onEvaluation struct {
	trainers.BaseCallback
	f func(tr *trainers.Trainer, e trainers.Evaluation) error
}

func (o onEvaluation) OnEvaluation(tr *trainers.Trainer, e trainers.Evaluation) error {
	return o.f(tr, e)
}

// Evaluations change nothing of a run: weights, scalers, random numbers, environment, episodes, what callbacks see and what
// is written come to the same, bit for bit, in place and in an environment of their own, also over a resumption.
func TestEvaluationDoesNotDisturb(t *testing.T) {
	checkLiveTensors(t)
	for _, s := range slices.Concat(scenes, recurrent, []scene{terminating}) {
		t.Run(s.name, func(t *testing.T) {
			train := func(interval int, apart bool, parts ...int) (*checkpoint.Snapshot, map[string]float64, string, []string) {
				cfg := run(t, length)
				cfg.WriteInterval, cfg.EvaluationInterval, cfg.EvaluationSeed = every(1), every(interval), 3
				if apart {
					cfg.EvaluationEnv = func(int, int64) (envs.Env, error) {
						env, agent := s.make(t)
						return env, agent.Close()
					}
				}
				var seen strings.Builder
				var evaluated []string
				cfg.Callbacks = []trainers.Callback{trainers.StepFunc(func(_ *trainers.Trainer, s *envs.Step) error {
					fmt.Fprintln(&seen, s.Observations, s.States, s.Rewards, s.Terminated, s.Truncated, s.AMPObservations, s.Episodes, s.Metrics)
					return nil
				}), onEvaluation{f: func(tr *trainers.Trainer, e trainers.Evaluation) error {
					evaluated = append(evaluated, fmt.Sprint(tr.Timestep(), e))
					return nil
				}}}
				for i, timesteps := range parts {
					cfg.Timesteps = timesteps
					tr, done := s.start(t, cfg)
					if err := tr.Train(t.Context()); err != nil {
						t.Fatal(err)
					}
					if i == len(parts)-1 {
						snap, err := tr.Snapshot()
						if err != nil {
							t.Fatal(err)
						}
						list, err := tracking.ReadRun(tr.Dir())
						if err != nil {
							t.Fatal(err)
						}
						for _, x := range list {
							if !strings.HasPrefix(x.Tag, "Stats / ") && !strings.HasPrefix(x.Tag, "Evaluation / ") {
								fmt.Fprintln(&seen, x.Tag, x.Step, x.Value)
							}
						}
						defer done()
						return snap, episodes(tr), seen.String(), evaluated
					}
					done()
				}
				return nil, nil, "", nil
			}
			want, figures, saw, none := train(0, false, length)
			if len(none) != 0 {
				t.Errorf("without an interval there were %d evaluations", len(none))
			}
			var first []string
			for name, test := range map[string]struct {
				apart bool
				parts []int
			}{"in place": {false, []int{length}}, "apart": {true, []int{length}}, "in place, resumed": {false, []int{21, 35, length}}, "apart, resumed": {true, []int{30, length}}} {
				got, gotFigures, gotSaw, evaluations := train(5, test.apart, test.parts...)
				if d := agenttest.Differences(want, got, "trainer"); len(d) > 0 {
					t.Errorf("%s: %q differ", name, d)
				}
				if !maps.Equal(figures, gotFigures) {
					t.Errorf("%s: episodes %v, want %v", name, gotFigures, figures)
				}
				if gotSaw != saw {
					t.Errorf("%s: callbacks or files saw something else", name)
				}
				// The schedule is that of the run, and each evaluation the same, however the run is cut.
				if first == nil {
					first = evaluations
				}
				if len(evaluations) != length/5 || !slices.Equal(evaluations, first) {
					t.Errorf("%s: evaluations %v, want %d, and %v", name, evaluations, length/5, first)
				}
			}
		})
	}
}

// graded is an environment whose episodes have the return that is due.
type graded struct {
	envs.Env
	grade float64
}

func (g *graded) Step(actions []float32) (*envs.Step, error) {
	s, err := g.Env.Step(actions)
	if err != nil {
		return nil, err
	}
	for i := range s.Episodes {
		s.Episodes[i].Return = g.grade + float64(i%2*2-1) // the mean of four is the grade, or nearly so
		s.Episodes[i].Metrics = map[string]float64{"success": g.grade / 100}
	}
	return s, nil
}

// grades makes environments for evaluation, each with the next grade.
func grades(t *testing.T, list ...float64) func(int, int64) (envs.Env, error) {
	return func(n int, _ int64) (envs.Env, error) {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: n, MaxEpisodeSteps: 1})
		if err != nil || len(list) == 0 {
			t.Fatal("an evaluation too many", err)
		}
		g := &graded{env, list[0]}
		list = list[1:]
		return g, nil
	}
}

// best returns the best checkpoint of a trainer, nil where there is none.
func best(t *testing.T, tr *trainers.Trainer) *checkpoint.Saved {
	t.Helper()
	store, err := checkpoint.NewStore(filepath.Join(tr.Dir(), "checkpoints"), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	saved, damaged, err := store.Best()
	if errors.Is(err, checkpoint.ErrNone) {
		return nil
	}
	if err != nil || len(damaged) > 0 {
		t.Fatal(err, damaged)
	}
	return saved
}

// The figures of evaluations are known by name, written at the timestep of the evaluation, and choose the best
// checkpoint, which has the weights that were evaluated.
func TestEvaluationFigures(t *testing.T) {
	checkLiveTensors(t)
	cfg := trainers.Config{Timesteps: 50, Seed: 11, Directory: t.TempDir(), Name: "run", WriteInterval: every(7), CheckpointInterval: every(3),
		EvaluationInterval: every(10), EvaluationEpisodes: 4, EvaluationEnv: grades(t, 10, 40, 30, 35, 20)}
	var evaluated *checkpoint.Snapshot
	cfg.Callbacks = []trainers.Callback{onEvaluation{f: func(tr *trainers.Trainer, e trainers.Evaluation) error {
		m := tr.Metrics()
		if m["evaluation.return"] != e.Return || m["evaluation.length"] != 1 || m["evaluation.success"] != e.Return/100 || e.Episodes != 4 {
			t.Errorf("figures %v of %+v", m, e)
		}
		if tr.Timestep() == 20 {
			var err error
			if evaluated, err = tr.Snapshot(); err != nil {
				t.Error(err)
			}
		}
		return nil
	}}}
	tr, done := scenes[0].start(t, cfg)
	defer done()
	if err := tr.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]string{"Return (mean)": "[10 40 30 35 20]", "Return (min)": "[9 39 29 34 19]", "Return (max)": "[11 41 31 36 21]",
		"Length (mean)": "[1 1 1 1 1]", "Length (min)": "[1 1 1 1 1]", "Length (max)": "[1 1 1 1 1]", "success": "[0.1 0.4 0.3 0.35 0.2]"} {
		var steps []int64
		var values []float64
		for _, x := range scalars(t, tr.Dir())["Evaluation / "+tag] {
			steps, values = append(steps, x.Step), append(values, math.Round(x.Value*1e6)/1e6)
		}
		if fmt.Sprint(steps) != "[10 20 30 40 50]" || fmt.Sprint(values) != want {
			t.Errorf("%s: %v at %v, want %s at 10, 20, ...", tag, values, steps, want)
		}
	}
	saved := best(t, tr)
	if saved == nil || saved.Manifest.Step != 20 {
		t.Fatalf("the best checkpoint is %+v, want that of timestep 20", saved)
	}
	if d := agenttest.Differences(agenttest.Through(t, evaluated), saved.Snapshot); len(d) > 0 {
		t.Errorf("the best checkpoint and what was evaluated differ in %q", d)
	}
}

// The best checkpoint stays the best over a resumption, also where the run died after it and before the next checkpoint;
// one of another figure does not count.
func TestEvaluationBestAfterResume(t *testing.T) {
	checkLiveTensors(t)
	died := errors.New("died")
	cfg := run(t, 40)
	cfg.CheckpointInterval, cfg.EvaluationInterval, cfg.EvaluationEpisodes = every(15), every(10), 4
	for i, part := range []struct {
		grades []float64
		dies   int64 // at the evaluation of this timestep
		best   string
		want   int64
	}{
		{[]float64{5, 50}, 20, "", 20},
		{[]float64{30, 20, 45}, 0, "", 20}, // from 15 on, so that 20, 30 and 40 are evaluated
		{[]float64{49, 60}, 0, "", 60},
		{[]float64{1}, 0, "evaluation.success", 70},
	} {
		cfg.Timesteps, cfg.Best = []int{40, 40, 60, 70}[i], part.best
		cfg.EvaluationEnv = grades(t, part.grades...)
		cfg.Callbacks = []trainers.Callback{onEvaluation{f: func(tr *trainers.Trainer, _ trainers.Evaluation) error {
			if tr.Timestep() == part.dies {
				return died
			}
			return nil
		}}}
		tr, done := scenes[0].start(t, cfg)
		if err := tr.Train(t.Context()); err != nil && !(part.dies > 0 && errors.Is(err, died)) {
			t.Fatal(err)
		}
		if saved := best(t, tr); saved == nil || saved.Manifest.Step != part.want {
			t.Errorf("part %d: the best checkpoint is %+v, want that of timestep %d", i, saved, part.want)
		}
		done()
	}
}

// An evaluation that is interrupted is made after the resumption, before the next step.
func TestEvaluationInterrupted(t *testing.T) {
	checkLiveTensors(t)
	for _, again := range []bool{false, true} { // by a new trainer, and by the same
		cfg := run(t, 30)
		cfg.EvaluationInterval, cfg.EvaluationEpisodes = every(10), 4
		var at []int64
		cfg.Callbacks = []trainers.Callback{onEvaluation{f: func(tr *trainers.Trainer, _ trainers.Evaluation) error {
			at = append(at, tr.Timestep())
			return nil
		}}}
		ctx, cancel := context.WithCancel(t.Context())
		make, made := grades(t, 1, 2, 3, 4), 0
		cfg.EvaluationEnv = func(n int, seed int64) (envs.Env, error) {
			if made++; made == 2 {
				cancel()
			}
			return make(n, seed)
		}
		tr, done := scenes[0].start(t, cfg)
		if err := tr.Train(ctx); !errors.Is(err, context.Canceled) || tr.Timestep() != 20 {
			t.Fatalf("%v at timestep %d", err, tr.Timestep())
		}
		if !again {
			done()
			tr, done = scenes[0].start(t, cfg)
		}
		if err := tr.Train(t.Context()); err != nil || fmt.Sprint(at) != "[10 20 30]" {
			t.Errorf("%v; evaluations at %v, want 10, 20 and 30", err, at)
		}
		done()
	}
}

// StopAtReturn ends the run well at the first evaluation that reaches it.
func TestStopAtReturn(t *testing.T) {
	checkLiveTensors(t)
	goal := 50.0
	cfg := trainers.Config{Timesteps: 100, Directory: t.TempDir(), Name: "run", EvaluationInterval: agents.Interval{Auto: true}, EvaluationEpisodes: 4,
		EvaluationEnv: grades(t, 10, 49, 50), StopAtReturn: &goal}
	tr, done := scenes[0].start(t, cfg)
	defer done()
	if err := tr.Train(t.Context()); err != nil || tr.Timestep() != 30 {
		t.Errorf("%v at timestep %d, want an end at 30", err, tr.Timestep())
	}
	if saved := best(t, tr); saved == nil || saved.Manifest.Step != 30 {
		t.Errorf("the best checkpoint is %+v", saved)
	}
	if names := checkpoints(t, tr.Dir()); len(names) != 1 || filepath.Base(names[0]) != "agent_30.safetensors" {
		t.Errorf("checkpoints %q", names)
	}
}

// StopAtEpisodeReturn ends the run after the first update at which the mean of the last episodes is above it.
func TestStopAtEpisodeReturn(t *testing.T) {
	checkLiveTensors(t)
	goal, above := 1.0, 1e9
	for _, x := range []struct {
		goal *float64
		end  func(n int64) bool
	}{
		{nil, func(n int64) bool { return n == 200 }},
		{&above, func(n int64) bool { return n == 200 }},
		{&goal, func(n int64) bool { return n < 200 && n%8 == 0 }}, // at the end of a rollout
	} {
		tr, done := scenes[0].start(t, trainers.Config{Timesteps: 200, StopAtEpisodeReturn: x.goal})
		if err := tr.Train(t.Context()); err != nil || !x.end(tr.Timestep()) {
			t.Errorf("goal %v: %v at timestep %d with %v", x.goal, err, tr.Timestep(), tr.Metrics()["episode.return"])
		}
		done()
	}
}

// Settings of evaluation that cannot be met are refused before anything is made, and by populations.
func TestEvaluationRefused(t *testing.T) {
	checkLiveTensors(t)
	goal, nan := 1.0, math.NaN()
	for want, cfg := range map[string]trainers.Config{
		`"stop_at_return" needs "evaluation_interval"`: {StopAtReturn: &goal},
		`"stop_at_return" is NaN`:                      {StopAtReturn: &nan, EvaluationInterval: every(5)},
		`which need "evaluation_interval"`:             {Best: "evaluation.return"},
		`"evaluation_episodes" is -1`:                  {EvaluationEpisodes: -1},
		"give Config.EvaluationEnv":                    {EvaluationInterval: every(5)},
	} {
		env, agent := scenes[0].make(t)
		if _, err := trainers.New(&opaque{env}, agent, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		if err := errors.Join(env.Close(), agent.Close()); err != nil {
			t.Error(err)
		}
	}
	env, agent := scenes[0].make(t)
	_, err := trainers.NewTrainee(env, func() (agents.Agent, error) { return agent, nil }, trainers.Config{EvaluationInterval: every(5)})
	tr, done := scenes[0].start(t, trainers.Config{EvaluationInterval: every(5)})
	defer done()
	for _, err := range []error{err, tr.Trainee().Train(t.Context(), 8)} {
		if err == nil || !strings.Contains(err.Error(), "a population evaluates its members itself") {
			t.Errorf("a population: %v", err)
		}
	}
	if err := agent.Close(); err != nil { // build was not called
		t.Error(err)
	}
}

// A figure of Best that does not exist is an error: soon where it is a slip, and otherwise at the end of the run, which
// is saved. One that comes late is none.
func TestUnknownBest(t *testing.T) {
	checkLiveTensors(t)
	for _, test := range []struct {
		best     string
		interval int
		end      bool
		want     []string
	}{
		{"episode.retrun", 0, false, []string{`"best" is "episode.retrun"`, `did you mean "episode.return"?`}},
		{"episode.success", 0, true, []string{`"best" is "episode.success"`, "episode.length, episode.return"}},
		{"evaluation.retrun", 10, false, []string{`did you mean "evaluation.return"?`}},
		{"evaluation.succes", 10, false, []string{`did you mean "evaluation.success"?`}},
		{"evaluation.speed", 10, true, []string{"evaluation.length, evaluation.return"}},
		{"episode.return", 10, true, nil},
		{"evaluation.success", 10, true, nil},
		{"Loss / Policy loss", 0, true, nil},
		{"", 0, true, nil},
	} {
		cfg := trainers.Config{Timesteps: 60, Seed: 11, Directory: t.TempDir(), Name: "run", Best: test.best, EvaluationInterval: every(test.interval)}
		if test.interval > 0 {
			cfg.EvaluationEnv = grades(t, 1, 2, 3, 4, 5, 6)
		}
		tr, done := scenes[0].start(t, cfg)
		err := tr.Train(t.Context())
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want an error with %q", test.best, err, want)
			}
		}
		if test.want == nil && err != nil {
			t.Errorf("%s: %v", test.best, err)
		}
		if end := tr.Timestep() == 60; end != test.end || end != (len(checkpoints(t, tr.Dir())) == 1) {
			t.Errorf("%s: ended at timestep %d with %d checkpoints", test.best, tr.Timestep(), len(checkpoints(t, tr.Dir())))
		}
		done()
	}
	// Where no episode has ended there is no figure yet.
	tr, done := scenes[0].start(t, trainers.Config{Timesteps: 1, Directory: t.TempDir(), Name: "run", Best: "episode.success"})
	defer done()
	if err := tr.Train(t.Context()); err != nil {
		t.Error(err)
	}
}

// YAML has the settings under their own names, and evaluate_every besides.
func TestEvaluationFromDict(t *testing.T) {
	checkLiveTensors(t)
	for _, key := range []string{"evaluation_interval", "evaluate_every"} {
		env, agent := scenes[0].make(t)
		if err := agent.Close(); err != nil {
			t.Fatal(err)
		}
		at := 0
		tr, err := trainers.FromDict(map[string]any{
			"seed": 1, "models": map[string]any{"mlp": 8, "activation": "tanh"}, "agent": map[string]any{"class": "PPO", "rollouts": 8},
			"trainer": map[string]any{"class": "SequentialTrainer", "timesteps": 20, key: 10, "evaluation_episodes": 4, "evaluation_seed": 3, "stop_at_return": 1,
				"write_interval": 0, "checkpoint_interval": 0, "directory": ""},
		}, env, func(c *trainers.Config) {
			c.Callbacks = []trainers.Callback{onEvaluation{f: func(tr *trainers.Trainer, e trainers.Evaluation) error {
				at = int(tr.Timestep())
				return nil
			}}}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Train(t.Context()); err != nil || at != 10 || tr.Timestep() != 10 {
			t.Errorf("%s: %v; evaluated at %d, ended at %d, want 10", key, err, at, tr.Timestep())
		}
		section := tr.Dict()["trainer"].(map[string]any)
		if section["best"] != "evaluation.return" || section["stop_at_return"] != 1.0 || fmt.Sprint(section["evaluation_seed"]) != "3" {
			t.Errorf("%s: the configuration in effect is %v", key, section)
		}
		if err := errors.Join(tr.Close(), tr.Agent().Close()); err != nil {
			t.Error(err)
		}
	}
}

// Training ends early, at the first evaluation that reaches a return.
func ExampleConfig() {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer env.Close()
	agent := exampleAgent(env)
	defer agent.Close()
	enough := 9.0 // any policy balances the pole for so long
	trainer, err := trainers.New(env, agent, trainers.Config{
		Timesteps: 1000, EvaluationInterval: agents.Interval{Steps: 100}, EvaluationEpisodes: 16, StopAtReturn: &enough,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trainer.Close()
	err = trainer.Train(context.Background())
	fmt.Println(trainer.Timestep(), trainer.Metrics()["evaluation.return"] >= enough, err)
	// Output: 100 true <nil>
}
