package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// doubling is a Mutation without chance.
func doubling() explore.Mutation {
	return explore.Mutation{Rate: 1, ChangeRange: [2]float64{2, 2}, Rules: explore.Rules{"learning_rate": explore.MutateFloat}}
}

// TestWhoseHyperparameters covers what a decision to replace can say about hyperparameters.
func TestWhoseHyperparameters(t *testing.T) {
	for _, test := range []struct {
		own, unmutated, reference bool
		from                      float64 // what the rate comes from
		mutated                   bool
	}{
		{false, false, false, 0.01, true},
		{true, false, false, 0.04, true},
		{false, true, false, 0.01, false},
		{true, true, false, 0.04, false},
		{false, false, true, 0.01, false},
		{true, false, true, 0.04, false},
	} {
		c := newColony(2)
		c.opt.TotalSteps, c.opt.Explore = 100, doubling()
		c.opt.Initial = []map[string]float64{{"learning_rate": 0.01}, {"learning_rate": 0.04}}
		whose := 0
		if test.own {
			whose = 1
		}
		if test.reference {
			c.opt.Reference = []int{1}
		}
		c.opt.Strategy = decided{{Member: 1, Action: strategy.Replace, Source: 0, From: strategy.HyperparametersOf(whose), Mutate: !test.unmutated}}
		p := mustTrain(t, c.opt)
		e := kinds(p.Journal(), journal.Replace)[0]
		rate := e.After["learning_rate"]
		if changed := rate == test.from*2 || rate == test.from/2; changed != test.mutated || !test.mutated && rate != test.from {
			t.Errorf("%+v: the rate became %v", test, rate)
		}
		if c.built[1].rate != rate || e.Parent != 0 || p.Table().Rows[1].Parent != 0 {
			t.Errorf("%+v: the rate in effect is %v", test, c.built[1].rate)
		}
	}
}

// A decision that says no more than whose weights are copied takes that member's hyperparameters, too.
func TestZeroDonorIsTheSource(t *testing.T) {
	c := newColony(3)
	c.opt.TotalSteps = 100
	c.opt.Initial = []map[string]float64{{"learning_rate": 0.01}, {"learning_rate": 0.02}, {"learning_rate": 0.04}}
	c.opt.Strategy = decided{{Member: 2, Action: strategy.Replace, Source: 1}}
	e := kinds(mustTrain(t, c.opt).Journal(), journal.Replace)[0]
	if e.Parent != 1 || e.After["learning_rate"] != 0.02 || c.built[2].rate != 0.02 {
		t.Errorf("copied from %d with the rate %v; want member 1's, 0.02", e.Parent, e.After["learning_rate"])
	}
}

