package pbt

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// TestBeatsItsControl compares the same members with and without selection, over seeds.
func TestBeatsItsControl(t *testing.T) {
	objectives := func(opt Options) []float64 {
		var o []float64
		for _, s := range mustTrain(t, opt).Generation().Members {
			o = append(o, s.Objective)
		}
		slices.Sort(o)
		return o
	}
	for seed := range int64(3) {
		c := newColony(8)
		c.opt.Seed, c.opt.IntervalSteps, c.opt.TotalSteps = seed, 50, 1500
		with := objectives(c.opt)
		c.opt.Strategy = strategy.Never{}
		without := objectives(c.opt)
		if with[7] <= without[7] || with[4] <= without[4] {
			t.Errorf("seed %d: best %.4g and median %.4g with selection, %.4g and %.4g without", seed, with[7], with[4],
				without[7], without[4])
		}
	}
}

func TestProgress(t *testing.T) {
	c := newColony(3)
	c.opt.ProgressSteps = 20
	inside, updates, events := false, make(map[int]int), 0
	c.opt.Progress = func(u Update) {
		if inside {
			t.Error("Progress was called twice at once")
		}
		inside = true
		defer func() { inside = false }()
		if u.Event != nil {
			events++
			return
		}
		updates[u.Status.Member]++
		if u.Status.Objective != u.Metrics["episode.return"] || u.TargetSteps != u.Iteration*50 {
			t.Errorf("update is %+v", u)
		}
	}
	p := mustTrain(t, c.opt)
	if want := map[int]int{0: 30, 1: 30, 2: 30}; !cmp.Equal(updates, want) { // 20, 40, 50 of every 50
		t.Errorf("updates are %v, want %v", updates, want)
	}
	if want := len(p.Journal()) - 1; events != want {
		t.Errorf("%d events were told, want the journal's %d", events, want)
	}
}

func TestOnInterval(t *testing.T) {
	c := newColony(3)
	c.opt.TotalSteps = 175
	var seen []int64
	c.opt.OnInterval = func(p *Population) error {
		seen = append(seen, p.Generation().Members[0].Steps)
		if p.Best() == nil || p.Trainee(2) == nil {
			t.Error("there is no best, or no trainee")
		}
		return nil
	}
	mustTrain(t, c.opt)
	if !slices.Equal(seen, []int64{50, 100, 150, 175}) {
		t.Errorf("called after %v steps", seen)
	}
}

func TestInitialAndSampledHyperparameters(t *testing.T) {
	c := newColony(3)
	c.opt.Initial = []map[string]float64{{"discount_factor": 0.9}, {"discount_factor": 0.95}, {"learning_rate": 0.02}}
	g := mustNew(t, c.opt).Generation().Members
	for id, want := range []float64{0.9, 0.95, 0.99} {
		if got := g[id].Hyperparameters["discount_factor"]; got != want {
			t.Errorf("member %d begins with a discount of %v, want %v", id, got, want)
		}
	}
	a, b := g[0].Hyperparameters["learning_rate"], g[1].Hyperparameters["learning_rate"]
	if a == b || min(a, b) < 1e-4 || max(a, b) > 0.3 || g[2].Hyperparameters["learning_rate"] != 0.02 {
		t.Errorf("rates are %v, %v and %v", a, b, g[2])
	}
}

// TestDiversify: members but references are mutated once before training, and not again when they continue.
func TestDiversify(t *testing.T) {
	t.Parallel()
	c := newColony(4)
	c.opt.Diversify, c.opt.Directory, c.opt.Sample, c.opt.Reference = true, t.TempDir(), nil, []int{0}
	c.rates(0.01)
	c.opt.Explore = doubling("learning_rate")
	p := mustTrain(t, c.opt)
	rates := make(map[float64]int)
	for _, e := range kinds(p.Journal(), journal.Start) {
		rate := e.After["learning_rate"]
		rates[rate]++
		if want := map[bool][]float64{true: {0.01}, false: {0.005, 0.02}}[e.Member == 0]; !slices.Contains(want,
			rate) ||
			(e.Before == nil) != (e.Member == 0) || e.Member != 0 && e.Before["learning_rate"] != 0.01 {
			t.Errorf("the journal says %+v", e)
		}
	}
	if len(rates) != 3 {
		t.Errorf("the rates are %v: this shows little", rates)
	}
	want := p.Generation()
	mustClose(t, p)
	if d := cmp.Diff(want, mustNew(t, c.opt).Generation()); d != "" {
		t.Errorf("it continues with others: %s", d)
	}
}

