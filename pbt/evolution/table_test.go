package evolution

import (
	"testing"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// A member that copies another has that one's mutations behind it, as they were before this generation's, and not its
// own.
func TestMutationsFollowWeights(t *testing.T) {
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
	for i, want := range []string{"", "param(1 of the policy's matrices)", "head.add_layer"} {
		if c := changesOf(recorded, 3)[i]; c.mutation != want {
			t.Errorf("member %d: mutation %q, want %q", i, c.mutation, want)
		}
	}
	recorded = append(recorded, journal.Event{Kind: journal.Replace, Iteration: 3, Member: 1, Parent: 2,
		Mutation: "learning_rate"})
	if c := changesOf(recorded, 3)[1]; c.mutation != "learning_rate" {
		t.Errorf("copied and mutated: %q", c.mutation)
	}
}