func TestReferenceIsNeverMutated(t *testing.T) {
	c := newColony(4)
	c.opt.Reference = []int{0, 2}
	c.mutate(func(m *explore.Mutation) { m.Rate = 1 })
	c.opt.Diversify = true
	c.opt.Strategy = everyone(strategy.Decision{Action: strategy.SelfMutate, Reason: "test"})
	p := mustTrain(t, c.opt)
	for _, e := range p.Journal() {
		if (e.Member == 0 || e.Member == 2) && (e.Kind == journal.SelfMutate || e.Kind == journal.Start && e.Before != nil) {
			t.Errorf("mutated: %+v", e)
		}
	}
	for _, id := range []int{0, 2} {
		if got, want := p.Generation().Members[id].Hyperparameters["learning_rate"], c.opt.initial(id)["learning_rate"]; got != want {
			t.Errorf("member %d went from %v to %v", id, want, got)
		}
	}
	if n := len(kinds(p.Journal(), journal.SelfMutate)); n != 2*9 {
		t.Errorf("%d mutations of the others", n)
	}
	for want, ids := range map[string][]int{"Reference names member 4; members are 0 to 3": {4}, "Reference names member -1": {-1}, "Reference names member 1 twice": {1, 1}} {
		c.opt.Reference = ids
		if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestDiversify(t *testing.T) {
	t.Parallel()
	build := func(dir string) *colony {
		c := newColony(4)
		c.opt.Diversify, c.opt.Directory = true, dir
		c.opt.Sample = nil
		c.opt.Initial = []map[string]float64{{"learning_rate": 0.01}}
		c.opt.Explore = doubling()
		c.opt.Reference = []int{0}
		return c
	}
	c := build(t.TempDir())
	p := mustNew(t, c.opt)
	rates := make(map[float64]int)
	for id, m := range c.built {
		if want := map[bool][]float64{true: {0.01}, false: {0.005, 0.02}}[id == 0]; !slices.Contains(want, m.rate) {
			t.Errorf("member %d begins with %v", id, m.rate)
		}
		rates[m.rate]++
	}
	if len(rates) != 3 {
		t.Errorf("the rates are %v: this shows little", rates)
	}
	if _, err := p.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range kinds(p.Journal(), journal.Start) {
		if e.Member == 0 && e.Before != nil || e.Member != 0 && (e.Before["learning_rate"] != 0.01 || e.After["learning_rate"] == 0.01) {
			t.Errorf("the journal says %+v", e)
		}
	}
	// It continues with what it has, and is not diversified again; and it is the same every time.
	want, recorded := p.Generation(), string(readJournal(t, c.opt.Directory))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mustNew(t, c.opt).Generation(); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	again := build(t.TempDir())
	mustTrain(t, again.opt)
	if d := cmp.Diff(recorded, string(readJournal(t, again.opt.Directory))); d != "" {
		t.Error(d)
	}
}

// staged is a climber whose stage is fixed when it is built.
type staged struct {
	*climber
	stage  *float64
	strict bool // refuses by ErrRebuild instead of ignoring
}

func (s staged) Hyperparameters() map[string]float64 {
	h := s.climber.Hyperparameters()
	h["stage"] = *s.stage
	return h
}

func (s staged) SetHyperparameters(values map[string]float64) error {
	v, ok := values["stage"]
	if ok && v != *s.stage && s.strict {
		return fmt.Errorf("stage %v: %w", v, ErrRebuild)
	}
	rest := maps.Clone(values)
	delete(rest, "stage")
	return s.climber.SetHyperparameters(rest)
}

func newStaged(members int, strict bool) (c *colony, refuse *error) {
	c, refuse = newColony(members), new(error)
	c.opt.TotalSteps, c.opt.Directory, c.opt.Sample = 200, "", nil
	c.opt.Explore = explore.Mutation{Rate: 1, ChangeRange: [2]float64{2, 2}, Rules: explore.Rules{"stage": explore.MutateFloat, "learning_rate": explore.MutateFloat}}
	c.opt.Initial = []map[string]float64{{"stage": 16, "learning_rate": 0.01}}
	c.opt.New = func(m Member) (Trainee, error) {
		if len(c.built) >= members && *refuse != nil {
			return nil, *refuse
		}
		t, stage := newClimber(m, c.faults), m.Hyperparameters["stage"]
		c.built = append(c.built, t)
		return staged{t, &stage, strict}, nil
	}
	if !strict {
		c.opt.Rebuild = []string{"stage"}
	}
	return c, refuse
}

// TestRebuild: a hyperparameter that needs another trainee gets one, with the same weights and all else as it was.
func TestRebuild(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		for _, d := range []strategy.Decision{{Member: 1, Action: strategy.SelfMutate, Reason: "test"}, {Member: 1, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "test"}} {
			t.Run(fmt.Sprint(strict, d.Action), func(t *testing.T) {
				c, _ := newStaged(2, strict)
				c.opt.Directory, c.opt.Strategy = t.TempDir(), decided{d}
				var before, after climber
				c.opt.Progress = func(u Update) {
					if u.Event == nil && u.Iteration == 1 && u.Status.Member == map[strategy.Action]int{strategy.SelfMutate: 1, strategy.Replace: 0}[d.Action] {
						before = *c.built[u.Status.Member]
					}
				}
				c.faults.train = func(m *climber) error {
					if len(c.built) == 3 && m == c.built[2] && m.steps == 50 {
						after = *m
					}
					return nil
				}
				p := mustTrain(t, c.opt)
				e := kinds(p.Journal(), journal.Kind(d.Action))[0]
				if !e.Rebuilt || len(c.built) != 3 || c.built[1].closed != 1 || p.Trainee(1).(staged).climber != c.built[2] {
					t.Fatalf("it was not built anew: %+v", e)
				}
				stage, rate := e.After["stage"], e.After["learning_rate"]
				if stage != 8 && stage != 32 || rate != 0.005 && rate != 0.02 || p.Trainee(1).Hyperparameters()["stage"] != stage || after.rate != rate {
					t.Errorf("the journal says %v, in effect is %v at %v", e.After, p.Trainee(1).Hyperparameters(), after.rate)
				}
				if before.x != after.x || before.x == [4]float64{} {
					t.Errorf("the weights were %v and are %v", before.x, after.x)
				}
				s := p.Generation().Members[1]
				if want := map[strategy.Action]int64{strategy.SelfMutate: 200, strategy.Replace: 150}[d.Action]; s.Steps != 200 || s.SinceCopy != want {
					t.Errorf("it ended as %+v", s)
				}
				if events, err := journal.Read(c.opt.Directory); err != nil || !cmp.Equal(events, p.Journal()) {
					t.Errorf("the journal read is another: %s, %v", cmp.Diff(p.Journal(), events), err)
				}
				// A new process builds it with what it has now.
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				if got := mustNew(t, c.opt).Generation().Members[1]; !cmp.Equal(got, s) {
					t.Error(cmp.Diff(s, got))
				}
			})
		}
	}
}

// TestRebuildThatFails leaves the old member at work.
func TestRebuildThatFails(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, d := range []strategy.Decision{{Member: 1, Action: strategy.SelfMutate, Reason: "test"}, {Member: 1, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "test"}} {
			for _, where := range []string{"New", "Restore"} {
				t.Run(fmt.Sprint(strict, d.Action, where), func(t *testing.T) {
					c, refuse := newStaged(2, strict)
					c.opt.Strategy = decided{d}
					wrong := errors.New("no such stage")
					if where == "New" {
						*refuse = wrong
					} else {
						c.faults.restore = func(m *climber) error {
							if len(c.built) == 3 && m == c.built[2] {
								return wrong
							}
							return nil
						}
					}
					var before, after climber
					c.opt.Progress = func(u Update) {
						if u.Event == nil && u.Iteration == 1 && u.Status.Member == 1 {
							before = *c.built[1]
						}
					}
					c.faults.train = func(m *climber) error {
						if m == c.built[1] && m.steps == 50 {
							after = *m
						}
						return nil
					}
					p := mustTrain(t, c.opt)
					e := kinds(p.Journal(), journal.ApplyFailed)
					if len(e) != 1 || e[0].Rebuilt || e[0].After != nil || !strings.Contains(e[0].Cause, "no such stage") || !strings.Contains(e[0].Cause, "anew") {
						t.Errorf("the journal says %+v", e)
					}
					if before.x != after.x || before.rate != after.rate || before.steps != after.steps || after.steps != 50 {
						t.Errorf("it was %v at %v and is %v at %v", before.x, before.rate, after.x, after.rate)
					}
					if p.Trainee(1).(staged).climber != c.built[1] || c.built[1].closed != 0 || p.Trainee(1).Hyperparameters()["stage"] != 16 || p.Table().Rows[1].Parent != -1 {
						t.Errorf("the old member is not at work: %+v", p.Table().Rows[1])
					}
					for _, m := range c.built[2:] {
						if m.closed != 1 {
							t.Errorf("what was built anew was closed %d times", m.closed)
						}
					}
				})
			}
		}
	}
}

