package pbt

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/tracking"
)

// logSpan is the ratio of greatest to least value from which a hyperparameter, or an objective of which less is better,
// is drawn on a logarithmic axis.
const logSpan = 5

// Panels are the objective and each tuned hyperparameter over environment steps, one curve a member. Arrows lead from
// the member that was copied to the member that took over its weights.
func (h *History) Panels() []tracking.Panel {
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
	objective := tracking.Panel{Title: "objective", XLabel: "environment steps", YLabel: h.Run.Objective}
	for _, t := range h.Members {
		s := curve(t.Member, t.Objective)
		s.Markers = true
		objective.Series = append(objective.Series, s)
	}
	objective.Links = h.links()
	if h.Run.Minimise { // as losses, which fall by orders of magnitude
		objective.Title, objective.LogY = "objective (lower is better)", wide(objective.Series)
	}
	panels := []tracking.Panel{objective}
	for _, key := range keys {
		panel := tracking.Panel{Title: key, XLabel: "environment steps", YLabel: key, Links: h.links()}
		for _, t := range h.Members {
			s := curve(t.Member, t.Hyperparameters[key])
			s.Steps = true
			panel.Series = append(panel.Series, s)
		}
		panel.LogY = wide(panel.Series)
		panels = append(panels, panel)
	}
	return panels
}

// wide reports whether the values are positive and span enough for a logarithmic axis.
func wide(series []tracking.Series) bool {
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, v := range s.Y {
			if finite(v) {
				least, greatest = min(least, v), max(greatest, v)
			}
		}
	}
	return least > 0 && greatest >= logSpan*least
}

func curve(member int, points []Point) tracking.Series {
	s := tracking.Series{Name: fmt.Sprintf("member %d", member)}
	for _, p := range points {
		s.X, s.Y = append(s.X, float64(p.Steps)), append(s.Y, p.Value)
	}
	return s
}

func (h *History) links() []tracking.Link {
	var links []tracking.Link
	for _, t := range h.Members {
		for _, c := range t.Copies {
			links = append(links, tracking.Link{From: c.Parent, To: t.Member, X: float64(c.Steps)})
		}
	}
	return links
}

// WritePNG draws Panels.
func (h *History) WritePNG(path string) error {
	title := fmt.Sprintf("population of %d, arrows from the copied to the copying member", h.Run.Members)
	if err := tracking.WritePNG(path, title, h.Panels(), 0); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// WritePNG draws the population's objective and hyperparameters over time, with who copied whom.
func (p *Population) WritePNG(path string) error {
	h, err := NewHistory(p.journal.events)
	if err != nil {
		return err
	}
	return h.WritePNG(path)
}
