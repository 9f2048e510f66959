package pbt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

func mustNew(t *testing.T, opt Options) *Population {
	t.Helper()
	p, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func mustTrain(t *testing.T, opt Options) *Population {
	t.Helper()
	p := mustNew(t, opt)
	if _, err := p.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// readJournal returns the merged journal of a directory as text.
func readJournal(t *testing.T, dir string) []byte {
	t.Helper()
	events, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(lines(t, events))
}

func lines(t *testing.T, events []journal.Event) string {
	t.Helper()
	var b bytes.Buffer
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSameSeedsSameJournal(t *testing.T) {
	t.Parallel()
	var first []byte
	for _, parallel := range []int{1, 3, 8} {
		c := newColony(8)
		c.opt.Parallel, c.opt.Directory, c.opt.TotalSteps = parallel, t.TempDir(), 300
		c.faults.train = func(*climber) error { runtime.Gosched(); return nil } // lets others in, if they may
		c.opt.ProgressSteps = int64(parallel) * 7
		c.faults.train = letOthersRun
		p := mustTrain(t, c.opt)
		if g := c.faults.greatest.Load(); g > int64(parallel) {
			t.Errorf("%d members trained at a time, want at most %d", g, parallel)
		}
		events, err := journal.Read(c.opt.Directory)
		if err != nil {
			t.Fatal(err)
		}
		recorded := []byte(lines(t, events))
		if first == nil {
			first = recorded
		}
		if !bytes.Equal(first, recorded) {
			t.Errorf("%d at a time made another journal: %s", parallel, cmp.Diff(string(first), string(recorded)))
		}
		if d := cmp.Diff(p.Journal(), events); d != "" {
			t.Errorf("the journal in memory and on disk: %s", d)
		}
		if len(kinds(events, journal.Replace)) < 5 {
			t.Errorf("only %d replacements: this test shows little", len(kinds(events, journal.Replace)))
		}
	}
	c := newColony(8)
	c.opt.Seed, c.opt.Directory, c.opt.TotalSteps = 12, t.TempDir(), 300
	mustTrain(t, c.opt)
	if events, err := journal.Read(c.opt.Directory); err != nil || string(first) == lines(t, events) {
		t.Error("another seed made the same journal")
	}
}

func TestMembersTrainToTheEnd(t *testing.T) {
	c := newColony(4)
	c.opt.TotalSteps = 120 // two intervals and a bit
	p := mustTrain(t, c.opt)
	for _, s := range p.Generation().Members {
		if s.Steps != 120 {
			t.Errorf("member %d trained %d steps, want 120", s.Member, s.Steps)
		}
	}
	finals := kinds(p.Journal(), journal.Final)
	if len(finals) != 4 || finals[0].Iteration != 3 || finals[0].Steps != 120 {
		t.Errorf("final events are %+v", finals)
	}
	for _, e := range p.Journal() {
		if e.Iteration == 3 && e.Kind != journal.Final {
			t.Errorf("something was decided when nothing remained to train: %+v", e)
		}
	}
	best := p.Best()
	for _, e := range p.Journal() {
		if e.HasObjective && e.Objective > best.Objective {
			t.Errorf("the best is %v, but member %d had %v", best.Objective, e.Member, e.Objective)
		}
	}
	fresh := newClimber(Member{}, &faults{})
	if err := fresh.Restore(best.Snapshot); err != nil {
		t.Fatal(err)
	}
	if got := fresh.objective(); got != best.Objective {
		t.Errorf("the best snapshot's objective is %v, want %v", got, best.Objective)
	}
}

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
			t.Errorf("seed %d: best %.4g and median %.4g with selection, %.4g and %.4g without", seed, with[7], with[4], without[7], without[4])
		}
	}
}

// everyone decides the same for all members.
type everyone strategy.Decision

func (d everyone) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	var decisions []strategy.Decision
	for _, m := range g.Members {
		one := strategy.Decision(d)
		one.Member = m.Member
		decisions = append(decisions, one)
	}
	return decisions
}

// decided gives fixed decisions at the first interval's end, and keeps everyone later.
type decided []strategy.Decision

func (d decided) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	if g.Iteration > 1 {
		return nil
	}
	return d
}

