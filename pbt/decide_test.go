package pbt

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// settled is a decision table of [settle]: member i has status i, and the decision about it is d.
func settled(o *Options, d strategy.Decision, members ...strategy.Status) []string {
	var given []strategy.Decision
	for i := range members {
		members[i].Member, members[i].Steps = i, max(members[i].Steps, 200)
		d.Member, d.Reason = i, "why"
		given = append(given, d)
	}
	var out []string
	for _, d := range settle(given, strategy.Generation{Members: members}, o) {
		what := string(d.Action)
		if d.Mutate {
			what += ", mutated"
		}
		if d.Reason != "why" {
			what += ": " + strings.TrimSuffix(d.Reason, " (why)")
		}
		out = append(out, what)
	}
	return out
}

// TestSettle: young members, and those that copied or mutated lately, are kept, unless they need rescue; reference
// members are not mutated.
func TestSettle(t *testing.T) {
	healthy := strategy.Status{Objective: 1, HasObjective: true, Steps: 200, SinceCopy: 200, SinceChange: 200}
	with := func(change func(s *strategy.Status)) strategy.Status { s := healthy; change(&s); return s }
	copied := with(func(s *strategy.Status) { s.SinceCopy, s.SinceChange = 49, 49 })
	mutated := with(func(s *strategy.Status) { s.SinceChange = 49 })
	both := with(func(s *strategy.Status) { s.SinceCopy, s.SinceChange = 49, 9 })
	failed := with(func(s *strategy.Status) { s.Failed, s.SinceCopy = true, 1 })
	diverged := with(func(s *strategy.Status) { s.Objective, s.SinceCopy = math.NaN(), 1 })
	young := "keep: nothing is decided before 300 environment steps"
	since := "keep: only 49 of 50 environment steps since it started or took over weights"
	changed := "keep: only 49 of 50 environment steps since it mutated itself"
	replace := strategy.Decision{Action: strategy.Replace, Mutate: true}
	mutate := strategy.Decision{Action: strategy.SelfMutate}
	old := with(func(s *strategy.Status) { s.Steps, s.SinceCopy, s.SinceChange = 300, 50, 50 })
	for _, test := range []struct {
		o       Options
		d       strategy.Decision
		members []strategy.Status
		want    []string
	}{
		{Options{}, replace, []strategy.Status{copied, failed}, []string{"replace, mutated", "replace, mutated"}},
		{Options{Delays: Delays{StartAfter: 50}}, replace, []strategy.Status{copied, mutated, both, failed, diverged,
			old},
			[]string{since, "replace, mutated", since, "replace, mutated", "replace, mutated", "replace, mutated"}},
		{Options{Delays: Delays{InitialDelay: 300}}, replace, []strategy.Status{healthy, old, diverged, {Steps: 299}},
			[]string{young, "replace, mutated", "replace, mutated", young}},
		{Options{Delays: Delays{StartAfter: 50, SettleMutations: true}}, mutate,
			[]strategy.Status{copied, mutated, both, old, failed}, []string{since, changed,
				strings.Replace(changed, "49", "9", 1), "self-mutate", "self-mutate"}},
		{Options{Delays: Delays{SettleMutations: true}}, mutate, []strategy.Status{both}, []string{"self-mutate"}},
		{Options{Reference: []int{0}}, replace, []strategy.Status{healthy, healthy}, []string{"replace",
			"replace, mutated"}},
		{Options{Reference: []int{0}}, mutate, []strategy.Status{diverged, healthy},
			[]string{"keep: reference members are not mutated", "self-mutate"}},
		{Options{Delays: Delays{InitialDelay: 300}}, strategy.Decision{Action: strategy.Keep},
			[]strategy.Status{healthy}, []string{"keep"}},
	} {
		if d := cmp.Diff(test.want, settled(&test.o, test.d, test.members...)); d != "" {
			t.Errorf("%+v, reference %v: %s", test.o.Delays, test.o.Reference, d)
		}
	}
}

func TestPause(t *testing.T) {
	o := &Options{IntervalSteps: 50, TotalSteps: 120, ProgressSteps: 20}
	for _, test := range []struct{ iteration, steps, want int64 }{
		{1, 0, 20}, {1, 19, 20}, {1, 20, 40}, {1, 41, 50}, {2, 50, 70}, {2, 64, 70}, {2, 89, 90}, {2, 90, 100},
		{3, 100, 120}, {2, 45, 50}, {2, 10, 30}, // the last two were rescued, and are behind the others
	} {
		if got := o.pause(test.iteration, test.steps); got != test.want {
			t.Errorf("in interval %d after %d steps the pause is at %d, want %d", test.iteration, test.steps, got,
				test.want)
		}
	}
	o.ProgressSteps = 0
	if got := o.pause(2, 60); got != 100 {
		t.Errorf("without ProgressSteps the pause is at %d", got)
	}
}

// recordingExplorer changes the rate by a factor that it chooses when it is informed, and remembers what it was told.
type recordingExplorer struct {
	explore.Mutation
	lessons *[][]journal.Event
	factor  float64
}

func (s recordingExplorer) Fit(events []journal.Event, rng *rand.Rand) explore.Explorer {
	*s.lessons = append(*s.lessons, slices.Clone(events))
	s.factor = 1 + rng.Float64()
	return s
}

func (s recordingExplorer) Apply(values map[string]float64, _ explore.Uniform) map[string]float64 {
	out := maps.Clone(values)
	out["learning_rate"] *= s.factor
	return out
}

// TestFitter: an explorer learns from the journal so far, what was decided before it in this interval, and where
// the others stand.
func TestFitter(t *testing.T) {
	c := newColony(4)
	var lessons [][]journal.Event
	c.opt.Explore = recordingExplorer{lessons: &lessons}
	c.opt.TotalSteps, c.opt.Diversify, c.opt.Reference = 150, true, []int{3}
	c.opt.Strategy = each(func(m strategy.Status, _ strategy.Generation) strategy.Decision {
		if m.Member == 0 {
			return strategy.Decision{Action: strategy.Keep}
		}
		return strategy.Decision{Action: strategy.Replace, Mutate: true, Reason: "always"}
	})
	c.at(2, 70, func(*climber) error { return errors.New("gone") })
	recorded := mustTrain(t, c.opt).Journal()
	if len(lessons) != 3+2+2 || len(slices.Concat(lessons[:3]...)) > 0 { // before training, and twice members 1 and 2
		t.Fatalf("%d lessons, first %v", len(lessons), lessons[:3])
	}
	for i, lesson := range lessons[3:] {
		interval, id := i/2, 1+i%2
		known := 1 + 4 + interval*5 + id // of the journal: in interval 2 there also is a failure
		if d := cmp.Diff(recorded[:known], lesson[:known]); d != "" {
			t.Errorf("lesson %d begins otherwise than the journal: %s", i, d)
		}
		var standing []int
		for _, e := range lesson[known:] {
			standing = append(standing, e.Member)
			if e.Kind != journal.Keep || e.Iteration != int64(interval+1) || e.After != nil ||
				e.Before["learning_rate"] == 0 || e.Member != 2 && !e.HasObjective {
				t.Errorf("lesson %d says %+v", i, e)
			}
		}
		if want := []int{1, 2, 3}[id-1:]; !slices.Equal(standing, want) {
			t.Errorf("lesson %d is about %v, want %v", i, standing, want)
		}
	}
}
