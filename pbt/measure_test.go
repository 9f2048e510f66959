package pbt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

func TestFigureOf(t *testing.T) {
	figures := map[string]float64{
		"episode.return": 1, "episode.length": 2, "episode.Curriculum/difficulty_level": 3, "Reward / Total reward (mean)": 4,
		"episode.success": 5, "success": 6,
	}
	for _, test := range []struct {
		objective, settled, name string
		ok                       bool
	}{
		{"episode.length", "", "episode.length", true},
		{"length", "", "episode.length", true},
		{"episode.Curriculum/difficulty_level", "", "episode.Curriculum/difficulty_level", true},
		{"Curriculum/difficulty_level", "", "episode.Curriculum/difficulty_level", true},
		{"Reward / Total reward (mean)", "", "Reward / Total reward (mean)", true},
		{"success", "", "success", true},
		{"success", "episode.success", "success", true},
		{"true_objective", "", "episode.return", true},
		{"true_objective", "episode.return", "episode.return", true},
		{"true_objective", "episode.true_objective", "", false},
		{"episode.true_objective", "", "", false},
		{"reward", "", "", false},
		{"", "", "", false},
	} {
		name, value, ok := figureOf(figures, test.objective, test.settled)
		if name != test.name || ok != test.ok || ok && value != figures[name] {
			t.Errorf("%q (settled %q) is %q %v %t, want %q", test.objective, test.settled, name, value, ok, test.name)
		}
	}
	figures["episode.true_objective"] = 7
	for _, settled := range []string{"", "episode.return", "episode.true_objective"} {
		if name, value, ok := figureOf(figures, "true_objective", settled); name != "episode.true_objective" || value != 7 || !ok {
			t.Errorf("true_objective (settled %q) is %q %v %t", settled, name, value, ok)
		}
	}
}

// TestReducers compares with formulas written out, and checks what must hold of any average.
func TestReducers(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)+math.Abs(b)) }
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		x := make([]float64, 1+rng.IntN(12))
		for i := range x {
			x[i] = math.Round(rng.NormFloat64()*8) / 4 // equal ones among them
		}
		n := float64(len(x))
		sum, ema := 0.0, 0.0
		for i, v := range x {
			sum += v
			// The weight of each measurement in a moving average, written out.
			a := 2 / (n + 1)
			w := a * math.Pow(1-a, float64(len(x)-1-i))
			if i == 0 {
				w = math.Pow(1-a, n-1)
			}
			ema += w * v
		}
		mean := sum / n
		squares := 0.0
		for _, v := range x {
			squares += (v - mean) * (v - mean)
		}
		bound := 0.0
		if len(x) > 1 {
			bound = math.Sqrt(squares/(n-1)) / math.Sqrt(n)
		}
		sorted := slices.Sorted(slices.Values(x))
		want := map[Reducer]float64{
			"": mean, ReduceMean: mean, ReduceMedian: (sorted[(len(x)-1)/2] + sorted[len(x)/2]) / 2, ReduceMin: sorted[0], ReduceMax: sorted[len(x)-1],
			ReduceLast: x[len(x)-1], ReduceEMA: ema, ReduceLCB: mean - bound,
		}
		before := slices.Clone(x)
		for r, w := range want {
			if got := r.reduce(x, false); !near(got, w) {
				t.Errorf("%q of %v is %v, want %v", r, x, got, w)
			}
			up, down := r.reduce(x, true), -r.reduce(negated(x), false)
			switch r { // what is cautious about a loss is so about the negated objective
			case ReduceMin, ReduceMax:
			default:
				if !near(up, down) {
					t.Errorf("%q of %v is %v to minimise, and %v of the negated ones", r, x, up, down)
				}
			}
			shifted := slices.Clone(x)
			for i := range shifted {
				shifted[i] = 3*x[i] + 5
			}
			if got := r.reduce(shifted, false); !near(got, 3*w+5) {
				t.Errorf("%q of 3x+5 is %v, want %v", r, got, 3*w+5)
			}
			if got := r.reduce(x, false); r != ReduceLCB && (got < sorted[0]-1e-9 || got > sorted[len(x)-1]+1e-9) {
				t.Errorf("%q of %v is %v", r, x, got)
			}
			if !slices.Equal(x, before) {
				t.Fatalf("%q changed its argument", r)
			}
			if got := r.reduce(slices.Repeat([]float64{0.25}, len(x)), false); got != 0.25 {
				t.Errorf("%q of equal ones is %v", r, got)
			}
		}
	}
	for _, r := range reducers {
		if got := r.reduce([]float64{1, 2, math.NaN()}, false); !math.IsNaN(got) {
			t.Errorf("%q with a NaN is %v", r, got)
		}
	}
	if got := ReduceMedian.reduce([]float64{math.Inf(1), math.Inf(1)}, false); !math.IsInf(got, 1) {
		t.Errorf("the median of infinities is %v", got)
	}
}