// TestTable: names of hyperparameters that are tuned become columns, also by a pattern.
func TestTable(t *testing.T) {
	c := newColony(3)
	c.diverge(499, 2)
	c.opt.Sample, c.opt.Explore = nil, explore.Mutation{Rules: explore.Rules{"*": explore.MutateFloat}}
	p := mustTrain(t, c.opt)
	table := p.Table()
	want := []string{"discount_factor", "learning_rate"}
	if tuned := p.Journal()[0].Run.Tuned; !slices.Equal(table.Keys, want) || !slices.Equal(tuned, want) {
		t.Errorf("the columns are %q, in the journal %q", table.Keys, tuned)
	}
	table.Rows[0].Parent, table.Rows[0].Hyperparameters, table.Rows[1].Failed = 2, nil, true
	var b strings.Builder
	must.Do(t, table.Write(&b))
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"member parent environment steps episode.return discount_factor learning_rate", "",
		"0 2 500", "failed", "NaN"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.Contains(got, want) {
			t.Errorf("line %d is %q, want %q in it", i, got, want)
		}
	}
	c.opt.Explore = explore.Mutation{}
	if keys := mustNew(t, c.opt).Table().Keys; len(keys) != 2 {
		t.Errorf("without tuned hyperparameters the keys are %v", keys)
	}
}

func TestOptionsAreCopied(t *testing.T) {
	c := newColony(3)
	c.opt.Reference, c.opt.Rebuild = []int{1}, []string{"discount_factor"}
	given := c.opt.Explore.(explore.Mutation)
	given.Parameters = map[string]explore.Parameter{"learning_rate": {Choices: []float64{0.1, 0.2}}}
	c.opt.Explore = given
	p := mustNew(t, c.opt)
	c.opt.Reference[0], c.opt.Rebuild[0] = 2, "x"
	given.Parameters["learning_rate"].Choices[0] = 7
	delete(given.Rules, "learning_rate")
	kept := p.opt.Explore.(explore.Mutation)
	if p.opt.Reference[0] != 1 || p.opt.Rebuild[0] != "discount_factor" || kept.Rules["learning_rate"] == nil ||
		kept.Parameters["learning_rate"].Choices[0] != 0.1 {
		t.Errorf("the options changed: %+v", p.opt)
	}
}

// level has the same objective all the time.
type level struct{ Trainee }

func (level) Metrics() map[string]float64 { return map[string]float64{"episode.return": 1} }

// TestBestOfEquals: of equal members the first one is the best.
func TestBestOfEquals(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		c := newColony(3)
		c.opt.Directory = dir
		c.opt.New = func(m Member) (Trainee, error) {
			trainee, err := c.build(m)
			return level{trainee}, err
		}
		if best := mustTrain(t, c.opt).Best(); best.Iteration != 1 || best.Member != 0 {
			t.Errorf("the best is member %d of interval %d", best.Member, best.Iteration)
		}
	}
}

// TestScores: the objectives of a member's weights go with them when they are copied, and are saved.
func TestScores(t *testing.T) {
	c := newColony(3)
	c.opt.Measure.Minimise, c.opt.Objective = true, "loss"
	c.opt.Strategy = decided{{Member: 2, Action: strategy.Replace, Source: 0, Mutate: true}}
	c.opt.Directory, c.opt.TotalSteps = t.TempDir(), 250
	want := make([][]float64, 3)
	c.opt.Progress = func(u Update) {
		if e := u.Event; e != nil && e.HasObjective {
			want[e.Member] = append(want[e.Member], -e.Objective)
			if e.Kind == journal.Replace {
				want[2] = slices.Clone(want[0]) // events are in order of members
			}
		}
	}
	for range 2 { // it ends again, and does not count twice
		p := mustTrain(t, c.opt)
		for _, m := range p.Generation().Members {
			if d := cmp.Diff(want[m.Member], m.Scores); d != "" || len(m.Scores) != 5 {
				t.Errorf("member %d: %s", m.Member, d)
			}
		}
		mustClose(t, p)
		c.opt.Progress = nil
	}
	m := &member{measured: measured{objective: 1, hasObjective: true}}
	for i := range int64(300) {
		m.objective = float64(i)
		m.score(i+1, m.status())
	}
	if n := len(m.scores); n != 100 || m.scores[0] != 200 || m.scores[99] != 299 {
		t.Errorf("%d scores, from %v to %v", n, m.scores[0], m.scores[n-1])
	}
	m.diverged = "weights"
	if m.score(301, m.status()); !math.IsNaN(m.scores[99]) {
		t.Error("a diverged member has a score")
	}
}

