package pbt

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

func TestFigureOf(t *testing.T) {
	figures := map[string]float64{
		"episode.return": 1, "episode.length": 2, "Reward / Total reward (mean)": 4, "episode.success": 5, "success": 6,
	}
	own := map[string]float64{"episode.return": 1, "episode.true_objective": 7}
	for _, test := range []struct {
		figures                  map[string]float64
		objective, settled, name string // no name if there is no such figure
	}{
		{figures, "episode.length", "", "episode.length"},
		{figures, "length", "", "episode.length"},
		{figures, "Reward / Total reward (mean)", "", "Reward / Total reward (mean)"},
		{figures, "success", "episode.success", "success"},
		{figures, "true_objective", "episode.return", "episode.return"},
		{figures, "true_objective", "episode.true_objective", ""},
		{figures, "", "", ""},
		{own, "true_objective", "episode.return", "episode.true_objective"},
	} {
		name, value, ok := figureOf(test.figures, test.objective, test.settled)
		if name != test.name || ok != (test.name != "") || ok && value != test.figures[name] {
			t.Errorf("%q (settled %q) is %q %v %t, want %q", test.objective, test.settled, name, value, ok, test.name)
		}
	}
}

// TestReducers compares with figures worked out by hand. What is cautious about a loss is so about a negated objective.
func TestReducers(t *testing.T) {
	x := []float64{1, 2, 6, 3} // the mean is 3, the deviation the root of 14/3
	bound := math.Sqrt(14./3) / 2
	for r, want := range map[Reducer][2]float64{ // to maximise, and to minimise
		"": {3, 3}, ReduceMean: {3, 3}, ReduceMedian: {2.5, 2.5}, ReduceMin: {1, 1}, ReduceMax: {6, 6},
		ReduceLast: {3, 3}, ReduceEMA: {3.144, 3.144}, ReduceLCB: {3 - bound, 3 + bound},
	} {
		for i, minimise := range []bool{false, true} {
			if got := r.reduce(x, minimise); math.Abs(got-want[i]) > 1e-12 {
				t.Errorf("%q (minimise: %t) is %v, want %v", r, minimise, got, want[i])
			}
		}
		if got := r.reduce([]float64{1, 2, math.NaN()}, false); !math.IsNaN(got) || r.reduce([]float64{5}, true) != 5 {
			t.Errorf("%q with a NaN is %v", r, got)
		}
	}
	must.Is(t, ReduceMedian.reduce([]float64{4, 9, 1}, false), 4, "the median of three")
	must.Same(t, x, []float64{1, 2, 6, 3}, "the measurements")
}

// reducers are the known ones, the default first.
var reducers = []Reducer{ReduceMean, ReduceMedian, ReduceMin, ReduceMax, ReduceLast, ReduceEMA, ReduceLCB}

// dictated is a trainee whose figure is what a test says.
type dictated struct {
	*climber
	figure func(steps int64) map[string]float64
}

func (d dictated) Metrics() map[string]float64 { return d.figure(d.steps) }

// sampling knows the measurements behind its figure: an episode every 5 steps.
type sampling struct{ dictated }

func (s sampling) Samples(figure string, n int) []float64 {
	var all []float64
	for step := int64(5); step <= s.steps; step += 5 {
		all = append(all, s.figure(step)[figure])
	}
	return all[max(0, len(all)-n):]
}

// TestMeasure: objectives at the ends of intervals, from figures that are functions of a member's steps.
func TestMeasure(t *testing.T) {
	nan := math.NaN()
	score := func(steps int64) map[string]float64 { return map[string]float64{"score": float64(steps * steps)} }
	for name, test := range map[string]struct {
		interval, total, progress, delay int64
		measure                          Measure
		figure                           func(steps int64) map[string]float64
		samples                          func(d dictated) Trainee
		objectives                       []float64
		last                             strategy.Status
	}{
		"window of readings": {20, 60, 10, 0, Measure{Window: 3}, score, nil,
			[]float64{(100 + 400) / 2., (400 + 900 + 1600) / 3., (1600 + 2500 + 3600) / 3.},
			strategy.Status{Iteration: 3, Samples: 3, HasPeak: true, Peak: (1600 + 2500 + 3600) / 3.}},
		"window of samples": {20, 40, 0, 40, Measure{Window: 2, MinSamples: 5, Reducer: ReduceMax}, score,
			func(d dictated) Trainee { return sampling{d} }, []float64{nan, 1600}, // 4 episodes are not enough
			strategy.Status{Iteration: 2, Samples: 5, HasPeak: true, Peak: 1600}},
		// The peak is the best reading of the interval, not of the one before.
		"peak": {40, 120, 10, 0, Measure{}, func(steps int64) map[string]float64 {
			v := []float64{1, 5, math.NaN(), 2, 7, 1, 4, 3, 0, 6, math.NaN(), 5}[steps/10-1]
			return map[string]float64{"score": v}
		}, nil, []float64{2, 3, 5}, strategy.Status{Iteration: 3, HasPeak: true, Peak: 6}},
		// It is known late, and stays what it was last when it is missing again.
		"comes and goes": {10, 50, 0, 30, Measure{}, func(steps int64) map[string]float64 {
			if steps < 30 || steps == 50 {
				return map[string]float64{"other": 1}
			}
			return score(steps)
		}, nil, []float64{nan, nan, 900, 1600, 1600},
			strategy.Status{Iteration: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newColony(1)
			c.opt.Objective, c.opt.Strategy, c.opt.Measure = "score", strategy.Never{}, test.measure
			c.opt.IntervalSteps, c.opt.TotalSteps, c.opt.ProgressSteps = test.interval, test.total, test.progress
			c.opt.InitialDelay = test.delay
			c.opt.New = func(m Member) (Trainee, error) {
				d := dictated{newClimber(m, c.faults), test.figure}
				if test.samples != nil {
					return test.samples(d), nil
				}
				return d, nil
			}
			p := mustTrain(t, c.opt)
			var objectives []float64
			for _, e := range p.Journal() {
				switch {
				case e.Kind != journal.Keep && e.Kind != journal.Final:
				case e.HasObjective:
					objectives = append(objectives, e.Objective)
				default:
					objectives = append(objectives, nan)
				}
			}
			must.Equal(t, "the objectives", test.objectives, objectives, cmpopts.EquateNaNs())
			s := p.Generation().Members[0]
			last := strategy.Status{Iteration: s.Iteration, Samples: s.Samples, Peak: s.Peak, HasPeak: s.HasPeak}
			must.Equal(t, "the status", test.last, last)
		})
	}
}

