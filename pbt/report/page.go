package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// page.html has the layout and the style. Its classes l, f and t are those of pictures, see plot.Picture.SVG.
//
//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template is filled with, in the order of the page. Strings are text, which the template escapes;
// what has a type of package template is markup that was made here, of numbers and of text that was escaped.
type page struct {
	Title string
	// Light and Dark are the colours of inks on light and on dark pages.
	Light, Dark template.CSS
	Summary     []pair
	// Hidden says which members and hyperparameters are left out of the pictures.
	Hidden string
	// Lineage, Objective and Panels are pictures. Panels has one for each hyperparameter. Shapes shows the networks; it
	// is empty unless they evolve.
	Lineage, Objective, Shapes template.HTML
	Panels                     []template.HTML
	// Schedule is what ScheduleOf says; without one NoSchedule says why.
	Schedule               table
	ScheduleOf, NoSchedule string
	// Standings are the members; Unlisted says how many of them are not listed.
	Standings table
	Unlisted  string
	// Met is whom members met, and Ratings are those along the best's lineage; both are empty without self-play.
	Met, Ratings table
	// EventsCount says how many events there are, and how many of them Events has.
	Events      table
	EventsCount string
}

// pair is a line of the summary.
type pair struct{ Name, Value string }

// page writes the page to w, or nothing after an error. It needs no other file: styles and pictures are in it, and
// its Content-Security-Policy forbids scripts and everything from elsewhere, so that text from a journal can do no
// harm even if it were to get through the template's escaping.
func (f *facts) page(w io.Writer, opt Options) error {
	opt.MaxEvents = cmp.Or(opt.MaxEvents, 2000)
	if opt.MaxEvents < 0 {
		return fmt.Errorf("report: MaxEvents is %d; give 1 or more, or 0 for 2000", opt.MaxEvents)
	}
	title := cmp.Or(opt.Title, fmt.Sprintf("Population of %d", f.Run.Members))
	p := page{
		Title: plot.Plain(title, 200), Summary: f.summary(),
		Light:   template.CSS(plot.Styles(false, f.inks()...)), // which are made of numbers
		Dark:    template.CSS(plot.Styles(true, f.inks()...)),
		Lineage: f.lineage().SVG(), Standings: f.standings(),
		Objective: figure("the objective of all members over environment steps", 1, 380, f.objective()).SVG(),
	}
	for _, key := range f.keys {
		label := "the hyperparameter " + key + " of all members over environment steps"
		p.Panels = append(p.Panels, figure(label, 2, halfHeight, f.hyperparameter(key)).SVG())
	}
	if f.evolves {
		p.Shapes = f.architectures().SVG()
	}
	// What is left out is said at the top of the page: a reader must not take a part for the whole.
	var hidden []string
	if n := len(f.Members) - len(f.lanes); n > 0 {
		hidden = append(hidden, fmt.Sprintf("%d of %d members are not drawn; those that the best descends from are.",
			n, len(f.Members)))
	}
	if f.moreKeys > 0 {
		hidden = append(hidden, fmt.Sprintf("%d more hyperparameters are not shown.", f.moreKeys))
	}
	p.Hidden = strings.Join(hidden, " ")
	if n := len(f.Members) - maxLanes; n > 0 {
		p.Unlisted = fmt.Sprintf("The best %d; %d more are not listed.", maxLanes, n)
	}
	f.schedule(&p)
	f.games(&p)
	f.events(&p, opt.MaxEvents)
	// An error half-way must not leave half a page.
	var whole bytes.Buffer
	if err := pageTemplate.Execute(&whole, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := whole.WriteTo(w); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// summary is the population in a few lines. A line without a value is left out: most populations have no failures.
func (f *facts) summary() []pair {
	// How many lineages are left says how diverse the population still is: with 1 all members descend from one.
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
		ever = fmt.Sprintf("member %d with %s, at the end of interval %d",
			f.ever.member, short(f.ever.point.Value), f.ever.point.Iteration)
	}
	// The order is that of the page: what a reader asks first is first, what went wrong follows.
	all := []pair{
		{"State", f.state},
		{"Objective", plot.Plain(f.Run.Objective, 100) + ", " + direction},
		{"Best now", best}, {"Best there was", ever},
		{"Members", fmt.Sprint(f.Run.Members)},
		{"Intervals", fmt.Sprintf("%d of %d environment steps", f.intervals, f.Run.IntervalSteps)},
		{"Environment steps", fmt.Sprintf("%d a member at most", f.steps)},
		{"Copies", fmt.Sprint(f.copies)},
		{"Mutated themselves", nonzero(f.happened[journal.SelfMutate])},
		{"Failures", nonzero(f.happened[journal.Failed])},
		{"Divergences", nonzero(f.happened[journal.Diverged])},
		{"Rescues", nonzero(f.rescues)},
		{"Not applied", nonzero(f.happened[journal.ApplyFailed])},
		{"Lineages left", alive},
		{"Seed", fmt.Sprint(f.Run.Seed)},
		{"Strategy", plot.Plain(inWords(f.Run.Strategy), 400)},
	}
	return slices.DeleteFunc(all, func(p pair) bool { return p.Value == "" })
}

var (
	dumped    = regexp.MustCompile(`^[a-z]+\.([A-Z]\w*)(\{.*\})$`)
	fieldName = regexp.MustCompile(`\b([A-Z]\w*):`)
	capital   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// inWords writes a strategy in the journal, pbt.IsaacLab{ThresholdStd:0.8}, as YAML: IsaacLab {threshold_std: 0.8}.
func inWords(strategy string) string {
	parts := dumped.FindStringSubmatch(strategy)
	if parts == nil {
		return strategy
	}
	fields := strings.ReplaceAll(parts[2], " ", ", ")
	return parts[1] + " " + fieldName.ReplaceAllStringFunc(fields, func(name string) string {
		return strings.ToLower(capital.ReplaceAllString(name, "${1}_$2")) + " "
	})
}
