package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// events fills in the table of all events, or of at most so many that the page stays small: members that were merely
// kept, which is most events of most populations, are left out first, then the oldest events. Rows of what went wrong
// are red.
func (f *facts) events(p *page, most int) {
	p.Events = table{
		Header: []string{"interval", "member", "event", "from", "steps", plot.Plain(f.Run.Objective, 40), "why", "changed"},
		Left:   []bool{2: true, 6: true, 7: true}, // event, why and changed
	}
	events := f.Events
	if len(events) > most {
		events = slices.DeleteFunc(slices.Clone(events), func(e pbt.Event) bool { return e.Kind == pbt.EventKeep })
	}
	events = events[max(0, len(events)-most):]
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
		r := row{Cells: []string{
			fmt.Sprint(e.Iteration), fmt.Sprint(e.Member), string(e.Kind), from,
			fmt.Sprint(e.Steps), objective, plot.Plain(e.Cause, 500), f.changed(e),
		}}
		switch e.Kind {
		case pbt.EventFailed, pbt.EventDiverged, pbt.EventApplyFailed, pbt.EventHopeless:
			r.Class = "bad"
		case pbt.EventKeep:
			r.Class = "kept"
		}
		p.Events.Rows = append(p.Events.Rows, r)
	}
}

// changed says in words what an event changed: of networks as the journal has it, and of the hyperparameters shown the
// values before and after. A hyperparameter that was mutated is not said twice.
func (f *facts) changed(e pbt.Event) string {
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
