package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// events are all of them, or so many that the page stays small.
func (f *facts) events(p *page, most int) {
	p.Events = table{Header: []string{"interval", "member", "event", "from", "steps", plot.Plain(f.Run.Objective, 40), "why", "changed"}, Left: []bool{2: true, 6: true, 7: true}}
	events := f.Events
	if len(events) > most {
		events = slices.DeleteFunc(slices.Clone(events), func(e journal.Event) bool { return e.Kind == journal.Keep })
	}
	events = events[max(0, len(events)-most):]
	p.EventsCount = fmt.Sprint(len(f.Events))
	if left := len(f.Events) - len(events); left > 0 {
		p.EventsCount = fmt.Sprintf("%d of %d; members that were merely kept and the oldest events are left out", len(events), len(f.Events))
	}
	for _, e := range events {
		from, objective := "", ""
		if e.Parent >= 0 {
			from = fmt.Sprint(e.Parent)
		}
		if e.HasObjective {
			objective = short(e.Objective)
		}
		r := row{Cells: []string{fmt.Sprint(e.Iteration), fmt.Sprint(e.Member), string(e.Kind), from, fmt.Sprint(e.Steps), objective, plot.Plain(e.Cause, 500), f.changed(e)}}
		switch e.Kind {
		case journal.Failed, journal.Diverged, journal.ApplyFailed, journal.Hopeless:
			r.Class = "bad"
		case journal.Keep:
			r.Class = "kept"
		}
		p.Events.Rows = append(p.Events.Rows, r)
	}
}

// changed are the hyperparameters that an event changed, and what else was mutated.
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