func TestRebuildAtTheBeginning(t *testing.T) {
	for _, strict := range []bool{false, true} {
		c, _ := newStaged(2, strict)
		c.opt.Diversify, c.opt.Strategy = true, strategy.Never{}
		p := mustTrain(t, c.opt)
		for id := range 2 {
			h := p.Trainee(id).Hyperparameters()
			if e := kinds(p.Journal(), journal.Start)[id]; h["stage"] != 8 && h["stage"] != 32 || !same(e.After, h) || e.Before["stage"] != 16 {
				t.Errorf("member %d has %v, the journal says %+v", id, h, e)
			}
		}
		if len(c.built) != 4 || c.built[0].closed != 1 || c.built[1].closed+c.built[2].closed != 1 {
			t.Errorf("%d trainees were built", len(c.built))
		}
	}
	c, _ := newStaged(2, false)
	c.opt.Rebuild = []string{"stages"}
	if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), `Rebuild names hyperparameter "stages", which members do not have: did you mean "stage"?`) {
		t.Errorf("the error is %v", err)
	}
}

// student changes the rate by a factor that it chooses when it is informed, and remembers what it was told.
type student struct {
	explore.Mutation
	lessons *[][]journal.Event
	factor  float64
}

func (s student) Fit(events []journal.Event, rng *rand.Rand) explore.Explorer {
	*s.lessons = append(*s.lessons, slices.Clone(events))
	s.factor = 1 + rng.Float64()
	return s
}

func (s student) Apply(values map[string]float64, _ explore.Uniform) map[string]float64 {
	out := maps.Clone(values)
	out["learning_rate"] *= s.factor
	return out
}

