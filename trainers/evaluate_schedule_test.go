package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
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

// Evaluations and films change nothing of a run: weights, scalers, random numbers, environment, episodes, what
// callbacks see and what is written come to the same, bit for bit, in place and in an environment of their own, also
// over a resumption and with sampled actions.
func TestEvaluationDoesNotDisturb(t *testing.T) {
	for _, s := range slices.Concat(scenes, seats, []scene{recurrent, terminating}) {
		t.Run(s.name, func(t *testing.T) {
			// train runs the scene in parts. It returns its state, what callbacks saw and what was written, and the
			// evaluations.
			train := func(interval int, apart, stochastic bool, parts ...int) (snap *checkpoint.Snapshot, seen,
				evaluated []string) {
				cfg := run(t, length)
				cfg.WriteInterval, cfg.EvaluationInterval, cfg.EvaluationSeed = every(1), every(interval), 3
				cfg.StochasticEvaluation = stochastic
				if apart {
					cfg.EvaluationEnv = func(int, int64) (envs.Env, error) {
						env, agent := s.make(t)
						return env, agent.Close()
					}
				}
				if s.name != terminating.name { // which does not draw
					cfg.VideoInterval, cfg.VideoLength = every(interval), 3
				}
				cfg.Callbacks = []trainers.Callback{trainers.StepFunc(func(_ *trainers.Trainer, s *envs.Step) error {
					seen = append(seen, fmt.Sprint(s.Observations, s.States, s.Rewards, s.Terminated, s.Truncated,
						s.AMPObservations, s.Episodes, s.Metrics, s.Seats))
					return nil
				}), onEvaluation{f: func(tr *trainers.Trainer, e trainers.Evaluation) error {
					evaluated = append(evaluated, fmt.Sprint(tr.Timestep(), e))
					return nil
				}}}
				for _, cfg.Timesteps = range parts {
					tr, done := s.start(t, cfg)
					must(t, tr.Train(t.Context()))
					if cfg.Timesteps == length {
						snap, seen = value(tr.Snapshot())(t), append(seen, fmt.Sprint(episodes(tr)))
						for _, row := range figures(t, tr.Dir()) {
							if !strings.Contains(row, " Evaluation / ") {
								seen = append(seen, row)
							}
						}
					}
					done()
				}
				return snap, seen, evaluated
			}
			want, saw, _ := train(0, false, false, length)
			evaluated := map[bool][]string{} // by whether actions are sampled
			for name, test := range map[string]struct {
				apart, stochastic bool
				parts             []int
			}{
				"in place":          {parts: []int{21, 35, length}},
				"apart":             {apart: true, parts: []int{30, length}},
				"sampled":           {stochastic: true, parts: []int{length}},
				"sampled and apart": {apart: true, stochastic: true, parts: []int{21, length}},
			} {
				got, gotSaw, evaluations := train(5, test.apart, test.stochastic, test.parts...)
				if d := agenttest.Differences(want, got, "trainer"); len(d) > 0 || !slices.Equal(saw, gotSaw) {
					t.Errorf("%s: %q differ, or what callbacks or files saw", name, d)
				}
				// The schedule is that of the run, and each evaluation the same, however the run is cut.
				first := evaluated[test.stochastic]
				if evaluated[test.stochastic] = evaluations; first == nil {
					first = evaluations
				}
				if len(evaluations) != length/5 || !slices.Equal(evaluations, first) {
					t.Errorf("%s: evaluations %v, want %d, and %v", name, evaluations, length/5, first)
				}
			}
			if slices.Equal(evaluated[false], evaluated[true]) {
				t.Error("evaluations do not sample actions")
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
	store := value(checkpoint.NewStore(filepath.Join(tr.Dir(), "checkpoints"), checkpoint.Options{}))(t)
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
	cfg := trainers.Config{Timesteps: 50, Seed: 11, Directory: t.TempDir(), Name: "run", WriteInterval: every(7),
		CheckpointInterval: every(3), Keep: 2,
		EvaluationInterval: every(10), EvaluationEpisodes: 4, EvaluationEnv: grades(t, 10, 40, 30, 35, 20)}
	var evaluated *checkpoint.Snapshot
	cfg.Callbacks = []trainers.Callback{onEvaluation{f: func(tr *trainers.Trainer, e trainers.Evaluation) error {
		m := tr.Metrics()
		if m["evaluation.return"] != e.Return || m["evaluation.length"] != 1 ||
			m["evaluation.success"] != e.Return/100 || e.Episodes != 4 {
			t.Errorf("figures %v of %+v", m, e)
		}
		if tr.Timestep() == 20 {
			evaluated = value(tr.Snapshot())(t)
		}
		return nil
	}}}
	tr := scenes[0].trained(t, cfg)
	for tag, want := range map[string]string{"Return (mean)": "10:10 20:40 30:30 40:35 50:20 ",
		"Return (min)": "10:9 20:39 30:29 40:34 50:19 ", "Return (max)": "10:11 20:41 30:31 40:36 50:21 ",
		"Length (mean)": "10:1 20:1 30:1 40:1 50:1 ", "success": "10:0.1 20:0.4 30:0.3 40:0.35 50:0.2 "} {
		got := ""
		for _, x := range scalars(t, tr.Dir())["Evaluation / "+tag] {
			got += fmt.Sprintf("%d:%.3g ", x.Step, x.Value)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", tag, got, want)
		}
	}
	if names := checkpoints(t, tr.Dir()); len(names) != 2 {
		t.Errorf("checkpoints %q, want two", names)
	}
	saved := best(t, tr)
	if d := agenttest.Differences(agenttest.Through(t, evaluated), saved.Snapshot); len(d) > 0 {
		t.Errorf("the best checkpoint and what was evaluated differ in %q", d)
	}
}

// The best checkpoint stays the best over a resumption, also where the run died after it and before the next
// checkpoint; one of another figure does not count.
func TestEvaluationBestAfterResume(t *testing.T) {
	died := errors.New("died")
	cfg := run(t, 40)
	cfg.CheckpointInterval, cfg.EvaluationInterval, cfg.EvaluationEpisodes = every(15), every(10), 4
	for i, part := range []struct {
		timesteps int
		grades    []float64
		dies      int64 // at the evaluation of this timestep
		best      string
		want      int64
	}{
		{40, []float64{5, 50}, 20, "", 20},
		{40, []float64{30, 20, 45}, 0, "", 20}, // from 15 on, so that 20, 30 and 40 are evaluated
		{60, []float64{49, 60}, 0, "", 60},
		{70, []float64{1}, 0, "evaluation.success", 70},
	} {
		cfg.Timesteps, cfg.Best = part.timesteps, part.best
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
	cfg := run(t, 30)
	cfg.EvaluationInterval, cfg.EvaluationEpisodes = every(10), 4
	var at []int64
	cfg.Callbacks = []trainers.Callback{onEvaluation{f: func(tr *trainers.Trainer, _ trainers.Evaluation) error {
		at = append(at, tr.Timestep())
		return nil
	}}}
	ctx, cancel := context.WithCancel(t.Context())
	make := grades(t, 1, 2, 3, 4)
	cfg.EvaluationEnv = func(n int, seed int64) (envs.Env, error) {
		if len(at) == 1 { // the second one
			cancel()
		}
		return make(n, seed)
	}
	tr, done := scenes[0].start(t, cfg)
	wantError(t, "the second evaluation", tr.Train(ctx), "timestep 20: context canceled")
	done()
	if train(t, scenes[0], cfg); fmt.Sprint(at) != "[10 20 30]" {
		t.Errorf("evaluations at %v, want 10, 20 and 30", at)
	}
}

// StopAtReturn ends the run at the first evaluation that reaches it, which is saved. StopAtEpisodeReturn ends it after
// the first update at which the mean of the last episodes is above it.
func TestStopAtReturn(t *testing.T) {
	goal, low, high := 50.0, 1.0, 1e9
	for _, x := range []struct {
		cfg         trainers.Config
		first, last int64
	}{
		{trainers.Config{Timesteps: 100, Directory: t.TempDir(), Name: "run", StopAtReturn: &goal,
			EvaluationEpisodes: 4, EvaluationInterval: agents.Interval{Auto: true},
			EvaluationEnv: grades(t, 10, 49, 50)}, 30, 30},
		{trainers.Config{Timesteps: 200, StopAtEpisodeReturn: &low}, 8, 192},
		{trainers.Config{Timesteps: 200, StopAtEpisodeReturn: &high}, 200, 200},
	} {
		tr := scenes[0].trained(t, x.cfg)
		if n := tr.Timestep(); n < x.first || n > x.last || n != 30 && n%8 != 0 { // a rollout has 8 timesteps
			t.Errorf("%+v: ended at timestep %d", x.cfg, n)
		}
		if x.cfg.Name != "" && (len(checkpoints(t, tr.Dir())) != 1 || best(t, tr).Manifest.Step != 30) {
			t.Errorf("the best checkpoint is %+v, all are %q", best(t, tr), checkpoints(t, tr.Dir()))
		}
	}
}

// A figure of Best that does not exist is an error: soon if it is a slip, and otherwise at the end of the run, which is
// saved. A figure that comes late is none.
func TestUnknownBest(t *testing.T) {
	for _, test := range []struct {
		best, want string // empty: no error
		end        int64
	}{
		{"evaluation.succes", `there is no such figure: did you mean "evaluation.success"?`, 10},
		{"episode.success", "episode.length, episode.return", 60},
		{"evaluation.success", "", 60},
	} {
		tr := scenes[0].open(t, trainers.Config{Timesteps: 60, Seed: 11, Directory: t.TempDir(), Name: "run",
			Best: test.best, EvaluationInterval: every(10), EvaluationEnv: grades(t, 1, 2, 3, 4, 5, 6)})
		err := tr.Train(t.Context())
		if test.want != "" {
			wantError(t, test.best, err, test.want)
		} else {
			must(t, err)
		}
		if saved := checkpoints(t, tr.Dir()); tr.Timestep() != test.end || (len(saved) == 1) != (test.end == 60) {
			t.Errorf("%s: %v at timestep %d with %d checkpoints", test.best, err, tr.Timestep(), len(saved))
		}
	}
}
