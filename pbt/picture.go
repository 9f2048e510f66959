package pbt

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// logSpan is the ratio of greatest to least value from which a hyperparameter, or an objective of which less is better,
// is drawn on a logarithmic axis.
const logSpan = 5

// Panels are the objective and each tuned hyperparameter over environment steps, one curve for every stretch of a member's
// training from one copy to the next, in the colour of the founding lineage of its weights. Series that belong to one
// lineage have one name, "from member k". Of more than 8 lineages those 7 that most members end in have names and colours,
// the others are nameless and grey. A stretch begins at its source's objective, where that is known; arrows in the first
// panel lead from the member that was copied to where the copying member left off.
func Panels(h *journal.History) []tracking.Panel {
	keys := h.Run.Tuned
	if len(keys) == 0 {
		all := make(map[string]bool)
		for _, t := range h.Members {
			for key := range t.Hyperparameters {
				all[key] = true
			}
		}
		keys = slices.Sorted(maps.Keys(all))
	}
	d := drawingOf(h)
	objective := tracking.Panel{Title: "objective", XLabel: "environment steps", YLabel: h.Run.Objective, Links: d.links}
	for _, s := range d.stretches {
		c := d.series(s)
		c.Markers = len(h.Members) <= maxNamed
		if s.copied != nil {
			c.X, c.Y = append(c.X, float64(s.copied.Steps)), append(c.Y, objectiveAt(&h.Members[s.copied.Parent], s.copied.ParentSteps))
		}
		objective.Series = append(objective.Series, extended(c, h.Members[s.member].Objective, s.holds))
	}
	if h.Run.Minimise { // as losses, which fall by orders of magnitude
		objective.Title, objective.LogY = "objective (lower is better)", wide(objective.Series)
	}
	panels := []tracking.Panel{objective}
	for _, key := range keys {
		panel := tracking.Panel{Title: key, XLabel: "environment steps", YLabel: key}
		for _, s := range d.stretches {
			points := h.Members[s.member].Hyperparameters[key]
			c := d.series(s)
			c.Steps = true
			panel.Series = append(panel.Series, extended(c, points, func(i int, p journal.Point) bool { return s.has(points, i) }))
		}
		panel.LogY = wide(panel.Series)
		panels = append(panels, panel)
	}
	return panels
}

// maxNamed is the number of lineages up to which all have names and colours.
const maxNamed = 8

// drawing is how a history is drawn.
type drawing struct {
	stretches []drawnStretch // in order of lineages, the nameless first
	named     map[int]bool   // by founder
	links     []tracking.Link
}

// drawnStretch is a member's training from one copy to the next.
type drawnStretch struct {
	member, founder int
	copied, next    *journal.Copy // at its beginning and its end; nil for none
}

// holds reports whether an objective was measured in the stretch.
func (s *drawnStretch) holds(_ int, p journal.Point) bool {
	return (s.copied == nil || p.Iteration > s.copied.Iteration) && (s.next == nil || p.Iteration <= s.next.Iteration)
}

// has reports whether the i-th of a hyperparameter's points is of the stretch: of those at a copy's interval the last is
// the value that came with it.
func (s *drawnStretch) has(points []journal.Point, i int) bool {
	after := func(c *journal.Copy) bool {
		return points[i].Iteration > c.Iteration || points[i].Iteration == c.Iteration && (i+1 == len(points) || points[i+1].Iteration > c.Iteration)
	}
	return (s.copied == nil || after(s.copied)) && (s.next == nil || !after(s.next))
}

