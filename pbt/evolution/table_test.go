package evolution

import (
	"testing"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// A member that copies another has that one's mutations behind it, as they were before this generation's, and not its
// own.
func TestRowsFollowWeights(t *testing.T) {
	recorded := []journal.Event{
		{Kind: journal.Population, Member: -1},
		{Kind: journal.Start, Member: 0, Parent: -1}, {Kind: journal.Start, Member: 1, Parent: -1},
		{Kind: journal.Start,
			Member: 2, Parent: -1},
		{Kind: journal.SelfMutate, Iteration: 1, Member: 0, Parent: -1, Mutation: "activation(gelu)"},
		{Kind: journal.SelfMutate, Iteration: 1, Member: 1, Parent: -1, Mutation: "head.add_layer"},
		{Kind: journal.Keep, Iteration: 1, Member: 2, Parent: -1},
		{Kind: journal.SelfMutate, Iteration: 2, Member: 1, Parent: -1, Mutation: "param(1 of the policy's matrices)"},
		{Kind: journal.Replace, Iteration: 2, Member: 0, Parent: 2,
			Mutation: "none (head.add_layer would go beyond the limits)"},
		{Kind: journal.Replace, Iteration: 2, Member: 2, Parent: 1, Mutation: "none"},
	}
	for i, want := range []struct {
		parent   int
		mutation string
	}{{2, ""}, {-1, "param(1 of the policy's matrices)"}, {1, "head.add_layer"}} {
		if r := rowsOf(recorded, 3, nil)[i]; r.Parent != want.parent || r.Mutation != want.mutation {
			t.Errorf("member %d: parent %d, mutation %q, want %d and %q", i, r.Parent, r.Mutation, want.parent,
				want.mutation)
		}
	}
	recorded = append(recorded, journal.Event{Kind: journal.Replace, Iteration: 3, Member: 1, Parent: 2,
		Mutation: "learning_rate"})
	if r := rowsOf(recorded, 3, nil)[1]; r.Mutation != "learning_rate" {
		t.Errorf("copied and mutated: %q", r.Mutation)
	}
}
