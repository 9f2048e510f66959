package strategy

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// settled is a decision table of [Settle]: member i has status i, and the decision about it is d.
func settled(o Delays, reference []int, d Decision, members ...Status) []string {
	var given []Decision
	for i := range members {
		members[i].Member, members[i].Steps = i, max(members[i].Steps, 200)
		d.Member, d.Reason = i, "why"
		given = append(given, d)
	}
	var out []string
	for _, d := range Settle(given, Generation{Members: members}, o, reference) {
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
	healthy := Status{Objective: 1, HasObjective: true, Steps: 200, SinceCopy: 200, SinceChange: 200}
	with := func(change func(s *Status)) Status { s := healthy; change(&s); return s }
	copied := with(func(s *Status) { s.SinceCopy, s.SinceChange = 49, 49 })
	mutated := with(func(s *Status) { s.SinceChange = 49 })
	both := with(func(s *Status) { s.SinceCopy, s.SinceChange = 49, 9 })
	failed := with(func(s *Status) { s.Failed, s.SinceCopy = true, 1 })
	diverged := with(func(s *Status) { s.Objective, s.SinceCopy = math.NaN(), 1 })
	young := "keep: nothing is decided before 300 environment steps"
	since := "keep: only 49 of 50 environment steps since it started or took over weights"
	changed := "keep: only 49 of 50 environment steps since it mutated itself"
	replace := Decision{Action: Replace, Mutate: true}
	mutate := Decision{Action: SelfMutate}
	old := with(func(s *Status) { s.Steps, s.SinceCopy, s.SinceChange = 300, 50, 50 })
	for _, test := range []struct {
		o         Delays
		reference []int
		d         Decision
		members   []Status
		want      []string
	}{
		{Delays{}, nil, replace, []Status{copied, failed}, []string{"replace, mutated", "replace, mutated"}},
		{Delays{StartAfter: 50}, nil, replace, []Status{copied, mutated, both, failed, diverged, old},
			[]string{since, "replace, mutated", since, "replace, mutated", "replace, mutated", "replace, mutated"}},
		{Delays{InitialDelay: 300}, nil, replace, []Status{healthy, old, diverged, {Steps: 299}},
			[]string{young, "replace, mutated", "replace, mutated", young}},
		{Delays{StartAfter: 50, SettleMutations: true}, nil, mutate, []Status{copied, mutated, old, failed},
			[]string{since, changed, "self-mutate", "self-mutate"}},
		{Delays{}, []int{0}, replace, []Status{healthy, healthy}, []string{"replace", "replace, mutated"}},
		{Delays{}, []int{0}, mutate, []Status{diverged, healthy},
			[]string{"keep: reference members are not mutated", "self-mutate"}},
		{Delays{InitialDelay: 300}, nil, Decision{Action: Keep}, []Status{healthy}, []string{"keep"}},
	} {
		must.Equal(t, fmt.Sprintf("%+v, reference %v", test.o, test.reference), test.want,
			settled(test.o, test.reference, test.d, test.members...))
	}
}