// TestMinimise: minimising the loss decides as maximising its negative does, also when it is continued.
func TestMinimise(t *testing.T) {
	t.Parallel()
	up, down := newColony(5), newColony(5)
	down.opt.Directory, down.opt.Objective, down.opt.Measure.Minimise = t.TempDir(), "loss", true
	a, b := mustTrain(t, up.opt), mustTrain(t, down.opt)
	want := a.Journal()
	want[0] = b.Journal()[0]
	for i := range want {
		if want[i].HasObjective {
			want[i].Objective *= -1
		}
	}
	must.Equal(t, "the journal", want, b.Journal())
	x, y := a.Table().Rows[0], b.Table().Rows[0]
	if y.Objective != -x.Objective || y.Objective < 0 || y.Peak != -x.Peak || !want[0].Run.Minimise {
		t.Errorf("the table says %v, peak %v", y.Objective, y.Peak)
	}
	mustClose(t, b)
	for _, b := range []*Population{b, mustNew(t, down.opt)} {
		must.Equal(t, "the members", a.Generation(), b.Generation())
		if x, y := a.Best(), b.Best(); x.Objective != -y.Objective || x.Member != y.Member {
			t.Errorf("the best are %v and %v", x.Objective, y.Objective)
		}
	}
}

// examined can be evaluated: without noise, and by another number than its training's.
type examined struct {
	*climber
	evaluate func(c *climber) error
}

func (e examined) CheckEvaluation() error { return nil }

func (e examined) EvaluateMetrics(ctx context.Context, episodes int, seed int64) (map[string]float64, error) {
	if e.evaluate != nil {
		if err := e.evaluate(e.climber); err != nil {
			return nil, err
		}
	}
	return map[string]float64{"episode.score": e.x[0] + float64(episodes) + float64(seed), "episode.x": 1}, ctx.Err()
}

func newExamined(members int, evaluate func(c *climber) error) *colony {
	c := newColony(members)
	c.opt.Objective, c.opt.Parallel = "score", 1
	c.opt.Measure = Measure{EvaluationEpisodes: 20, EvaluationSeed: 1000}
	c.opt.New = func(m Member) (Trainee, error) {
		t, err := c.build(m)
		return examined{t.(*climber), evaluate}, err
	}
	return c
}

// TestEvaluation: the objective comes from one evaluation an interval; one that fails makes the member fail; and a
// population that is stopped in the middle of evaluations goes on to the same end.
func TestEvaluation(t *testing.T) {
	calls := 0
	c := newExamined(3, func(*climber) error { calls++; return nil })
	c.opt.ProgressSteps = 10
	c.opt.Progress = func(u Update) {
		if u.Event == nil && u.Iteration == 1 && u.Status.HasObjective {
			t.Errorf("before the evaluation the objective is %v", u.Status.Objective)
		}
	}
	p := mustTrain(t, c.opt)
	must.Is(t, calls, 3*10, "evaluations")
	for i, s := range p.Generation().Members {
		want := c.built[i].x[0] + 1020
		if s.Objective != want || s.Peak != want || s.Samples != 20 || s.Iteration != 10 {
			t.Errorf("member %d is %+v, want an objective of %v", i, s, want)
		}
	}

	got, breaks := interrupted(t, func() int64 { return 5 }, func(stop func()) *colony {
		n := 0
		c := newExamined(3, func(*climber) error {
			stop()
			if n++; n == 5 {
				return context.Canceled
			}
			return nil
		})
		c.opt.ProgressSteps = 10
		return c
	})
	if compare(t, p, got); breaks < 3 {
		t.Errorf("only %d interruptions", breaks)
	}

	c = newExamined(3, func(m *climber) error {
		if m == c.built[1] && m.steps == 100 {
			panic("no display")
		}
		return nil
	})
	failed := kinds(mustTrain(t, c.opt).Journal(), journal.Failed)
	if len(failed) != 1 || failed[0].Member != 1 || failed[0].Iteration != 2 || len(c.built) != 4 ||
		!strings.HasPrefix(failed[0].Cause, "evaluation: panic: no display at pbt.TestEvaluation") {
		t.Errorf("failures are %+v", failed)
	}
}