func negated(x []float64) []float64 {
	n := slices.Clone(x)
	for i := range n {
		n[i] = -n[i]
	}
	return n
}

// dictated is a trainee whose figure is what a test says.
type dictated struct {
	*climber
	figure func(steps int64) map[string]float64
}

func (d dictated) Metrics() map[string]float64 { return d.figure(d.steps) }

// sampling knows the measurements behind its figure.
type sampling struct {
	dictated
	asked *[]int
}

func (s sampling) Samples(figure string, n int) []float64 {
	*s.asked = append(*s.asked, n)
	var all []float64
	for step := int64(5); step <= s.steps; step += 5 { // an episode every 5 steps
		if v, ok := s.figure(step)[figure]; ok {
			all = append(all, v)
		}
	}
	return all[max(0, len(all)-n):]
}

// dictate makes one member's figures a function of its steps, and returns the population's objective and samples at every
// interval's end.
func dictate(t *testing.T, change func(o *Options), figure func(steps int64) map[string]float64, wrap func(d dictated) Trainee) (objectives []float64, last strategy.Status) {
	t.Helper()
	c := newColony(1)
	c.opt.Objective, c.opt.Strategy = "score", strategy.Never{}
	c.opt.New = func(m Member) (Trainee, error) {
		d := dictated{newClimber(m, c.faults), figure}
		if wrap != nil {
			return wrap(d), nil
		}
		return d, nil
	}
	change(&c.opt)
	p := mustTrain(t, c.opt)
	for _, e := range p.Journal() {
		if e.Kind == journal.Keep || e.Kind == journal.Final {
			v := math.NaN()
			if e.HasObjective {
				v = e.Objective
			}
			objectives = append(objectives, v)
		}
	}
	return objectives, p.Generation().Members[0]
}

func score(steps int64) map[string]float64 {
	return map[string]float64{"score": float64(steps * steps)}
}

func TestWindowOfReadings(t *testing.T) {
	change := func(o *Options) {
		o.IntervalSteps, o.TotalSteps, o.ProgressSteps = 20, 60, 10
		o.Measure = Measure{Window: 3}
	}
	got, last := dictate(t, change, score, nil)
	want := []float64{(100 + 400) / 2., (400 + 900 + 1600) / 3., (1600 + 2500 + 3600) / 3.}
	if !cmp.Equal(got, want) {
		t.Errorf("objectives are %v, want %v", got, want)
	}
	// Within the last interval the means are of 400 to 2500 and of 1600 to 3600.
	if last.Samples != 3 || !last.HasPeak || last.Peak != want[2] || last.Iteration != 3 {
		t.Errorf("the status is %+v", last)
	}
}

func TestWindowOfSamples(t *testing.T) {
	var asked []int
	got, last := dictate(t, func(o *Options) {
		o.IntervalSteps, o.TotalSteps = 20, 40
		o.Measure = Measure{Window: 2, MinSamples: 5, Reducer: ReduceMax}
		o.InitialDelay = 40
	}, score, func(d dictated) Trainee { return sampling{d, &asked} })
	if len(got) != 2 || !math.IsNaN(got[0]) || got[1] != 1600 { // 4 episodes are not enough
		t.Errorf("objectives are %v", got)
	}
	if last.Samples != 5 || !slices.Equal(asked, []int{5, 5}) {
		t.Errorf("asked for %v, the status is %+v", asked, last)
	}
}

