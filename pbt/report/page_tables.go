package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/timeline"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// table is a header and rows of text. Left tells which columns are aligned to the left, as words are; the others are,
// as numbers are, aligned to the right. It may be shorter than the header.
type table struct {
	Header []string
	Left   []bool
	Rows   []row
}

// row may have fewer cells than its table has columns.
type row struct {
	// Class is best, bad or kept, which the style knows, or "".
	Class string
	Cells []string
	// Ink is the class of a lineage's colour, for a mark in the second cell; "" for none.
	Ink string
}

// standings lists the members, the best first: where they stand now and what they are trained with. Its columns are
//
//   - lineage: the member with which the present weights began, with a mark in its colour,
//   - the objective's name: the last objective,
//   - best: the best objective that the member itself ever had, maybe with weights that were discarded since,
//   - steps: the environment steps that the member trained, whatever its weights went through elsewhere,
//   - took over, was copied: how often it copied another, and others copied it,
//   - the present value of each hyperparameter, and what its networks are now where networks evolve.
//
// Of more than maxLanes members the best are listed. A member without a finite objective, because nothing was measured
// yet or because it diverged, stands behind all that have one.
func (f *facts) standings() table {
	t := table{Header: []string{
		"member", "lineage", plot.Plain(f.Run.Objective, 40), "best", "environment steps", "took over", "was copied",
	}}
	t.Header = append(t.Header, f.keys...)
	// By member: its last objective and the best it had, NaN if there is none. worth is the last objective turned so
	// that more is better. order will be the best first, and members of equal worth by their numbers.
	n := len(f.Members)
	order, last, best, worth := make([]int, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, track := range f.Members {
		order[i], last[i], best[i], worth[i] = i, math.NaN(), math.NaN(), math.Inf(-1)
		for _, p := range track.Objective {
			last[i] = p.Value
			if drawable(p.Value) && (!drawable(best[i]) || f.better(p.Value, best[i])) {
				best[i] = p.Value
			}
		}
		if drawable(last[i]) {
			worth[i] = last[i]
			if f.Run.Minimise {
				worth[i] = -last[i]
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worth[b], worth[a]) })
	for _, i := range order[:min(len(order), maxLanes)] {
		track, course := f.Members[i], f.courses[i]
		founder := course[len(course)-1].founder // of the present weights
		objective := "–"
		if n := len(track.Objective); n > 0 {
			objective = short(last[i])
			// What was measured before the last copy belongs to weights that were discarded: it says nothing of the
			// present ones, which have not been measured yet.
			if k := len(track.Copies); k > 0 && track.Copies[k-1].Iteration >= track.Objective[n-1].Iteration {
				objective += " (before its last copy)"
			}
		}
		ever := "–"
		if drawable(best[i]) {
			ever = short(best[i])
		}
		r := row{
			Ink:   f.ink(founder).Class(),
			Cells: tracking.Cells(i, founder, objective, ever, track.Steps, len(track.Copies), f.copied[i]),
		}
		if f.best != nil && f.best.member == i {
			r.Class = "best"
		}
		for _, key := range f.keys {
			value := "–"
			if points := track.Hyperparameters[key]; len(points) > 0 {
				value = short(points[len(points)-1].Value)
			}
			r.Cells = append(r.Cells, value)
		}
		if f.evolves {
			shape := "–"
			if c := f.changes[i]; len(c) > 0 {
				shape = plot.Plain(c[len(c)-1].architecture, 200)
			}
			r.Cells = append(r.Cells, shape)
		}
		t.Rows = append(t.Rows, r)
	}
	// Descriptions of networks are words, and stand at the left of their column.
	if f.evolves {
		t.Header = append(t.Header, "architecture")
		t.Left = make([]bool, len(t.Header))
		t.Left[len(t.Left)-1] = true
	}
	return t.shorten(40)
}

// shorten cuts the names of columns to n characters: hyperparameters may be called anything.
func (t table) shorten(n int) table {
	for i := range t.Header {
		t.Header[i] = plot.Plain(t.Header[i], n)
	}
	return t
}

// schedule fills in the table of the hyperparameters that the best's weights were trained with, a row for every phase
// in which none changed: what gorl-pbt replay plays to a single agent. Steps count what the weights have gone
// through, in whichever member: they go on at a copy, where the steps of a member jump. An arrow says that a value is
// greater or less than in the phase before, a dash that the phase has none. Why there is no schedule stands in its
// place: without an objective no member is the best, and a damaged journal may lack the way to its beginning.
func (f *facts) schedule(p *page) {
	if f.ever == nil {
		p.NoSchedule = "No objective is known yet."
		return
	}
	s, err := timeline.ExtractAt(f.History, f.ever.member, f.ever.point.Iteration)
	if err != nil {
		p.NoSchedule = err.Error()
		return
	}
	p.ScheduleOf = fmt.Sprintf("member %d at the end of interval %d, %d environment steps behind its weights, were "+
		"trained with", s.Member, f.ever.point.Iteration, s.Steps)
	keys := s.Keys() // also those that are not shown elsewhere: the schedule is all that can be replayed
	p.Schedule = table{Header: append([]string{"from environment step", "member"}, keys...)}
	shapes := s.Architectures()
	if len(shapes) > 0 {
		p.ScheduleOf += "; only hyperparameters are replayed, not architectures"
		p.Schedule.Header = append(p.Schedule.Header, "architecture")
		p.Schedule.Left = append(make([]bool, len(keys)+2), true)
	}
	before := map[string]float64{} // the values of the phase before, for the arrows
	for _, phase := range s.Phases {
		r := row{Cells: tracking.Cells(phase.From, phase.Member)}
		for _, key := range keys {
			value, ok := phase.Hyperparameters[key]
			switch old, had := before[key]; {
			case !ok:
				r.Cells = append(r.Cells, "–")
			case had && value > old:
				r.Cells = append(r.Cells, short(value)+" ↑")
			case had && value < old:
				r.Cells = append(r.Cells, short(value)+" ↓")
			default:
				r.Cells = append(r.Cells, short(value))
			}
			if ok {
				before[key] = value
			}
		}
		if len(shapes) > 0 {
			r.Cells = append(r.Cells, plot.Plain(phase.Architecture, 200))
		}
		p.Schedule.Rows = append(p.Schedule.Rows, r)
	}
	p.Schedule = p.Schedule.shorten(40)
}

// events fills in the table of all events, or of at most so many that the page stays small: members that were merely
// kept, which is most events of most populations, are left out first, then the oldest events. Its columns are those
// of the journal: the interval at whose end it happened, the member, what happened, whom it copied, the member's
// steps and objective before, the strategy's reason, and what changed. Rows of what went wrong are red, of members
// that were kept grey.
func (f *facts) events(p *page, most int) {
	p.Events = table{
		Header: []string{"interval", "member", "event", "from", "environment steps", plot.Plain(f.Run.Objective, 40),
			"why",
			"changed"},
		Left: []bool{2: true, 6: true, 7: true}, // event, why and changed
	}
	events := f.Events // in the order of the journal
	if len(events) > most {
		events = slices.DeleteFunc(slices.Clone(events), func(e journal.Event) bool { return e.Kind == journal.Keep })
	}
	events = events[max(0, len(events)-most):] // the last ones
	p.EventsCount = fmt.Sprint(len(f.Events))
	if left := len(f.Events) - len(events); left > 0 {
		p.EventsCount = fmt.Sprintf("%d of %d; members that were merely kept and the oldest events are left out",
			len(events), len(f.Events))
	}
	for _, e := range events {
		from, objective := "", ""
		if e.Parent >= 0 {
			from = fmt.Sprint(e.Parent)
		}
		if e.HasObjective {
			objective = short(e.Objective)
		}
		cause := plot.Plain(e.Cause, 500)
		r := row{Cells: tracking.Cells(e.Iteration, e.Member, e.Kind, from, e.Steps, objective, cause, f.changed(e))}
		switch e.Kind {
		case journal.Failed, journal.Diverged, journal.ApplyFailed, journal.Hopeless:
			r.Class = "bad"
		case journal.Keep:
			r.Class = "kept"
		}
		p.Events.Rows = append(p.Events.Rows, r)
	}
}

// changed says in words what an event changed: of networks as the journal has it, and of the hyperparameters shown the
// values before and after. A hyperparameter that was mutated is not said twice.
func (f *facts) changed(e journal.Event) string {
	var changes []string
	if e.Mutation != "" && mutationOf(e) != mutationHyperparameter {
		changes = append(changes, plot.Plain(e.Mutation, 200))
	}
	for _, key := range f.keys {
		before, had := e.Before[key]
		after, has := e.After[key]
		switch {
		case !has || had && before == after:
		case had:
			changes = append(changes, fmt.Sprintf("%s %s → %s", plot.Plain(key, 60), short(before), short(after)))
		default:
			changes = append(changes, fmt.Sprintf("%s %s", plot.Plain(key, 60), short(after)))
		}
	}
	return strings.Join(changes, ", ")
}

// nonzero writes a number, but nothing for 0.
func nonzero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// short writes a number in few characters: at most five digits, and 1e-5 rather than 1e-05. Numbers from 0.001 to a
// million have no exponent.
func short(v float64) string {
	if a := math.Abs(v); a >= 1e-3 && a < 1e6 || v == 0 {
		digits := 5
		if a < 1 && 1-a < 0.01 { // a discount factor's digits count from one downwards
			digits = 7
		}
		s := strconv.FormatFloat(v, 'g', digits, 64)
		if !strings.Contains(s, "e") {
			return s
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return plot.ShortExponent(strconv.FormatFloat(v, 'e', 4, 64)) // of NaN and the infinities, these
}
