package explore

import (
	"math/rand/v2"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Explorer changes hyperparameters that are handed on. [Mutation] is the usual one. An explorer must not be changed
// once a population uses it.
type Explorer interface {
	// Apply returns a changed copy of values. u is the only source of randomness: equal values and draws give equal
	// results. Apply is only called with keys that Validate has accepted.
	Apply(values map[string]float64, u Uniform) map[string]float64
	// Validate checks the explorer against the hyperparameters that members have.
	Validate(hyperparameters []string) error
	// Keys are the hyperparameters that it may change, sorted; some may be patterns as in [Mutation].
	Keys() []string
	// BoundsOf are the least and greatest value of a hyperparameter; ok is false where it has none.
	BoundsOf(key string) (bounds [2]float64, ok bool)
}

// Informed is implemented by explorers that learn from what the population has tried, such as [PB2].
type Fitter interface {
	Explorer
	// Inform returns the explorer to use for one member in this iteration. The events are the journal so far and, for
	// the iteration in progress, one a member: the event of what was decided, for members that are dealt with already,
	// and for this one and those after it an EventKeep, which tells where the member stands. So the explorer knows all
	// results, and what the members before this one were given. Before training there are no events. It must be a
	// pure function of its arguments.
	Fit(events []journal.Event, rng *rand.Rand) Explorer
}