// TestFitter: an explorer learns from the journal so far, what was decided before it in this interval, and where
// the others stand.
func TestFitter(t *testing.T) {
	run := func() ([][]journal.Event, []journal.Event) {
		c := newColony(4)
		var lessons [][]journal.Event
		c.opt.Explore = student{lessons: &lessons}
		c.opt.TotalSteps, c.opt.Diversify, c.opt.Reference = 150, true, []int{3}
		c.opt.Strategy = replaceAlways{}
		c.faults.train = func(m *climber) error {
			if m == c.built[2] && m.steps == 70 {
				return errors.New("gone")
			}
			return nil
		}
		p := mustTrain(t, c.opt)
		return lessons, p.Journal()
	}
	lessons, recorded := run()
	if len(lessons) != 3+2+2 { // before training, and twice members 1 and 2
		t.Fatalf("%d lessons", len(lessons))
	}
	for i := range 3 {
		if len(lessons[i]) != 0 {
			t.Errorf("before training it is told %+v", lessons[i])
		}
	}
	start := 1 + 4
	for i, lesson := range lessons[3:] {
		interval, id := i/2, 1+i%2
		known := start + interval*4 // of the journal
		if interval == 1 {
			known++ // the failure
		}
		decided := known + id
		if d := cmp.Diff(recorded[:decided], lesson[:decided]); d != "" {
			t.Errorf("lesson %d begins otherwise than the journal: %s", i, d)
		}
		var standing []int
		for _, e := range lesson[decided:] {
			standing = append(standing, e.Member)
			if e.Kind != journal.Keep || e.Iteration != int64(interval+1) || e.After != nil || e.Before["learning_rate"] == 0 || e.Member != 2 && !e.HasObjective {
				t.Errorf("lesson %d says %+v", i, e)
			}
		}
		if want := []int{1, 2, 3}[id-1:]; !slices.Equal(standing, want) {
			t.Errorf("lesson %d is about %v, want %v", i, standing, want)
		}
	}
	if again, _ := run(); !cmp.Equal(again, lessons) {
		t.Error("the lessons differ from run to run")
	}
}

// TestPB2 runs the explorer that learns, twice, and again after an interruption.
func TestPB2(t *testing.T) {
	t.Parallel()
	build := func(dir string) *colony {
		c := newColony(4)
		c.opt.Directory = dir
		c.opt.Explore = explore.PB2{Bounds: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 0.4, Log: true}}}
		return c
	}
	a, b := build(t.TempDir()), build(t.TempDir())
	mustTrain(t, a.opt)
	b.opt.TotalSteps = 250
	if err := mustTrain(t, b.opt).Close(); err != nil {
		t.Fatal(err)
	}
	b.opt.TotalSteps = 500
	p := mustTrain(t, b.opt)
	if d := cmp.Diff(string(readJournal(t, a.opt.Directory)), string(readJournal(t, b.opt.Directory))); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
	if n := len(kinds(p.Journal(), journal.Replace)); n < 4 {
		t.Errorf("only %d replacements: this shows little", n)
	}
}

func TestPatternsAreExpanded(t *testing.T) {
	c := newColony(2)
	c.opt.Explore = explore.Mutation{Rules: explore.Rules{"*": explore.MutateFloat}}
	c.opt.Sample = nil
	p := mustTrain(t, c.opt)
	if want := []string{"discount_factor", "learning_rate"}; !slices.Equal(p.Table().Keys, want) || !slices.Equal(p.Journal()[0].Run.Tuned, want) {
		t.Errorf("the columns are %v", p.Table().Keys)
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
	if p.opt.Reference[0] != 1 || p.opt.Rebuild[0] != "discount_factor" || kept.Parameters["learning_rate"].Choices[0] != 0.1 || kept.Rules["learning_rate"] == nil {
		t.Errorf("the options changed: %+v", p.opt)
	}
}

func TestContradictions(t *testing.T) {
	for want, change := range map[string]func(o *Options){
		"outside its bounds, [1 2]": func(o *Options) {
			o.Explore = explore.PB2{Bounds: map[string]explore.Range{"learning_rate": {Low: 1, High: 2}}}
		},
	} {
		c := newColony(2)
		change(&c.opt)
		if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// TestPB2InAPopulation trains climbers with it, twice.
func TestPB2InAPopulation(t *testing.T) {
	run := func() []journal.Event {
		rates := explore.Range{Low: 1e-3, High: 0.4, Log: true}
		p, err := New(Options{
			Members: 6, Objective: "episode.return", IntervalSteps: 20, TotalSteps: 200, Seed: 3,
			Explore: explore.PB2{Bounds: map[string]explore.Range{"learning_rate": rates}},
			Sample:  map[string]explore.Range{"learning_rate": rates},
			New:     func(m Member) (Trainee, error) { return newClimber(m, &faults{}), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		return p.Journal()
	}
	recorded := run()
	if diff := cmp.Diff(recorded, run()); diff != "" {
		t.Errorf("the second run is another:\n%s", diff)
	}
	changes := 0
	for _, e := range recorded {
		if v, ok := e.After["learning_rate"]; ok && e.Kind != journal.Start {
			changes++
			if v < 1e-3 || v > 0.4 {
				t.Errorf("member %d got a learning rate of %v", e.Member, v)
			}
		}
	}
	if changes < 5 {
		t.Errorf("only %d changes in %d events", changes, len(recorded))
	}
}