func drawingOf(h *journal.History) drawing {
	d := drawing{named: make(map[int]bool)}
	alive, stretches := make([]int, len(h.Members)), make([]int, len(h.Members))
	for i := range h.Members {
		s := drawnStretch{member: i, founder: i}
		for j := range h.Members[i].Copies {
			c := &h.Members[i].Copies[j]
			s.next = c
			d.stretches = append(d.stretches, s)
			stretches[s.founder]++
			s = drawnStretch{member: i, founder: c.Founder, copied: c}
		}
		d.stretches = append(d.stretches, s)
		stretches[s.founder]++
		alive[s.founder]++
	}
	founders := make([]int, len(h.Members))
	for i := range founders {
		founders[i] = i
	}
	slices.SortStableFunc(founders, func(a, b int) int {
		return cmp.Or(cmp.Compare(alive[b], alive[a]), cmp.Compare(stretches[b], stretches[a]))
	})
	if len(founders) > maxNamed {
		founders = founders[:maxNamed-1]
	}
	for _, f := range founders {
		d.named[f] = true
	}
	rank := func(s drawnStretch) int {
		if !d.named[s.founder] {
			return -1
		}
		return s.founder
	}
	slices.SortStableFunc(d.stretches, func(a, b drawnStretch) int { return cmp.Compare(rank(a), rank(b)) })
	d.links = d.arrows(h)
	return d
}

// arrows lead from the stretch that was copied to the one that the copy ended.
func (d *drawing) arrows(h *journal.History) (links []tracking.Link) {
	of := make([][]int, len(h.Members)) // each member's stretches in order
	for i, s := range d.stretches {
		of[s.member] = append(of[s.member], i)
	}
	for _, own := range of {
		slices.SortFunc(own, func(a, b int) int { return cmp.Compare(d.stretches[a].begins(), d.stretches[b].begins()) })
	}
	for i := range h.Members {
		for j, c := range h.Members[i].Copies {
			from := of[c.Parent][0]
			for _, k := range of[c.Parent] {
				if s := d.stretches[k]; s.copied != nil && s.copied.Steps < c.ParentSteps {
					from = k
				}
			}
			links = append(links, tracking.Link{From: from, To: of[i][j], X: float64(c.Steps)})
		}
	}
	return links
}

func (s *drawnStretch) begins() int64 {
	if s.copied == nil {
		return -1
	}
	return s.copied.Iteration
}

// series is a stretch's curve, still empty.
func (d *drawing) series(s drawnStretch) tracking.Series {
	if !d.named[s.founder] {
		return tracking.Series{Color: color.Gray{0xc4}}
	}
	return tracking.Series{Name: fmt.Sprintf("from member %d", s.founder)}
}

// extended appends those points that are wanted.
func extended(s tracking.Series, points []journal.Point, wanted func(i int, p journal.Point) bool) tracking.Series {
	for i, p := range points {
		if wanted(i, p) {
			s.X, s.Y = append(s.X, float64(p.Steps)), append(s.Y, p.Value)
		}
	}
	return s
}

// objectiveAt is what was measured after a number of the member's steps, NaN where nothing was: a gap.
func objectiveAt(t *journal.Track, steps int64) float64 {
	for _, p := range slices.Backward(t.Objective) {
		if p.Steps == steps {
			return p.Value
		}
	}
	return math.NaN()
}

// WritePNG draws Panels.
func WritePNG(h *journal.History, path string) error {
	others := ""
	if len(h.Members) > maxNamed {
		others = "; grey: other lineages"
	}
	title := fmt.Sprintf("population of %d, coloured by founding member%s", h.Run.Members, others)
	if err := tracking.WritePNG(path, title, Panels(h), 0); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// wide reports whether the values are positive and span enough for a logarithmic axis.
func wide(series []tracking.Series) bool {
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, v := range s.Y {
			if number.Finite(v) {
				least, greatest = min(least, v), max(greatest, v)
			}
		}
	}
	return least > 0 && greatest >= logSpan*least
}

// WritePNG draws the population's objective and hyperparameters over time, with who copied whom.
func (p *Population) WritePNG(path string) error {
	h, err := journal.NewHistory(p.journal.Events)
	if err != nil {
		return err
	}
	return WritePNG(h, path)
}
