package evolution

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// A member that copies another has that one's mutations behind it, as they were before this generation's, and not its
// own.
func TestMutationsFollowWeights(t *testing.T) {
	event := func(kind journal.Kind, iteration int64, member, parent int, mutation string) journal.Event {
		return journal.Event{Kind: kind, Iteration: iteration, Member: member, Parent: parent, Mutation: mutation}
	}
	var got []string
	for _, c := range changesOf([]journal.Event{
		{Kind: journal.Population, Member: -1},
		event(journal.SelfMutate, 1, 0, -1, "activation(gelu)"), event(journal.SelfMutate, 1, 1, -1, "head.add_layer"),
		event(journal.SelfMutate, 2, 1, -1, "param(1 of the policy's matrices)"),
		event(journal.Replace, 2, 0, 2, "none (head.add_layer would go beyond the limits)"),
		event(journal.Replace, 2, 2, 1, "none"), event(journal.Replace, 2, 3, 2, "learning_rate"),
	}, 4) {
		got = append(got, c.mutation)
	}
	must.Equal(t, "mutations", []string{"", "param(1 of the policy's matrices)", "head.add_layer", "learning_rate"}, got)
}
