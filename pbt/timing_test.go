package pbt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// donors lets go-cmp compare decisions.
var donors = cmp.AllowUnexported(strategy.Donor{})

func TestSettle(t *testing.T) {
	o := &Options{Delays: Delays{InitialDelay: 100, StartAfter: 50}, Reference: []int{3, 4}}
	healthy := func(id int, steps, since int64) strategy.Status {
		return strategy.Status{Member: id, Steps: steps, SinceCopy: since, Objective: 1, HasObjective: true}
	}
	g := strategy.Generation{Members: []strategy.Status{
		healthy(0, 99, 99),   // younger than InitialDelay
		healthy(1, 200, 49),  // took over weights lately
		healthy(2, 100, 50),  // old enough
		healthy(3, 200, 200), // reference
		{Member: 4, Steps: 200, SinceCopy: 1, Failed: true},
		{Member: 5, Steps: 1, Objective: math.NaN(), HasObjective: true},
		{Member: 6, Steps: 1, SinceCopy: 1, Objective: math.NaN(), HasObjective: true, NotFinite: true},
		{Member: 7, Steps: 1, SinceCopy: 1}, // nothing is known of it, so it is not in need of rescue
	}}
	decide := func(d strategy.Decision) []strategy.Decision {
		var all []strategy.Decision
		for _, m := range g.Members {
			one := d
			one.Member = m.Member
			all = append(all, one)
		}
		return all
	}
	kept := func(id int, why string) strategy.Decision {
		return strategy.Decision{Member: id, Action: strategy.Keep, Source: id, Reason: why}
	}
	young, copied := "nothing is decided before 100 environment steps (why)", "only 49 of 50 environment steps since it started or took over weights (why)"

	replace := strategy.Decision{Action: strategy.Replace, Source: 2, Mutate: true, Reason: "why"}
	given := decide(replace)
	before := slices.Clone(given)
	want := decide(replace)
	want[0], want[1], want[7] = kept(0, young), kept(1, copied), kept(7, young)
	want[3].Mutate, want[4].Mutate = false, false
	if d := cmp.Diff(want, settle(given, g, o), donors); d != "" {
		t.Error(d)
	}
	if !cmp.Equal(before, given, donors) {
		t.Error("settle changed what it was given")
	}

	want = decide(strategy.Decision{Action: strategy.SelfMutate, Reason: "why"})
	given = slices.Clone(want)
	want[0], want[1], want[7] = kept(0, young), kept(1, copied), kept(7, young)
	want[3], want[4] = kept(3, "reference members are not mutated (why)"), kept(4, "reference members are not mutated (why)")
	if d := cmp.Diff(want, settle(given, g, o), donors); d != "" {
		t.Error(d)
	}

	keep := decide(strategy.Decision{Action: strategy.Keep, Reason: "why"})
	if d := cmp.Diff(keep, settle(keep, g, o), donors); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, settle(before, g, &Options{}), donors); d != "" {
		t.Error(d)
	}
}

// Mutating itself starts the count anew where the options say so, as in IsaacGymEnvs, and nowhere else.
func TestSettleMutations(t *testing.T) {
	g := strategy.Generation{Members: []strategy.Status{
		{Member: 0, Steps: 200, SinceCopy: 200, SinceChange: 49, Objective: 1, HasObjective: true},
		{Member: 1, Steps: 200, SinceCopy: 200, SinceChange: 50, Objective: 1, HasObjective: true},
		{Member: 2, Steps: 200, SinceCopy: 49, SinceChange: 49, Objective: 1, HasObjective: true},
		{Member: 3, Steps: 200, SinceCopy: 49, SinceChange: 9, Objective: 1, HasObjective: true},
		{Member: 4, Steps: 200, SinceCopy: 200, SinceChange: 9, Failed: true},
	}}
	var given []strategy.Decision
	for i := range g.Members {
		given = append(given, strategy.Decision{Member: i, Action: strategy.SelfMutate, Source: i, Reason: "why"})
	}
	kept := func(id int, why string) strategy.Decision {
		return strategy.Decision{Member: id, Action: strategy.Keep, Source: id, Reason: why + " (why)"}
	}
	copied := "only 49 of 50 environment steps since it started or took over weights"
	want := []strategy.Decision{kept(0, "only 49 of 50 environment steps since it mutated itself"), given[1], kept(2, copied), kept(3, "only 9 of 50 environment steps since it mutated itself"), given[4]}
	if d := cmp.Diff(want, settle(given, g, &Options{Delays: Delays{StartAfter: 50, SettleMutations: true}}), donors); d != "" {
		t.Error(d)
	}
	want = []strategy.Decision{given[0], given[1], kept(2, copied), kept(3, copied), given[4]}
	if d := cmp.Diff(want, settle(given, g, &Options{Delays: Delays{StartAfter: 50}}), donors); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(given, settle(given, g, &Options{Delays: Delays{SettleMutations: true}}), donors); d != "" {
		t.Error(d)
	}
}

// mutateAlways lets everybody but member 0 mutate itself at every interval's end.
type mutateAlways struct{}