// TestFigureOfASampler falls back to readings for figures that are no measurements of the trainee's.
func TestFigureOfASampler(t *testing.T) {
	var asked []int
	got, _ := dictate(t, func(o *Options) {
		o.IntervalSteps, o.TotalSteps, o.Objective = 20, 40, "Loss / Value"
		o.Measure = Measure{Window: 2}
	}, func(steps int64) map[string]float64 {
		if steps%20 != 0 {
			return nil
		}
		return map[string]float64{"Loss / Value": float64(steps)}
	}, func(d dictated) Trainee { return noSamples{sampling{d, &asked}} })
	if !cmp.Equal(got, []float64{20, 30}) {
		t.Errorf("objectives are %v", got)
	}
}

type noSamples struct{ sampling }

func (noSamples) Samples(string, int) []float64 { return nil }

func TestTooFewSamples(t *testing.T) {
	c := newColony(2)
	c.opt.Measure.MinSamples = 3
	_, err := mustNew(t, c.opt).Train(t.Context())
	if err == nil || !strings.Contains(err.Error(), `no member had the 3 measurements of "episode.return" that measure.min_samples wants by the end of interval 1, at most 1`) {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingObjective(t *testing.T) {
	c := newColony(2)
	c.opt.Objective = "episode.retrn"
	_, err := mustNew(t, c.opt).Train(t.Context())
	if err == nil || !strings.Contains(err.Error(), `did you mean "episode.return"? (one of episode.return, loss`) {
		t.Errorf("the error is %v", err)
	}
}

// TestObjectiveThatComesAndGoes is known late, and stays what it was last when it is missing again.
func TestObjectiveThatComesAndGoes(t *testing.T) {
	got, last := dictate(t, func(o *Options) { o.IntervalSteps, o.TotalSteps, o.InitialDelay = 10, 50, 30 }, func(steps int64) map[string]float64 {
		if steps < 30 || steps == 50 {
			return map[string]float64{"other": 1}
		}
		return score(steps)
	}, nil)
	if d := fmt.Sprint(got); d != "[NaN NaN 900 1600 1600]" {
		t.Errorf("objectives are %v", d)
	}
	if last.Iteration != 4 || last.HasPeak {
		t.Errorf("the last measurement is of %+v", last)
	}
}

func TestPeak(t *testing.T) {
	for _, minimise := range []bool{false, true} {
		sign := 1.0
		if minimise {
			sign = -1
		}
		var peaks []float64
		c := newColony(1)
		c.opt.IntervalSteps, c.opt.TotalSteps, c.opt.ProgressSteps = 40, 120, 10
		c.opt.Measure.Minimise, c.opt.Objective = minimise, "score"
		c.opt.New = func(m Member) (Trainee, error) {
			return dictated{newClimber(m, c.faults), func(steps int64) map[string]float64 {
				v := []float64{1, 5, math.NaN(), 2, 0, 1, 4, 3, 7, 6, 5, 4}[steps/10-1]
				return map[string]float64{"score": sign * v}
			}}, nil
		}
		c.opt.Strategy = watching(func(g strategy.Generation) { peaks = append(peaks, g.Members[0].Peak) })
		p := mustTrain(t, c.opt)
		peaks = append(peaks, p.Generation().Members[0].Peak)
		if !slices.Equal(peaks, []float64{5, 4, 7}) {
			t.Errorf("peaks are %v (minimise: %t)", peaks, minimise)
		}
		if row := p.Table().Rows[0]; row.Peak != sign*7 || row.Objective != sign*4 {
			t.Errorf("the row is %+v", row)
		}
	}
}

// watching keeps everyone and looks.
type watching func(g strategy.Generation)

func (w watching) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	w(g)
	return nil
}

// TestMinimise: minimising the loss decides as maximising its negative does.
func TestMinimise(t *testing.T) {
	t.Parallel()
	up := newColony(5)
	up.opt.Directory = t.TempDir()
	down := newColony(5)
	down.opt.Directory, down.opt.Objective, down.opt.Measure.Minimise = t.TempDir(), "loss", true
	a, b := mustTrain(t, up.opt), mustTrain(t, down.opt)
	if x, y := a.Generation(), b.Generation(); !cmp.Equal(x, y) {
		t.Errorf("the members differ: %s", cmp.Diff(x, y))
	}
	if a.Best().Objective != -b.Best().Objective || a.Best().Member != b.Best().Member {
		t.Errorf("the best are %v and %v", a.Best().Objective, b.Best().Objective)
	}
	replaced := 0
	for i, e := range b.Journal() {
		o := a.Journal()[i]
		if e.Kind == journal.Replace {
			replaced++
		}
		if e.Kind != o.Kind || e.HasObjective != o.HasObjective || e.HasObjective && e.Objective != -o.Objective || e.Cause != o.Cause {
			t.Errorf("event %d is %+v, and %+v", i, e, o)
		}
	}
	if replaced == 0 || !b.Journal()[0].Run.Minimise || a.Journal()[0].Run.Minimise {
		t.Errorf("%d were replaced; the journals are of %+v and %+v", replaced, a.Journal()[0].Run, b.Journal()[0].Run)
	}
	if row := b.Table().Rows[0]; row.Objective != -a.Table().Rows[0].Objective || row.Objective < 0 {
		t.Errorf("the table says %v", row.Objective)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	best := b.Best().Objective
	again := mustNew(t, down.opt)
	if again.Best().Objective != best {
		t.Errorf("the best was %v and is %v", best, again.Best().Objective)
	}
	if x, y := b.Generation(), again.Generation(); !cmp.Equal(x, y) {
		t.Errorf("the members restored differ: %s", cmp.Diff(x, y))
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	down.opt.Measure.Minimise = false
	if _, err := New(down.opt); !errors.Is(err, errOtherPopulation) {
		t.Errorf("the error is %v", err)
	}
}

// examined can be evaluated: without noise, and by another number than its training's.
type examined struct {
	*climber
	calls    *int
	evaluate func(c *climber) error
}

func (e examined) CheckEvaluation() error { return nil }

func (e examined) EvaluateMetrics(ctx context.Context, episodes int, seed int64) (map[string]float64, error) {
	*e.calls++
	if e.evaluate != nil {
		if err := e.evaluate(e.climber); err != nil {
			return nil, err
		}
	}
	return map[string]float64{"episode.score": e.x[0] + float64(episodes) + float64(seed), "episode.x": 1}, ctx.Err()
}

func newExamined(members int) (c *colony, calls *int, evaluate *func(c *climber) error) {
	c, calls, evaluate = newColony(members), new(int), new(func(c *climber) error)
	c.opt.Objective, c.opt.Parallel = "score", 1
	c.opt.Measure = Measure{EvaluationEpisodes: 20, EvaluationSeed: 1000}
	c.opt.New = func(m Member) (Trainee, error) {
		t := newClimber(m, c.faults)
		c.built = append(c.built, t)
		return examined{t, calls, func(c *climber) error {
			if *evaluate == nil {
				return nil
			}
			return (*evaluate)(c)
		}}, nil
	}
	return c, calls, evaluate
}

func TestEvaluation(t *testing.T) {
	c, calls, _ := newExamined(3)
	c.opt.ProgressSteps = 10
	c.opt.Progress = func(u Update) {
		if u.Event == nil && u.Iteration == 1 && u.Status.HasObjective {
			t.Errorf("before the evaluation the objective is %v", u.Status.Objective)
		}
	}
	p := mustTrain(t, c.opt)
	if *calls != 3*10 {
		t.Errorf("%d evaluations", *calls)
	}
	for i, s := range p.Generation().Members {
		if want := c.built[i].x[0] + 1020; s.Objective != want || s.Peak != want || s.Samples != 20 || s.Iteration != 10 {
			t.Errorf("member %d is %+v, want an objective of %v", i, s, want)
		}
	}
	fresh := newClimber(Member{}, c.faults)
	if err := fresh.Restore(p.Best().Snapshot); err != nil {
		t.Fatal(err)
	}
	if p.Best().Objective != fresh.x[0]+1020 {
		t.Errorf("the best is %v", p.Best().Objective)
	}
}

// TestEvaluationWithoutTheObjective has it among the figures of training only.
func TestEvaluationWithoutTheObjective(t *testing.T) {
	c, _, _ := newExamined(2)
	c.opt.Objective = "loss"
	_, err := mustNew(t, c.opt).Train(t.Context())
	if err == nil || !strings.Contains(err.Error(), `no member reported the objective "loss" by the end of interval 1: `) || !strings.Contains(err.Error(), "one of episode.score, episode.x") {
		t.Errorf("the error is %v", err)
	}
}

func TestEvaluationThatFails(t *testing.T) {
	c, _, evaluate := newExamined(3)
	*evaluate = func(m *climber) error {
		if m == c.built[1] && m.steps == 100 {
			panic("no display")
		}
		return nil
	}
	p := mustTrain(t, c.opt)
	failed := kinds(p.Journal(), journal.Failed)
	if len(failed) != 1 || failed[0].Member != 1 || failed[0].Iteration != 2 || !strings.HasPrefix(failed[0].Cause, "evaluation: panic: no display at pbt.TestEvaluationThatFails (measure_test.go:") || len(c.built) != 4 {
		t.Errorf("failures are %+v", failed)
	}
}

// TestInterruptedEvaluation stops in the middle of evaluations, and goes on to the same end.
func TestInterruptedEvaluation(t *testing.T) {
	t.Parallel()
	c, _, _ := newExamined(3)
	c.opt.Directory = t.TempDir()
	want := mustTrain(t, c.opt)
	dir := t.TempDir()
	for run := 0; ; run++ {
		c, calls, evaluate := newExamined(3)
		c.opt.Directory = dir
		ctx, cancel := context.WithCancel(t.Context())
		*evaluate = func(*climber) error {
			if *calls == 5 {
				cancel()
				return context.Canceled
			}
			return nil
		}
		p := mustNew(t, c.opt)
		_, err := p.Train(ctx)
		cancel()
		if err == nil {
			if run < 3 {
				t.Errorf("only %d interruptions", run)
			}
			compare(t, want, p)
			return
		}
		if !errors.Is(err, context.Canceled) || run > 20 {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadingsSurvive interrupts a population whose objective is a mean of readings.
func TestReadingsSurvive(t *testing.T) {
	t.Parallel()
	run := func(dir string, every int) (p *Population, breaks int) {
		for {
			c := newColony(4)
			c.opt.Directory, c.opt.ProgressSteps, c.opt.Parallel, c.opt.TotalSteps = dir, 15, 1, 300
			c.opt.Measure = Measure{Window: 5, Reducer: ReduceLCB}
			ctx, cancel := context.WithCancel(t.Context())
			steps := 0
			c.faults.train = func(*climber) error {
				if steps++; steps == every {
					cancel()
				}
				return nil
			}
			p := mustNew(t, c.opt)
			_, err := p.Train(ctx)
			cancel()
			if err == nil {
				return p, breaks
			}
			if breaks++; !errors.Is(err, context.Canceled) || breaks > 100 {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, _ := run(t.TempDir(), -1)
	got, breaks := run(t.TempDir(), 67)
	if breaks < 10 {
		t.Errorf("only %d interruptions", breaks)
	}
	compare(t, want, got)
}

func TestMeasureIsChecked(t *testing.T) {
	for want, m := range map[string]Measure{
		"measure.window is -1":              {Window: -1},
		"measure.min_samples is -1":         {MinSamples: -1},
		"measure.evaluation_episodes is -2": {EvaluationEpisodes: -2},
		`measure.reducer is "meen", which does not exist: did you mean "mean"?`: {Window: 2, Reducer: "meen"},
		`measure.reducer is "max", but there is nothing to reduce`:              {Reducer: ReduceMax},
		"measure has evaluation_episodes and a window":                          {Window: 2, EvaluationEpisodes: 2},
		"measure.min_samples is 3, but an evaluation has 2":                     {MinSamples: 3, EvaluationEpisodes: 2},
		"member 0: measure.evaluation_episodes needs trainees":                  {EvaluationEpisodes: 2},
		"": {Window: 2, MinSamples: 2, Minimise: true, Reducer: ReduceEMA},
	} {
		c := newColony(2)
		c.opt.Measure = m
		p, err := New(c.opt)
		if err == nil {
			err = p.Close()
		}
		if fmt.Sprint(err) != "<nil>" && want == "" || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		for _, m := range c.built {
			if m.closed != 1 {
				t.Errorf("a member was closed %d times", m.closed)
			}
		}
	}
}
