package evolution

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// Row is a member as it stands.
type Row struct {
	Member, Parent int // Parent is the member whose weights it took over last, -1 for none
	Steps          int64
	Fitness        float64 // the last one that was measured; it means something where HasFitness is true
	HasFitness     bool
	Mutation       string // the last one, that was not "none", of the weights that it has: who copies takes over the parent's; empty for none
	Architecture   string
	// Hyperparameters are those that evolve.
	Hyperparameters map[string]float64
}

// Rows are the members as the journal tells it, in order of their numbers. It reads nothing but the population's
// journal.
func (e *Evolution) Rows() []Row {
	return rowsOf(e.population.Journal(), e.opt.PopulationSize, e.evolver.Keys())
}

func rowsOf(recorded []journal.Event, members int, keys []string) []Row {
	rows := make([]Row, members)
	for i := range rows {
		rows[i] = Row{Member: i, Parent: -1}
	}
	iteration, before := int64(0), make([]string, members) // the mutations when the iteration ended, before its decisions
	for _, event := range recorded {
		if event.Member < 0 || event.Member >= len(rows) {
			continue
		}
		if event.Iteration != iteration {
			iteration = event.Iteration
			for i, r := range rows {
				before[i] = r.Mutation
			}
		}
		r := &rows[event.Member]
		r.Steps = event.Steps
		if event.HasObjective {
			r.Fitness, r.HasFitness = event.Objective, true
		}
		if event.Kind == journal.Replace {
			r.Parent = event.Parent
			if event.Parent >= 0 && event.Parent < len(rows) {
				r.Mutation = before[event.Parent]
			}
		}
		if event.Mutation != "" && !strings.HasPrefix(event.Mutation, kindNone) {
			r.Mutation = event.Mutation
		}
		if event.Architecture != "" {
			r.Architecture = event.Architecture
		}
		for _, values := range []map[string]float64{event.Before, event.After} {
			if values != nil {
				r.Hyperparameters = maps.Clone(values)
				maps.DeleteFunc(r.Hyperparameters, func(key string, _ float64) bool { return !slices.Contains(keys, key) })
			}
		}
	}
	return rows
}

// WriteTable writes the members as aligned text: parent, steps, fitness, last mutation, architecture, and the
// hyperparameters that evolve.
func (e *Evolution) WriteTable(w io.Writer) error {
	keys := e.evolver.Keys()
	header := append([]string{"member", "parent", "steps", "fitness", "last mutation", "architecture"}, keys...)
	var rows [][]string
	for _, r := range e.Rows() {
		row := []string{fmt.Sprint(r.Member), "-", fmt.Sprint(r.Steps), "-", r.Mutation, r.Architecture}
		if r.Parent >= 0 {
			row[1] = fmt.Sprint(r.Parent)
		}
		if r.HasFitness {
			row[3] = fmt.Sprintf("%.6g", r.Fitness)
		}
		for _, key := range keys {
			row = append(row, fmt.Sprintf("%.4g", r.Hyperparameters[key]))
		}
		rows = append(rows, row)
	}
	if err := tracking.Table(w, header, rows); err != nil {
		return fmt.Errorf("evolution: %w", err)
	}
	return nil
}
