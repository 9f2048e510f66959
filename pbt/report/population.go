package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

// Population is what the page shows of a population, as JSON. Steps are environment steps of the member itself. A
// colour is the rank of the lineage: the founding member from which the weights descend.
type Population struct {
	Title         string `json:"title"`
	State         string `json:"state"`
	Objective     string `json:"objective"`
	Minimise      bool   `json:"minimise"`
	Strategy      string `json:"strategy"`
	Seed          int64  `json:"seed"`
	Members       int    `json:"members"`
	IntervalSteps int64  `json:"interval_steps"`
	// Intervals and Steps are the greatest of any member; Span is the end of the axis.
	Intervals int64 `json:"intervals"`
	Steps     int64 `json:"steps"`
	Span      int64 `json:"span"`
	// Counts are how often what happened, without what never happened.
	Counts []Count `json:"counts"`
	// Best is the best member now and Ever the best member so far, at any interval's end. They are nil while no finite
	// objective is known.
	Best *Place `json:"best"`
	Ever *Place `json:"ever"`
	// Keys are the hyperparameters shown. Hidden says what the page leaves out.
	Keys   []string `json:"keys"`
	Hidden string   `json:"hidden,omitempty"`
	// Lanes are the members that are shown, and Path the stretches that the weights of Best went through.
	Lanes []Lane  `json:"lanes"`
	Path  []Piece `json:"path"`
	// Lineages are nil if Lanes are all members.
	Lineages *Lineages `json:"lineages,omitempty"`
	// Panels are the curves: the objective first.
	Panels   []Panel  `json:"panels"`
	Schedule Schedule `json:"schedule"`
	// Met and Ratings are tables of a population whose members play against each other.
	Met     *Table `json:"met,omitempty"`
	Ratings *Table `json:"ratings,omitempty"`
	// Events are the latest events, in the order of the journal; EventsTotal counts all.
	Events      []Event `json:"events"`
	EventsTotal int     `json:"events_total"`
}

// Count is how often something happened.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Place is a member at an interval's end.
type Place struct {
	Member   int    `json:"member"`
	Interval int64  `json:"interval"`
	Steps    int64  `json:"steps"`
	Value    Number `json:"value"`
}

// Lane is a member, with the stretches of its training and the signs on them.
type Lane struct {
	Member int `json:"member"`
	// Founder and Color are those of the present weights.
	Founder int `json:"founder"`
	Color   int `json:"color"`
	// Last is the last objective, Stale if it was measured before the member's last copy; Best is the best that the
	// member itself ever had.
	Last         Number            `json:"last"`
	Stale        bool              `json:"stale,omitempty"`
	Best         Number            `json:"best"`
	Steps        int64             `json:"steps"`
	Took         int               `json:"took"`
	Copied       int               `json:"copied"`
	Values       map[string]Number `json:"values"`
	Architecture string            `json:"architecture,omitempty"`
	Stretches    []Stretch         `json:"stretches"`
	Marks        []Mark            `json:"marks,omitempty"`
}

// Stretch is a member's training from one copy to the next, or from its beginning, or to its end. A member that was
// never replaced has one. After a copy it trains other weights, so a stretch is what a curve is drawn of. Founder is
// the member with which the weights began: the member itself, until it copies another. From and To are the member's own
// environment steps. Parent is the member that was copied at the beginning, after ParentSteps of its own steps and at
// the end of Interval; it is -1 in a member's first stretch.
type Stretch struct {
	Color       int    `json:"color"`
	Founder     int    `json:"founder"`
	From        int64  `json:"from"`
	To          int64  `json:"to"`
	Parent      int    `json:"parent"`
	ParentSteps int64  `json:"parent_steps,omitempty"`
	Interval    int64  `json:"interval,omitempty"`
	Cause       string `json:"cause,omitempty"`

	member int
	end    int64 // the interval at whose end the stretch ends
}

// Mark is a sign on a member's lane: a failure, a divergence, a decision that could not be applied, or a mutation
// without a copy.
type Mark struct {
	Kind     journal.Kind `json:"kind"`
	Interval int64        `json:"interval"`
	Steps    int64        `json:"steps"`
	Cause    string       `json:"cause,omitempty"`
}

// Piece is a part of the path of the best weights: member's lane from one number of steps to another.
type Piece struct {
	Member int   `json:"member"`
	From   int64 `json:"from"`
	To     int64 `json:"to"`
}

// Panel has the curves of one figure over steps: a line for every stretch, and the path of the best weights.
type Panel struct {
	Key   string `json:"key"`
	Lines []Line `json:"lines"`
	Path  []XY   `json:"path"`
	// Constant reports whether a value holds until the next one, as those of hyperparameters do.
	Constant bool `json:"constant,omitempty"`
}

// Line is the curve of one stretch.
type Line struct {
	Member int  `json:"member"`
	Color  int  `json:"color"`
	Points []XY `json:"points"`
}

// XY is a point: steps and a value.
type XY [2]Number