func TestWeightsFirstHyperparametersLast(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy = decided{{Member: 2, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "test"}}
	c.mutate(func(m *explore.Mutation) { m.Rate = 1 })
	c.opt.TotalSteps = 60
	var source, target climber
	c.faults.train = func(m *climber) error {
		switch {
		case m == c.built[0] && m.steps == 50:
			source = *m
		case m == c.built[2] && m.steps == 50:
			target = *m
		}
		return nil
	}
	p := mustTrain(t, c.opt)
	if source.x != target.x || source.rate == target.rate || source.rate == 0 {
		t.Errorf("after the copy the source is %v at rate %v and the target %v at rate %v", source.x, source.rate, target.x, target.rate)
	}
	if c.built[0].x == c.built[2].x {
		t.Error("source and target went on in step")
	}
	e := kinds(p.Journal(), journal.Replace)[0]
	if e.After["learning_rate"] != target.rate {
		t.Errorf("the journal says %v, in effect was %v", e.After["learning_rate"], target.rate)
	}
	ratio := target.rate / source.rate
	if ratio < 1 {
		ratio = 1 / ratio
	}
	if ratio < 1.1 || ratio > 2 {
		t.Errorf("the rate changed by a factor of %v, want 1.1 to 2", ratio)
	}
	if table := p.Table(); table.Rows[2].Parent != 0 || table.Rows[0].Parent != -1 {
		t.Errorf("parents are %+v", table.Rows)
	}
}

func TestSourcesAreReadBeforeAnythingChanges(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy = decided{{Member: 0, Action: strategy.Replace, Source: 1, Mutate: true}, {Member: 1, Action: strategy.Replace, Source: 2, Mutate: true}, {Member: 2, Action: strategy.Replace, Source: 0, Mutate: true}}
	c.opt.Explore = nil
	c.opt.TotalSteps = 51
	before, after := make(map[int][4]float64), make(map[int][4]float64)
	snapshots := 0
	c.faults.snapshot = func(*climber) error { snapshots++; return nil }
	c.faults.train = func(m *climber) error {
		if m.steps == 50 {
			after[slices.Index(c.built, m)] = m.x
		}
		return nil
	}
	c.opt.Parallel = 1
	c.opt.Progress = func(u Update) {
		if u.Event == nil && u.Iteration == 1 {
			before[u.Status.Member] = c.built[u.Status.Member].x
		}
	}
	mustTrain(t, c.opt)
	for target, source := range map[int]int{0: 1, 1: 2, 2: 0} {
		if after[target] != before[source] {
			t.Errorf("member %d has %v, want the %v that member %d had", target, after[target], before[source], source)
		}
	}
	if snapshots > 6 { // one a member at the ends of both intervals, where weights are looked at
		t.Errorf("%d snapshots were taken of 3 members", snapshots)
	}
}

func TestSelfMutation(t *testing.T) {
	c := newColony(2)
	c.opt.Strategy = decided{{Member: 1, Action: strategy.SelfMutate}}
	c.mutate(func(m *explore.Mutation) { m.Rate = 1 })
	c.opt.TotalSteps = 100
	p := mustTrain(t, c.opt)
	e := kinds(p.Journal(), journal.SelfMutate)
	if len(e) != 1 || e[0].Parent != -1 || same(e[0].Before, e[0].After) || !same(e[0].After, p.Generation().Members[1].Hyperparameters) {
		t.Errorf("self-mutations are %+v", e)
	}
}

func TestInitialDelay(t *testing.T) {
	c := newColony(6)
	c.opt.InitialDelay = 250
	p := mustTrain(t, c.opt)
	acted := false
	for _, e := range p.Journal() {
		if e.Kind == journal.Replace || e.Kind == journal.SelfMutate {
			acted = true
			if e.Steps < 250 {
				t.Errorf("acted after %d steps", e.Steps)
			}
		}
	}
	if !acted {
		t.Error("nothing was decided after InitialDelay")
	}
}