func TestTarget(t *testing.T) {
	c := newColony(4)
	c.opt.Directory, c.opt.TotalSteps, c.opt.Target = t.TempDir(), 5000, &Target{-0.6, 3}
	p := mustTrain(t, c.opt)
	end, _ := p.Iterations()
	if n := len(kinds(p.Journal(), journal.Final)); n != 4 || end < 4 || end >= 100 {
		t.Errorf("%d members ended, after %d intervals", n, end)
	}
	for _, m := range p.Generation().Members {
		sum, scores := 0.0, m.Scores[max(0, len(m.Scores)-10):]
		for _, x := range scores {
			sum += x
		}
		if mean := sum / float64(len(scores)); mean < -0.6 {
			t.Errorf("member %d ended with a mean of %v", m.Member, mean)
		}
	}
	mustClose(t, p)
	if again, _ := mustTrain(t, c.opt).Iterations(); again != end {
		t.Errorf("continued to interval %d", again)
	}
	c.opt.Directory, c.opt.Target.Generations = t.TempDir(), end+2
	if late, _ := mustTrain(t, c.opt).Iterations(); late != end+2 {
		t.Errorf("stopped after %d intervals, want %d", late, end+2)
	}
}

// TestStoppedUnsaved: the error of a stopped population lists beside that what could not be saved.
func TestStoppedUnsaved(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := newColony(3)
	c.opt.ProgressSteps, c.opt.Directory, c.opt.Asynchronous = 10, filepath.Join(t.TempDir(), "gone"), true
	c.opt.Progress = func(u Update) {
		if u.Status.Steps > 110 && ctx.Err() == nil {
			_ = os.RemoveAll(c.opt.Directory)
			_ = os.WriteFile(c.opt.Directory, nil, 0o600)
			cancel()
		}
	}
	_, err := mustNew(t, c.opt).Train(ctx)
	list, _ := err.(interface{ Unwrap() []error })
	if !errors.Is(err, context.Canceled) || list == nil || len(list.Unwrap()) < 2 {
		t.Errorf("error %v, want one that joins several", err)
	}
}

// TestCauseAndClose: the error of a cancelled population is the context's and its cause's; it can train on, and a
// closed one cannot. All this holds for the three kinds of population.
func TestCauseAndClose(t *testing.T) {
	t.Parallel()
	cause := errors.New("the power is needed elsewhere")
	for kind, open := range map[string]func(o Options) (*Population, error){
		"stopped in interval 3 of 10:": New,
		"stopped with members in intervals ": func(o Options) (*Population, error) {
			o.Asynchronous = true
			return New(o)
		},
		"member 0 stopped in interval 3 of 10:": func(o Options) (*Population, error) {
			return Join(t.Context(), o, ProcessOptions{Store: workspace.NewMemory(o.Members), Silence: time.Second,
				Heartbeat: time.Millisecond, after: quick})
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := newColony(3)
		c.opt.ProgressSteps, c.opt.Parallel = 10, 1
		c.opt.Progress = func(u Update) {
			if u.Status.Steps > 110 {
				cancel(cause)
			}
		}
		p, err := open(c.opt)
		must.Do(t, err)
		early, stop := context.WithCancelCause(t.Context())
		stop(cause)
		for _, ctx := range []context.Context{early, ctx} {
			if _, err = p.Train(ctx); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v, want one that wraps context.Canceled and the cause", kind, err)
			}
		}
		_, joined := err.(interface{ Unwrap() []error })
		if c.opt.Asynchronous && joined || !strings.Contains(err.Error(), kind) {
			t.Errorf("the error is %v, want one with %q in it", err, kind)
		}
		if n := len(kinds(p.Journal(), journal.Failed)); n > 0 || c.faults.running.Load() > 0 {
			t.Errorf("%s: %d members failed, %d train on", kind, n, c.faults.running.Load())
		}
		cancel(nil)
		first, err := p.Train(t.Context())
		if again, err1 := p.Train(t.Context()); err != nil || err1 != nil || first.Iteration != again.Iteration {
			t.Errorf("%s: continuing gave %v, %v, then %v, %v", kind, first, err, again, err1)
		}
		for _, s := range p.Generation().Members {
			if s.Steps != 500 {
				t.Errorf("%s: member %d ended after %d steps", kind, s.Member, s.Steps)
			}
		}
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Errorf("%s: Close: %v", kind, err)
		}
		for i, m := range c.built {
			if m.closed != 1 {
				t.Errorf("%s: trainee %d was closed %d times", kind, i, m.closed)
			}
		}
		must.RefusedAs(p.Train(t.Context()))(t, kind, "closed")
	}
}
