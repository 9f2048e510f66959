package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/schedule"
	"github.com/gorl-dev/gorl/tracking/plot"
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
	Shapes      template.HTML // empty where no networks evolve
	Nodes       template.HTML
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
		Title: plot.Plain(opt.Title, 200), Summary: f.summary(),
		Light: template.CSS(plot.Styles(false, f.inks()...)), Dark: template.CSS(plot.Styles(true, f.inks()...)), // of numbers
		Lineage: f.lineage().SVG(), Objective: f.objectivePicture().SVG(),
		Standings: f.standings(), Copies: f.sources(), Matrix: f.matrix(),
	}
	for _, key := range f.keys {
		label := "the hyperparameter " + key + " of all members over environment steps"
		p.Panels = append(p.Panels, half(label, f.hyperparameter(key)).SVG())
	}
	if f.evolves {
		p.Shapes = f.architectures().SVG()
		if f.mostNodes > 0 {
			p.Nodes = f.hiddenPicture().SVG()
		}
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
		{"Objective", plot.Plain(f.Run.Objective, 100) + ", " + direction},
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
		{"Strategy", plot.Plain(f.Run.Strategy, 400)},
	}
	return slices.DeleteFunc(all, func(p pair) bool { return p.Value == "" })
}

func nonzero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
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
	p.ScheduleOf = fmt.Sprintf("member %d at the end of interval %d, %d environment steps behind its weights, were trained with", s.Member, f.best.point.Iteration, s.Steps)
	keys := s.Keys()
	p.Schedule = table{Header: append([]string{"from step", "member"}, keys...)}
	shapes := s.Architectures()
	if len(shapes) > 0 {
		p.ScheduleOf += "; only hyperparameters are replayed, not architectures"
		p.Schedule.Header = append(p.Schedule.Header, "architecture")
		p.Schedule.Left = append(make([]bool, len(keys)+2), true)
	}
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
		if len(shapes) > 0 {
			r.Cells = append(r.Cells, plot.Plain(phase.Architecture, 200))
		}
		p.Schedule.Rows = append(p.Schedule.Rows, r)
	}
	p.Schedule = p.Schedule.shorten(40)
}
