package explore

// This file turns a journal into what PB2 learns from: trials, each the improvement of one member in one interval
// with the hyperparameters of that interval. It follows each member's score from event to event, because the event of
// an interval holds the objective at its end only.

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// trial is an interval that one member trained with some hyperparameters.
type trial struct {
	time   float64   // the number of the interval
	score  float64   // objective at its beginning, higher is better
	values []float64 // hyperparameters in order of PB2.Keys
	gain   float64   // improvement of the objective per step
}

// standing is a member's hyperparameters, the objective of its weights and its latest trial.
type standing struct {
	values []float64
	score  float64
	latest trial
}

// learned is what PB2 takes from a journal.
type learned struct {
	trials  []trial     // finished intervals in order of their numbers
	pending [][]float64 // values given to members in the latest iteration, and not trained with yet
	before  []standing  // members before their latest decision
	after   []standing  // members after their latest decision, if it changed something
}

// learn reads a journal in three passes: the objectives of all weights, by member and step; the trials, with each
// member's score carried from one interval to the next; and where members stand now.
func (p PB2) learn(events []journal.Event) learned {
	type place struct {
		member int
		steps  int64
	}
	// The scores come first, since a copy may name a source whose own event comes later in the list.
	scores := make(map[place]float64)
	sign := 1.0 // higher is better
	if len(events) > 0 && events[0].Run != nil && events[0].Run.Minimise {
		sign = -1
	}
	for _, e := range events {
		if e.HasObjective && number.Finite(e.Objective) {
			scores[place{e.Member, e.Steps}] = sign * e.Objective
		}
	}
	for _, e := range events { // the score of weights that failed tells nothing about hyperparameters
		if e.Kind == journal.Failed || e.Kind == journal.Diverged {
			delete(scores, place{e.Member, e.Steps})
		}
	}
	type state struct {
		trial trial // the latest one
		known bool  // score is that of the present weights
		score float64
		steps int64
		last  journal.Event
	}
	members := make(map[int]*state)
	var now int64 // the latest iteration
	var d learned
	keys := p.Keys()
	for _, e := range events {
		if e.Member < 0 {
			continue
		}
		now = max(now, e.Iteration)
		s := members[e.Member]
		if s == nil || e.Kind == journal.Start {
			s = &state{}
			members[e.Member] = s
		}
		s.last = e
		if e.Kind == journal.Start || e.Kind == journal.Failed || e.Kind == journal.Diverged {
			s.known, s.steps = false, e.Steps
			continue
		}
		// An interval is a trial where the score is known at both ends; Before are the values that it was trained
		// with.
		score, known := scores[place{e.Member, e.Steps}]
		values, complete := vector(keys, e.Before)
		if s.known && known && complete && e.Steps > s.steps {
			t := trial{time: float64(e.Iteration), score: s.score, values: values,
				gain: (score - s.score) / float64(e.Steps-s.steps)}
			if number.Finite(t.gain) {
				d.trials = append(d.trials, t)
				s.trial = t
			}
		}
		if e.Kind == journal.Replace { // the next interval begins with the weights, and so the score, of the source
			score, known = scores[place{e.Parent, e.ParentSteps}]
		}
		s.score, s.known, s.steps = score, known, e.Steps
	}
	slices.SortStableFunc(d.trials, func(a, b trial) int { return cmp.Compare(a.time, b.time) })
	for _, id := range slices.Sorted(maps.Keys(members)) {
		s := members[id]
		before, complete := vector(keys, s.last.Before)
		if score, known := scores[place{id, s.last.Steps}]; known && complete {
			d.before = append(d.before, standing{before, score, s.trial})
		}
		if after, complete := vector(keys, s.last.After); complete && s.known {
			d.after = append(d.after, standing{after, s.score, s.trial})
			if s.last.Iteration == now {
				d.pending = append(d.pending, after)
			}
		}
	}
	return d
}

// vector lists the values of keys; false where one is missing or not finite.
func vector(keys []string, values map[string]float64) ([]float64, bool) {
	list := make([]float64, len(keys))
	for i, key := range keys {
		v, ok := values[key]
		if !ok || !number.Finite(v) {
			return nil, false
		}
		list[i] = v
	}
	return list, true
}

// base returns the member with exactly the given hyperparameters, now or before its latest decision. Of several it
// returns the one with the best objective, and if there is none, the best of all members.
func (d learned) base(values []float64) standing {
	same := func(list []standing) []standing {
		return slices.DeleteFunc(slices.Clone(list), func(s standing) bool { return !slices.Equal(s.values, values) })
	}
	for _, list := range [][]standing{same(d.before), same(d.after), slices.Concat(d.before, d.after)} {
		if len(list) > 0 {
			return slices.MaxFunc(list, func(a, b standing) int { return cmp.Compare(a.score, b.score) })
		}
	}
	return standing{}
}
