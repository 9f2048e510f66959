package inspection

import (
	"fmt"
	"math"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/tracking"
)

// population describes a journal, or the journals in a population's folder, as the page of gorl serve does.
func population(path string) (*report.Population, error) {
	h, err := journal.ReadHistory(path)
	if err != nil {
		return nil, err
	}
	return report.Of(h, report.Options{})
}

// bestMember returns the member of a population's folder that was the best so far, or -1.
func bestMember(dir string) int {
	if h, err := journal.ReadHistory(dir); err == nil {
		if member, _, ok := h.Best(); ok {
			return member
		}
	}
	return -1
}

// writePopulation writes the settings of a population, a line for every member and every copy, and the history of the
// best weights.
func writePopulation(b *page, p *report.Population) {
	better := "more"
	if p.Minimise {
		better = "less"
	}
	fmt.Fprintf(b, "  %s\n", p.State)
	fmt.Fprintf(b, "  %d members, objective %s (%s is better), an interval has %d environment steps, seed %d\n  %s\n",
		p.Members, p.Objective, better, p.IntervalSteps, p.Seed, p.Strategy)
	if p.Hidden != "" {
		fmt.Fprintf(b, "  %s\n", p.Hidden)
	}
	var rows, copies [][]string
	for _, l := range p.Lanes {
		objective := "-"
		if !math.IsNaN(float64(l.Last)) {
			objective = show(l.Last)
		}
		row := tracking.Cells(l.Member, l.Steps, objective, l.Founder, l.Took)
		for _, key := range p.Keys {
			cell := "-"
			if v, ok := l.Values[key]; ok {
				cell = fmt.Sprintf("%.4g", float64(v))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
		for _, s := range l.Stretches[1:] {
			copies = append(copies, tracking.Cells(l.Member, s.Interval, s.Parent, s.From, s.ParentSteps, s.Cause))
		}
	}
	b.table(append([]string{"member", "environment steps", "objective", "lineage of", "copies"}, p.Keys...), rows)
	b.table([]string{"member", "interval", "copied", "environment steps", "its environment steps", "why"}, copies)
	if p.Best == nil {
		b.WriteString("\nNo objective is known yet.\n")
		return
	}
	fmt.Fprintf(b, "\nBest so far: member %d after interval %d, %d environment steps: %.6g.\n", p.Ever.Member,
		p.Ever.Interval, p.Ever.Steps, float64(p.Ever.Value))
	var path []string
	for _, s := range p.Path {
		path = append(path, fmt.Sprintf("member %d (environment steps %d to %d)", s.Member, s.From, s.To))
	}
	fmt.Fprintf(b, "Best now: member %d with %.6g. Its weights: %s.\n", p.Best.Member, float64(p.Best.Value),
		strings.Join(path, " → "))
}
