package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/schedule"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// maxMatrix is the number of members up to which who copied whom is a matrix.
const maxMatrix = 24

// page is what the template is filled with.
type page struct {
	Title       string
	Light, Dark template.CSS
	Summary     []pair
	Lineage     template.HTML
	Objective   template.HTML
	Panels      []template.HTML
	Hidden      string // what is left out of the pictures
	Standings   table
	Unlisted    string // which members are not in Standings
	Copies      table
	Matrix      [][]cell
	Schedule    table
	NoSchedule  string
	ScheduleOf  string
	Events      table
	EventsCount string
	Shades      []string // how dark the cells of the matrix are
}

type pair struct{ Name, Value string }

// table is a header and rows of text; Left tells which columns are aligned to the left.
type table struct {
	Header []string
	Left   []bool
	Rows   []row
}

type row struct {
	Class string
	Cells []string
	Ink   string // the class of the lineage's colour, for a mark in the first cell
}

// cell is one of a matrix; Shade is how full it is, from 0 to 10.
type cell struct {
	Text  string
	Head  bool
	Shade int
	Title string
}

func (f *facts) page(w io.Writer, opt Options) error {
	if opt.MaxEvents == 0 {
		opt.MaxEvents = 2000
	}
	if opt.MaxEvents < 0 {
		return fmt.Errorf("report: MaxEvents is %d; give 1 or more, or 0 for 2000", opt.MaxEvents)
	}
	if opt.Title == "" {
		opt.Title = fmt.Sprintf("Population of %d", f.Run.Members)
	}
	p := page{
		Title: plain(opt.Title, 200), Summary: f.summary(),
		Light: template.CSS(styles(min(len(f.inks), maxInks), false)), Dark: template.CSS(styles(min(len(f.inks), maxInks), true)), // colours made of numbers
		Lineage: f.lineage().svg(), Objective: f.objective().svg(), Standings: f.standings(), Copies: f.sources(), Matrix: f.matrix(),
	}
	for _, key := range f.keys {
		p.Panels = append(p.Panels, f.hyperparameter(key).svg())
	}
	var hidden []string
	if n := len(f.Members) - len(f.lanes); n > 0 {
		hidden = append(hidden, fmt.Sprintf("%d of %d members are not drawn; those that the best descends from are.", n, len(f.Members)))
	}
	if f.moreKeys > 0 {
		hidden = append(hidden, fmt.Sprintf("%d more hyperparameters are not shown.", f.moreKeys))
	}
	p.Hidden = strings.Join(hidden, " ")
	for shade := range 11 {
		p.Shades = append(p.Shades, fmt.Sprintf("%.2f", 0.06*float64(shade)))
	}
	if n := len(f.Members) - maxLanes; n > 0 {
		p.Unlisted = fmt.Sprintf("The best %d; %d more are not listed.", maxLanes, n)
	}
	f.schedule(&p)
	f.events(&p, opt.MaxEvents)
	// A failure half-way must not leave half a page.
	var whole bytes.Buffer
	if err := pageTemplate.Execute(&whole, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := whole.WriteTo(w); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (f *facts) summary() []pair {
	alive := fmt.Sprintf("%d of %d founding members", len(f.alive), len(f.Members))
	direction := "higher is better"
	if f.Run.Minimise {
		direction = "lower is better"
	}
	best, ever := "no objective is known yet", ""
	if f.best != nil {
		best = fmt.Sprintf("member %d with %s", f.best.member, short(f.best.point.Value))
	}
	if f.ever != nil {
		ever = fmt.Sprintf("member %d with %s, at the end of interval %d", f.ever.member, short(f.ever.point.Value), f.ever.point.Iteration)
	}
	all := []pair{
		{"State", f.state},
		{"Objective", plain(f.Run.Objective, 100) + ", " + direction},
		{"Best now", best}, {"Best there was", ever},
		{"Members", fmt.Sprint(f.Run.Members)},
		{"Intervals", fmt.Sprintf("%d of %d steps", f.intervals, f.Run.IntervalSteps)},
		{"Environment steps", fmt.Sprintf("%d a member at most", f.steps)},
		{"Copies", fmt.Sprint(f.copies)},
		{"Mutated themselves", nonzero(f.selfMutations)},
		{"Failures", nonzero(f.failures)}, {"Divergences", nonzero(f.divergences)}, {"Rescues", nonzero(f.rescues)},
		{"Not applied", nonzero(f.notApplied)},
		{"Lineages left", alive},
		{"Seed", fmt.Sprint(f.Run.Seed)},
		{"Strategy", plain(f.Run.Strategy, 400)},
	}
	return slices.DeleteFunc(all, func(p pair) bool { return p.Value == "" })
}

func nonzero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// standings are the members, the best first.
func (f *facts) standings() table {
	t := table{Header: append([]string{"member", "lineage", plain(f.Run.Objective, 40), "best", "steps", "took over", "was copied"}, f.keys...)}
	type member struct {
		id          int
		last, best  float64
		hasLast     bool
		hasBest     bool
		measuredNow bool
	}
	var members []member
	for i, track := range f.Members {
		m := member{id: i, last: math.NaN(), best: math.NaN()}
		if n := len(track.Objective); n > 0 {
			p := track.Objective[n-1]
			m.last, m.hasLast = p.Value, true
			m.measuredNow = len(track.Copies) == 0 || track.Copies[len(track.Copies)-1].Iteration < p.Iteration
		}
		for _, p := range track.Objective {
			if drawable(p.Value) && (!m.hasBest || f.better(p.Value, m.best)) {
				m.best, m.hasBest = p.Value, true
			}
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b member) int {
		x, y := a.hasLast && drawable(a.last), b.hasLast && drawable(b.last)
		switch {
		case x != y:
			return compareBool(y, x)
		case !x || a.last == b.last:
			return 0
		case f.better(a.last, b.last):
			return -1
		}
		return 1
	})
	for _, m := range members[:min(len(members), maxLanes)] {
		track := f.Members[m.id]
		course := f.courses[m.id]
		founder := course[len(course)-1].founder
		r := row{Ink: f.inks[founder].class(), Cells: []string{fmt.Sprint(m.id), fmt.Sprint(founder), "–", "–", fmt.Sprint(track.Steps), fmt.Sprint(len(track.Copies)), fmt.Sprint(f.copied[m.id])}}
		if m.hasLast {
			r.Cells[2] = short(m.last)
			if !m.measuredNow {
				r.Cells[2] += " (before its last copy)"
			}
		}
		if m.hasBest {
			r.Cells[3] = short(m.best)
		}
		if f.best != nil && f.best.member == m.id {
			r.Class = "best"
		}
		for _, key := range f.keys {
			value := "–"
			if points := track.Hyperparameters[key]; len(points) > 0 {
				value = short(points[len(points)-1].Value)
			}
			r.Cells = append(r.Cells, value)
		}
		t.Rows = append(t.Rows, r)
	}
	return t.shorten(40)
}

// shorten cuts the names of columns, which may be anything.
func (t table) shorten(n int) table {
	for i := range t.Header {
		t.Header[i] = plain(t.Header[i], n)
	}
	return t
}

// matrix is who copied whom, for not too many members.
func (f *facts) matrix() [][]cell {
	n := len(f.Members)
	if n > maxMatrix || f.copies == 0 {
		return nil
	}
	counts, most := make([][]int, n), 0
	for i, track := range f.Members {
		counts[i] = make([]int, n)
		for _, c := range track.Copies {
			counts[i][c.Parent]++
			most = max(most, counts[i][c.Parent])
		}
	}
	header := []cell{{Text: "copied →", Head: true}}
	for i := range n {
		header = append(header, cell{Text: fmt.Sprint(i), Head: true})
	}
	rows := [][]cell{header}
	for i := range n {
		line := []cell{{Text: fmt.Sprint(i), Head: true}}
		for j, count := range counts[i] {
			c := cell{Text: nonzero(count), Shade: (10*count + most - 1) / most}
			if count > 0 {
				c.Title = fmt.Sprintf("member %d took over the weights of member %d, %d times", i, j, count)
			}
			line = append(line, c)
		}
		rows = append(rows, line)
	}
	return rows
}

// sources are the members that were copied, those most often copied first.
func (f *facts) sources() table {
	t := table{Header: []string{"member", "was copied", "by"}, Left: []bool{false, false, true}}
	by := make([]map[int]int, len(f.Members))
	for i, track := range f.Members {
		for _, c := range track.Copies {
			if by[c.Parent] == nil {
				by[c.Parent] = make(map[int]int)
			}
			by[c.Parent][i]++
		}
	}
	var order []int
	for i := range f.Members {
		if f.copied[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return f.copied[b] - f.copied[a] })
	for _, i := range order[:min(len(order), 200)] {
		var who []string
		for j := range f.Members {
			switch n := by[i][j]; {
			case n == 1:
				who = append(who, fmt.Sprint(j))
			case n > 1:
				who = append(who, fmt.Sprintf("%d (%d×)", j, n))
			}
		}
		t.Rows = append(t.Rows, row{Cells: []string{fmt.Sprint(i), fmt.Sprint(f.copied[i]), strings.Join(who, ", ")}})
	}
	return t
}

// schedule is the course of hyperparameters behind the best's weights.
func (f *facts) schedule(p *page) {
	if f.best == nil {
		p.NoSchedule = "No objective is known yet."
		return
	}
	s, err := schedule.ExtractAt(f.History, f.best.member, f.best.point.Iteration)
	if err != nil {
		p.NoSchedule = err.Error()
		return
	}
	p.ScheduleOf = fmt.Sprintf("member %d at the end of interval %d, %d environment steps behind its weights", s.Member, f.best.point.Iteration, s.Steps)
	keys := s.Keys()
	p.Schedule = table{Header: append([]string{"from step", "member"}, keys...)}
	before := map[string]float64{}
	for _, phase := range s.Phases {
		r := row{Cells: []string{fmt.Sprint(phase.From), fmt.Sprint(phase.Member)}}
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
		p.Schedule.Rows = append(p.Schedule.Rows, r)
	}
	p.Schedule = p.Schedule.shorten(40)
}

// events are all of them, or so many that the page stays small.
func (f *facts) events(p *page, most int) {
	p.Events = table{Header: []string{"interval", "member", "event", "from", "steps", plain(f.Run.Objective, 40), "why", "changed"}, Left: []bool{2: true, 6: true, 7: true}}
	events := f.Events
	if len(events) > most {
		events = slices.DeleteFunc(slices.Clone(events), func(e pbt.Event) bool { return e.Kind == pbt.EventKeep })
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
		r := row{Cells: []string{fmt.Sprint(e.Iteration), fmt.Sprint(e.Member), string(e.Kind), from, fmt.Sprint(e.Steps), objective, plain(e.Cause, 500), f.changes(e)}}
		switch e.Kind {
		case pbt.EventFailed, pbt.EventDiverged, pbt.EventApplyFailed, pbt.EventHopeless:
			r.Class = "bad"
		case pbt.EventKeep:
			r.Class = "kept"
		}
		p.Events.Rows = append(p.Events.Rows, r)
	}
}

// changes are the hyperparameters that an event changed.
func (f *facts) changes(e pbt.Event) string {
	var changes []string
	for _, key := range f.keys {
		before, had := e.Before[key]
		after, has := e.After[key]
		switch {
		case !has || had && before == after:
		case had:
			changes = append(changes, fmt.Sprintf("%s %s → %s", plain(key, 60), short(before), short(after)))
		default:
			changes = append(changes, fmt.Sprintf("%s %s", plain(key, 60), short(after)))
		}
	}
	return strings.Join(changes, ", ")
}