func (mutateAlways) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	var decisions []strategy.Decision
	for _, m := range g.Members[1:] {
		decisions = append(decisions, strategy.Decision{Member: m.Member, Action: strategy.SelfMutate, Source: m.Member, Reason: "always"})
	}
	return decisions
}

// A member that mutates itself settles before it does so again, also where that makes it a new process or trainee, and
// where the population is interrupted meanwhile.
func TestSelfMutationSettles(t *testing.T) {
	t.Parallel()
	for _, settles := range []bool{false, true} {
		for _, rebuilt := range []bool{false, true} {
			c := newColony(2)
			c.opt.Strategy, c.opt.StartAfter, c.opt.SettleMutations = mutateAlways{}, 120, settles
			if c.opt.Directory = t.TempDir(); rebuilt {
				c.opt.Rebuild = []string{"discount_factor"}
			}
			ctx, cancel := context.WithCancel(t.Context())
			c.opt.Progress = func(u Update) {
				if u.Iteration == 5 {
					cancel()
				}
			}
			p, err := New(c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Train(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			c.opt.Progress = nil
			mustTrain(t, c.opt)
			events, err := journal.Read(c.opt.Directory)
			if err != nil {
				t.Fatal(err)
			}
			var at []int64
			for _, e := range kinds(events, journal.SelfMutate) {
				at = append(at, e.Steps)
			}
			want := []int64{150, 200, 250, 300, 350, 400, 450}
			if settles {
				want = []int64{150, 300, 450}
			}
			if !cmp.Equal(at, want) {
				t.Errorf("settles %t, rebuilt %t: mutated at %v, want %v", settles, rebuilt, at, want)
			}
		}
	}
}

func TestPause(t *testing.T) {
	o := &Options{IntervalSteps: 50, TotalSteps: 120, ProgressSteps: 20}
	for _, test := range []struct{ iteration, steps, want int64 }{
		{1, 0, 20}, {1, 19, 20}, {1, 20, 40}, {1, 41, 50}, {2, 50, 70}, {2, 64, 70}, {2, 89, 90}, {2, 90, 100}, {3, 100, 120},
		{2, 45, 50}, {2, 10, 30}, // rescued, and behind the others
	} {
		if got := o.pause(test.iteration, test.steps); got != test.want {
			t.Errorf("in interval %d after %d steps the pause is at %d, want %d", test.iteration, test.steps, got, test.want)
		}
	}
	o.ProgressSteps = 0
	if got := o.pause(2, 60); got != 100 {
		t.Errorf("without ProgressSteps the pause is at %d", got)
	}
}

// replaceAlways gives everyone but member 0 the weights of that at every interval's end.
type replaceAlways struct{}

func (replaceAlways) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	var decisions []strategy.Decision
	for _, m := range g.Members[1:] {
		decisions = append(decisions, strategy.Decision{Member: m.Member, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "always"})
	}
	return decisions
}

// TestStartAfter counts from the start and from every taking over of weights, and leaves rescues alone.
func TestStartAfter(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy, c.opt.StartAfter = replaceAlways{}, 120
	c.poison(310, 2)
	p := mustTrain(t, c.opt)
	at := make(map[int][]int64)
	for _, e := range kinds(p.Journal(), journal.Replace) {
		at[e.Member] = append(at[e.Member], e.Steps)
	}
	if want := map[int][]int64{1: {150, 300, 450}, 2: {150, 300, 350}}; !cmp.Equal(at, want) {
		t.Errorf("replaced at %v, want %v", at, want)
	}
	for _, e := range kinds(p.Journal(), journal.Keep) {
		if e.Member == 1 && e.Steps == 200 && e.Cause != "only 50 of 120 environment steps since it started or took over weights (always)" {
			t.Errorf("kept for %q", e.Cause)
		}
	}
}

// TestStepsBehindWeights lets a member that failed, and so has trained less, take over weights.
func TestStepsBehindWeights(t *testing.T) {
	t.Parallel()
	c := newColony(3)
	c.opt.TotalSteps, c.opt.Directory = 150, t.TempDir()
	c.opt.Strategy = decided{{Member: 2, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "test"}}
	c.faults.train = func(m *climber) error {
		if m == c.built[2] && m.steps == 30 {
			return fmt.Errorf("gone")
		}
		return nil
	}
	var seen []strategy.Status
	c.opt.Progress = func(u Update) {
		if u.Status.Member == 2 && (u.Event == nil || u.Event.Kind == journal.Replace) {
			seen = append(seen, u.Status)
		}
	}
	p := mustTrain(t, c.opt)
	var got [][3]int64
	for _, s := range seen {
		got = append(got, [3]int64{s.Steps, s.WeightSteps, s.SinceCopy})
	}
	if want := [][3]int64{{30, 50, 0}, {100, 120, 70}, {150, 170, 120}}; !cmp.Equal(got, want) {
		t.Errorf("steps, those behind the weights and those since the copy are %v, want %v", got, want)
	}
	want := p.Generation()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, mustNew(t, c.opt).Generation()); d != "" {
		t.Errorf("restored: %s", d)
	}
}
