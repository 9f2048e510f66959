package evolution

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Table returns the members as they stand: the table of the population, with the last mutation of every member's
// present weights other than "none" and its architecture (see [Evolver.Architecture]), and the hyperparameters that may
// mutate. A mutation travels with the weights: a member that copies another takes over the other's.
func (e *Evolution) Table() pbt.Table {
	t := e.population.Table()
	t.Keys, t.More = e.evolver.Keys(), []string{"last mutation", "architecture"}
	for i, of := range changesOf(e.population.Journal(), len(t.Rows)) {
		t.Rows[i].More = []string{of.mutation, of.architecture}
	}
	return t
}

// change is what evolution last did to the present weights of a member, and the networks it has.
type change struct{ mutation, architecture string }

func changesOf(recorded []journal.Event, members int) []change {
	changes := make([]change, members)
	// A copy takes over the parent's weights as they were when the generation ended. The parent itself may have been
	// mutated by an earlier event of the same iteration, so its mutation is looked up among those before the
	// iteration.
	iteration, before := int64(0), slices.Clone(changes)
	for _, event := range recorded {
		if event.Member < 0 || event.Member >= members {
			continue
		}
		if event.Iteration != iteration {
			iteration = event.Iteration
			copy(before, changes)
		}
		c := &changes[event.Member]
		if event.Kind == journal.Replace && event.Parent >= 0 && event.Parent < members {
			c.mutation = before[event.Parent].mutation
		}
		if !strings.HasPrefix(event.Mutation, kindNone) {
			c.mutation = cmp.Or(event.Mutation, c.mutation)
		}
		c.architecture = cmp.Or(event.Architecture, c.architecture)
	}
	return changes
}

// WriteTable writes the members to w as aligned text, see [Evolution.Table]. A note follows if the fitness has never
// differed.
func (e *Evolution) WriteTable(w io.Writer) error {
	if err := e.Table().Write(w); err != nil {
		return err
	}
	if note := constant(e.population.Journal(), e.opt.Objective); note != "" {
		if _, err := fmt.Fprintln(w, note); err != nil {
			return fmt.Errorf("evolution: %w", err)
		}
	}
	return nil
}

// constant returns a note if several fitnesses were measured and all are equal, so that selection knows nothing; else
// it is empty.
func constant(recorded []journal.Event, objective string) string {
	var all []float64
	for _, event := range recorded {
		if event.HasObjective {
			all = append(all, event.Objective)
		}
	}
	if len(all) < 4 || !(slices.Max(all)-slices.Min(all) <= 1e-6*(1+math.Abs(all[0]))) {
		return ""
	}
	return fmt.Sprintf("%s was always %.6g, so members were selected by chance. In a zero-sum game the returns "+
		"of all agents add up to a constant: give a figure of one side as the objective", objective, all[0])
}