// Event is an event of the journal. Changed are the hyperparameters that it changed.
type Event struct {
	Interval  int64        `json:"interval"`
	Member    int          `json:"member"`
	Kind      journal.Kind `json:"kind"`
	From      int          `json:"from"`
	Steps     int64        `json:"steps"`
	Objective *Number      `json:"objective,omitempty"`
	Cause     string       `json:"cause,omitempty"`
	Mutation  string       `json:"mutation,omitempty"`
	Changed   []Change     `json:"changed,omitempty"`
}

// Change is a changed hyperparameter. Before is NaN if there was none.
type Change struct {
	Key    string `json:"key"`
	Before Number `json:"before"`
	After  Number `json:"after"`
}

// Schedule has the hyperparameters that the weights of the best member so far were trained with. Missing says why
// there is none.
type Schedule struct {
	timeline.Timeline
	Missing string   `json:"missing,omitempty"`
	Keys    []string `json:"keys"`
}

// Table is a header and rows of text.
type Table struct {
	Header []string   `json:"header"`
	Rows   [][]string `json:"rows"`
}

// Number is a number in JSON with seven digits, null if it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (v Number) MarshalJSON() ([]byte, error) {
	if !drawable(float64(v)) {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.7g", float64(v)), nil
}

// Of returns what the page shows of a history. A history without members is an error.
func Of(h *journal.History, opt Options) (*Population, error) {
	if opt.MaxEvents < 0 {
		return nil, fmt.Errorf("report: MaxEvents is %d; give 1 or more, or 0 for 2000", opt.MaxEvents)
	}
	f, err := gather(h)
	if err != nil {
		return nil, err
	}
	p := f.page
	p.Title = cmp.Or(opt.Title, fmt.Sprintf("Population of %d", p.Members))
	for _, member := range f.lanes {
		p.Lanes = append(p.Lanes, f.laneOf(member))
	}
	for _, a := range f.ancestry {
		if s := f.find(a); s != nil {
			p.Path = append(p.Path, Piece{a.Member, s.From, a.ToSteps})
		}
	}
	p.Panels, p.Lineages, p.Schedule = f.panels(), f.lineages(), f.schedule()
	p.Met, p.Ratings = f.games()
	p.Events = f.events(cmp.Or(opt.MaxEvents, 2000))
	return p, nil
}

// cut returns the first thousand characters of a text of the journal.
func cut(s string) string {
	if r := []rune(s); len(r) > 1000 {
		return string(r[:999]) + "…"
	}
	return s
}

// laneOf returns the lane of a member.
func (f *facts) laneOf(member int) Lane {
	t, course := f.Members[member], f.courses[member]
	now := course[len(course)-1]
	l := Lane{Member: member, Founder: now.Founder, Color: now.Color, Last: Number(math.NaN()),
		Best: Number(math.NaN()), Steps: t.Steps, Took: len(t.Copies), Copied: f.copied[member],
		Values: map[string]Number{}, Architecture: cut(f.architectures[member]), Stretches: course,
		Marks: f.marks[member]}
	for _, p := range t.Objective {
		l.Last = Number(p.Value)
		if f.worth(p.Value) > f.worth(float64(l.Best)) {
			l.Best = Number(p.Value)
		}
		n := len(t.Copies)
		l.Stale = n > 0 && t.Copies[n-1].Iteration >= p.Iteration
	}
	for _, key := range f.page.Keys {
		if points := t.Hyperparameters[key]; len(points) > 0 {
			l.Values[key] = Number(points[len(points)-1].Value)
		}
	}
	return l
}

// schedule returns the hyperparameters of the best member so far, a phase for every change: what gorl-pbt replay plays
// to a single agent. Its steps count what the weights have gone through, in whichever member.
func (f *facts) schedule() Schedule {
	if f.page.Ever == nil {
		return Schedule{Missing: "No objective is known yet."}
	}
	s, err := timeline.ExtractAt(f.History, f.page.Ever.Member, f.page.Ever.Interval)
	if err != nil {
		return Schedule{Missing: err.Error()}
	}
	for i := range s.Phases {
		s.Phases[i].Architecture = cut(s.Phases[i].Architecture)
	}
	return Schedule{Timeline: s, Keys: append([]string{}, s.Keys()...)}
}

// events returns at most so many events: members that were merely kept, which is most events of most populations, are
// left out first, then the oldest events.
func (f *facts) events(most int) []Event {
	events := f.Events
	if len(events) > most {
		events = slices.DeleteFunc(slices.Clone(events), func(e journal.Event) bool { return e.Kind == journal.Keep })
	}
	list := []Event{}
	for _, e := range events[max(0, len(events)-most):] {
		x := Event{Interval: e.Iteration, Member: e.Member, Kind: e.Kind, From: e.Parent, Steps: e.Steps,
			Cause: cut(e.Cause), Mutation: cut(e.Mutation)}
		if e.HasObjective {
			v := Number(e.Objective)
			x.Objective = &v
		}
		for _, key := range f.page.Keys {
			before, had := e.Before[key]
			if !had {
				before = math.NaN()
			}
			if after, has := e.After[key]; has && before != after {
				x.Changed = append(x.Changed, Change{key, Number(before), Number(after)})
			}
		}
		list = append(list, x)
	}
	return list
}