func TestProgress(t *testing.T) {
	c := newColony(3)
	c.opt.ProgressSteps = 20
	inside := false
	updates := make(map[int]int)
	events := 0
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

func TestTrainAgainReturnsTheSame(t *testing.T) {
	c := newColony(2)
	c.opt.Directory = t.TempDir()
	p := mustNew(t, c.opt)
	first, err := p.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Train(t.Context())
	if err != nil || again != first {
		t.Errorf("the second Train gave %v, %v", again, err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	for i, m := range c.built {
		if m.closed != 1 {
			t.Errorf("member %d was closed %d times", i, m.closed)
		}
	}
	if _, err := p.Train(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("training a closed population: %v", err)
	}
}

// What can only be meant by mistake is noted, and what may be meant is not.
func TestNotes(t *testing.T) {
	for _, test := range []struct {
		members                     int
		interval, total, delay, own int64
		strategy                    strategy.Strategy
		want                        []string
	}{
		{4, 100, 1000, 900, 0, nil, nil},
		{4, 100, 101, 0, 0, nil, nil},
		{1, 100, 1000, 0, 0, nil, []string{"the population has 1 member"}},
		{1, 2000, 1000, 0, 0, strategy.Never{}, nil},
		{4, 1001, 1000, 0, 0, nil, []string{"the first decision comes after an interval of 1001 environment steps, and the run has 1000"}},
		{4, 1000, 1000, 0, 0, nil, []string{"the first decision comes after"}},
		{4, 100, 1000, 901, 0, nil, []string{"the last decision comes after 900 environment steps, and a member must have trained 901"}},
		{1, 100, 1000, 0, 5000, nil, []string{"the population has 1 member", "must have trained 5000"}},
	} {
		got := Options{Members: test.members, IntervalSteps: test.interval, TotalSteps: test.total, Delays: Delays{InitialDelay: test.delay,
			StartAfter: test.own}, Strategy: test.strategy}.Notes()
		if len(got) != len(test.want) {
			t.Errorf("%+v: notes %q, want %q", test, got, test.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], test.want[i]) {
				t.Errorf("%+v: note %q, want %q", test, got[i], test.want[i])
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *Options)
		want   string
	}{
		"members":      {func(o *Options) { o.Members = 0 }, "Members is 0"},
		"objective":    {func(o *Options) { o.Objective = "" }, "Objective is empty"},
		"interval":     {func(o *Options) { o.IntervalSteps = -1 }, "IntervalSteps is -1"},
		"total":        {func(o *Options) { o.TotalSteps = 0 }, "TotalSteps is 0"},
		"start":        {func(o *Options) { o.InitialDelay = -1 }, "InitialDelay is -1"},
		"parallel":     {func(o *Options) { o.Parallel = -2 }, "Parallel is -2"},
		"progress":     {func(o *Options) { o.ProgressSteps = -2 }, "ProgressSteps is -2"},
		"new":          {func(o *Options) { o.New = nil }, "New is nil"},
		"initial":      {func(o *Options) { o.Initial = make([]map[string]float64, 2) }, "Initial has 2 maps for 3 members"},
		"initial nan":  {func(o *Options) { o.Initial = []map[string]float64{{"learning_rate": math.NaN()}} }, `Initial[0]["learning_rate"] is NaN`},
		"initial key":  {func(o *Options) { o.Initial = []map[string]float64{{"learning_rat": 1}} }, `no hyperparameter "learning_rat" (from Initial or Sample): did you mean "learning_rate"?`},
		"sample key":   {func(o *Options) { o.Sample = map[string]explore.Range{"discount": {Low: 0, High: 1}} }, `did you mean "discount_factor"?`},
		"sample order": {func(o *Options) { o.Sample = map[string]explore.Range{"learning_rate": {Low: 1}} }, "ascending"},
		"sample log":   {func(o *Options) { o.Sample = map[string]explore.Range{"learning_rate": {High: 1, Log: true}} }, "Low must be above 0"},
		"std":          {func(o *Options) { o.Strategy = strategy.IsaacLab{ThresholdStd: -1} }, "ThresholdStd is -1"},
		"abs":          {func(o *Options) { o.Strategy = strategy.IsaacLab{ThresholdAbs: math.NaN()} }, "ThresholdAbs is NaN"},
		"rate": {func(o *Options) {
			o.Explore = explore.Mutation{Rate: 1.5, Rules: explore.Rules{"learning_rate": explore.MutateFloat}}
		}, "Mutation.Rate is 1.5"},
		"rate nan": {func(o *Options) {
			o.Explore = explore.Mutation{Rate: math.NaN(), Rules: explore.Rules{"learning_rate": explore.MutateFloat}}
		}, "Mutation.Rate is NaN"},
		"range": {func(o *Options) {
			o.Explore = explore.Mutation{ChangeRange: [2]float64{2, 1.1}, Rules: explore.Rules{"learning_rate": explore.MutateFloat}}
		}, "change_range is [2 1.1]"},
		"range below 1": {func(o *Options) {
			o.Explore = explore.Mutation{ChangeRange: [2]float64{0.5, 1.1}, Rules: explore.Rules{"learning_rate": explore.MutateFloat}}
		}, "at least 1"},
		"rule": {func(o *Options) { o.Explore = explore.Mutation{Rules: explore.Rules{"learning_rate": nil}} }, `Mutation.Rules["learning_rate"] is nil`},
		"rule key": {func(o *Options) {
			o.Explore = explore.Mutation{Rules: explore.Rules{"learningrate": explore.MutateFloat}}
		}, `did you mean "learning_rate"?`},
		"bounds key": {func(o *Options) { o.Explore = explore.Mutation{Bounds: map[string][2]float64{"rate": {0, 1}}} }, `"rate"`},
		"bounds":     {func(o *Options) { o.Explore = explore.Mutation{Bounds: map[string][2]float64{"learning_rate": {1, 2}}} }, "outside its bounds, [1 2]"},
		"new fails": {func(o *Options) {
			build := o.New
			o.New = func(m Member) (Trainee, error) {
				if m.ID == 2 {
					return nil, errors.New("out of luck")
				}
				return build(m)
			}
		}, "member 2: out of luck"},
		"new panics": {func(o *Options) { o.New = func(Member) (Trainee, error) { panic("oh") } }, "member 0: panic: oh"},
		"new is nil": {func(o *Options) { o.New = func(Member) (Trainee, error) { return nil, nil } }, "member 0: New returned nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newColony(3)
			test.change(&c.opt)
			_, err := New(c.opt)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "pbt: ") {
				t.Errorf("the error is %v, want it to say %q", err, test.want)
			}
			for i, m := range c.built {
				if m.closed != 1 || m.steps != 0 {
					t.Errorf("member %d was closed %d times after %d steps", i, m.closed, m.steps)
				}
			}
		})
	}
}

func TestWrongDecisions(t *testing.T) {
	for want, d := range map[string]decided{
		"no such member":    {{Member: 3, Action: strategy.Keep}},
		"a decision alre":   {{Member: 1, Action: strategy.Keep}, {Member: 1, Action: strategy.Keep}},
		"no such action":    {{Member: 1, Action: "promote"}},
		"another member":    {{Member: 1, Action: strategy.Replace, Source: 1, Mutate: true}},
		"source must be":    {{Member: 1, Action: strategy.Replace, Source: -1, Mutate: true}},
		"only healthy memb": {{Member: 1, Action: strategy.Replace, Source: 2, Mutate: true}},
	} {
		c := newColony(3)
		c.opt.Strategy = d
		c.faults.train = func(m *climber) error {
			if m == c.built[2] {
				m.x[0] = math.NaN()
			}
			return nil
		}
		_, err := mustNew(t, c.opt).Train(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: the error is %v, want %q", d, err, want)
		}
	}
	c := newColony(2)
	c.opt.Strategy = panicking{}
	if _, err := mustNew(t, c.opt).Train(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: no idea") {
		t.Errorf("a panic of the strategy gave %v", err)
	}
}

type panicking struct{}

func (panicking) Decide(strategy.Generation, *rand.Rand) []strategy.Decision { panic("no idea") }

func TestUnknownObjective(t *testing.T) {
	c := newColony(2)
	c.opt.Objective, c.opt.Directory = "episode.retrun", t.TempDir()
	p := mustNew(t, c.opt)
	_, err := p.Train(t.Context())
	if err == nil || !strings.Contains(err.Error(), `"episode.retrun"`) || !strings.Contains(err.Error(), `did you mean "episode.return"? (one of episode.return, loss`) {
		t.Errorf("the error is %v", err)
	}
	if got := p.workers()[0].m.steps; got != c.opt.IntervalSteps/10 { // and not after the interval
		t.Errorf("the error comes after %d environment steps of an interval of %d", got, c.opt.IntervalSteps)
	}
	c.opt.Objective, c.opt.InitialDelay = "success", 400 // it may appear until then
	c.opt.Directory = ""
	p = mustNew(t, c.opt)
	if _, err := p.Train(t.Context()); err == nil || !strings.Contains(err.Error(), "interval 8") {
		t.Errorf("the error is %v", err)
	}
}

func TestInitialAndSampledHyperparameters(t *testing.T) {
	c := newColony(3)
	c.opt.Initial = []map[string]float64{{"discount_factor": 0.9}, {"discount_factor": 0.95}, {"learning_rate": 0.02}}
	p := mustNew(t, c.opt)
	g := p.Generation().Members
	if g[0].Hyperparameters["discount_factor"] != 0.9 || g[1].Hyperparameters["discount_factor"] != 0.95 || g[2].Hyperparameters["discount_factor"] != 0.99 {
		t.Errorf("discounts are %+v", g)
	}
	a, b := g[0].Hyperparameters["learning_rate"], g[1].Hyperparameters["learning_rate"]
	if a == b || a < 1e-4 || a > 0.3 || b < 1e-4 || b > 0.3 {
		t.Errorf("sampled rates are %v and %v, want different ones in range", a, b)
	}
	if g[2].Hyperparameters["learning_rate"] != 0.02 {
		t.Errorf("Initial did not win over Sample: %+v", g[2])
	}
	low := 0
	const n = 2000
	for i := range n {
		if (explore.Range{Low: 1e-4, High: 1e-2, Log: true}).Draw(stream(int64(i))) < 1e-3 {
			low++
		}
	}
	if low < n/2-135 || low > n/2+135 { // six standard deviations
		t.Errorf("%d of %d draws are in the lower of two decades", low, n)
	}
}

func TestCancelWithCause(t *testing.T) {
	c := newColony(4)
	c.opt.Parallel, c.opt.ProgressSteps = 2, 10
	cause := errors.New("the cat wants in")
	ctx, cancel := context.WithCancelCause(t.Context())
	c.opt.Progress = func(u Update) {
		if u.Iteration == 3 && u.Status.Steps > 110 {
			cancel(cause)
		}
	}
	p := mustNew(t, c.opt)
	_, err := p.Train(ctx)
	if !errors.Is(err, cause) || !strings.Contains(fmt.Sprint(err), "interval 3 of 10") {
		t.Errorf("the error is %v", err)
	}
	if c.faults.running.Load() != 0 {
		t.Error("members still train")
	}
	if len(kinds(p.Journal(), journal.Failed)) > 0 {
		t.Error("being stopped counted as a failure")
	}
	c.opt.Progress = nil
	best, err := p.Train(t.Context())
	if err != nil || best == nil {
		t.Fatalf("continuing gave %v, %v", best, err)
	}
	for _, s := range p.Generation().Members {
		if s.Steps != 500 {
			t.Errorf("member %d ended after %d steps", s.Member, s.Steps)
		}
	}
}

// A decision that keeps a member may name any members: they are not looked at.
func TestKeepIgnoresSourceAndFrom(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy = decided{{Member: 1, Action: strategy.Keep, Source: 99, From: strategy.HyperparametersOf(-7), Reason: "test"}}
	p := mustTrain(t, c.opt)
	for _, e := range p.Journal() {
		if e.Kind == journal.ApplyFailed || e.Kind == journal.Failed {
			t.Errorf("%+v", e)
		}
	}
}

// level has the same objective all the time.
type level struct{ Trainee }

func (level) Metrics() map[string]float64 { return map[string]float64{"episode.return": 1} }

// Of equal members the first one is the best.
func TestBestOfEquals(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		c := newColony(3)
		c.opt.Directory = dir
		build := c.opt.New
		c.opt.New = func(m Member) (Trainee, error) {
			trainee, err := build(m)
			return level{trainee}, err
		}
		if best := mustTrain(t, c.opt).Best(); best.Iteration != 1 || best.Member != 0 {
			t.Errorf("the best is member %d of interval %d", best.Member, best.Iteration)
		}
	}
}
