package evolution

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// Row is the state of one member.
type Row struct {
	// Member is the member's number, Parent that of the member whose weights it last copied, -1 for none.
	Member, Parent int
	// Steps is the number of environment steps that the member has trained.
	Steps int64
	// Fitness is the last one measured. It is valid only where HasFitness is true.
	Fitness    float64
	HasFitness bool
	// Mutation is the last mutation of the present weights other than "none", empty for none. It travels with the
	// weights: a member that copies another takes over the other's.
	Mutation string
	// Architecture describes the member's networks, see [Evolver.Architecture].
	Architecture string
	// Hyperparameters are those that may mutate.
	Hyperparameters map[string]float64
}

// Rows returns the members in order of their numbers. It reads only the population's journal.
func (e *Evolution) Rows() []Row {
	return rowsOf(e.population.Journal(), e.opt.Members, e.evolver.Keys())
}

func rowsOf(recorded []journal.Event, members int, keys []string) []Row {
	rows := make([]Row, members)
	for i := range rows {
		rows[i] = Row{Member: i, Parent: -1}
	}
	// A copy takes over the parent's weights as they were when the generation ended. The parent itself may have been
	// mutated by an earlier event of the same iteration, so its mutation is looked up among those before the
	// iteration.
	iteration, before := int64(0), slices.Clone(rows)
	for _, event := range recorded {
		if event.Member < 0 || event.Member >= len(rows) {
			continue
		}
		if event.Iteration != iteration {
			iteration = event.Iteration
			copy(before, rows)
		}
		r := &rows[event.Member]
		r.Steps = event.Steps
		if event.HasObjective {
			r.Fitness, r.HasFitness = event.Objective, true
		}
		if event.Kind == journal.Replace {
			r.Parent = event.Parent
			if event.Parent >= 0 && event.Parent < len(rows) {
				r.Mutation = before[event.Parent].Mutation
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
				maps.DeleteFunc(r.Hyperparameters, func(key string, _ float64) bool {
					return !slices.Contains(keys, key)
				})
			}
		}
	}
	return rows
}

// WriteTable writes the members to w as aligned text: parent, environment steps, fitness, last mutation, architecture,
// and a column for every hyperparameter that may mutate. A note follows if the fitness has never differed.
func (e *Evolution) WriteTable(w io.Writer) error {
	keys := e.evolver.Keys()
	header := append([]string{"member", "parent", "environment steps", "fitness", "last mutation", "architecture"},
		keys...)
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
	for _, note := range constant(e.population.Journal(), e.opt.Objective) {
		if _, err := fmt.Fprintln(w, note); err != nil {
			return fmt.Errorf("evolution: %w", err)
		}
	}
	return nil
}

// constant returns a note if several fitnesses were measured and all are equal, so that selection knows nothing.
func constant(recorded []journal.Event, objective string) (notes []string) {
	var all []float64
	for _, event := range recorded {
		if event.HasObjective {
			all = append(all, event.Objective)
		}
	}
	if len(all) < 4 || !(slices.Max(all)-slices.Min(all) <= 1e-6*(1+math.Abs(all[0]))) {
		return nil
	}
	return []string{fmt.Sprintf("%s was always %.6g, so members were selected by chance. In a zero-sum game the returns "+
		"of all agents add up to a constant: give a figure of one side as the objective", objective, all[0])}
}
