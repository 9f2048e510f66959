package pbt

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tracking"
)

// Table is a population at a glance: a row a member, for the end of a run.
type Table struct {
	// Objective is the objective's name.
	Objective string
	// Keys are the hyperparameters worth a column: those that were set, sampled or may be mutated, or else all.
	Keys []string
	// Rows are in order of member numbers.
	Rows []Row
}

// Row is one member. Its Objective and Peak are figures as they were measured, also where less is better.
type Row struct {
	strategy.Status
	// Parent is the member whose weights it took over last, -1 for none.
	Parent int
}

// Table returns the members of this process as they stand.
func (p *Population) Table() Table {
	o, workers := p.opt, p.workers()
	t := Table{Objective: o.Objective, Keys: o.Tuned(slices.Sorted(maps.Keys(workers[0].m.hyperparameters)))}
	for _, w := range workers {
		s := w.m.status()
		s.Objective, s.Peak = o.Measure.signed(s.Objective), o.Measure.signed(s.Peak)
		t.Rows = append(t.Rows, Row{Status: s, Parent: w.m.parent})
	}
	if len(t.Keys) == 0 {
		t.Keys = slices.Sorted(maps.Keys(t.Rows[0].Hyperparameters))
	}
	return t
}

// Write writes the table as aligned text: member, parent, environment steps, objective and a column for each of Keys.
func (t Table) Write(w io.Writer) error {
	header := append([]string{"member", "parent", "environment steps", t.Objective}, t.Keys...)
	var rows [][]string
	for _, r := range t.Rows {
		row := []string{fmt.Sprint(r.Member), "-", fmt.Sprint(r.Steps), "-"}
		if r.Parent >= 0 {
			row[1] = fmt.Sprint(r.Parent)
		}
		switch {
		case r.Failed:
			row[3] = "failed"
		case r.HasObjective:
			row[3] = fmt.Sprintf("%.6g", r.Objective)
		}
		for _, key := range t.Keys {
			cell := "-"
			if v, ok := r.Hyperparameters[key]; ok {
				cell = fmt.Sprintf("%.6g", v)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if err := tracking.Table(w, header, rows); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}
