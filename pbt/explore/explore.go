// Package explore changes hyperparameters when a member of a population takes them over from another, or mutates its
// own. An [Explorer] gets the values and a source of random numbers, and returns changed values.
//
// There are three: [Mutation] changes each hyperparameter by a [Rule], as Isaac Lab, IsaacGymEnvs and Sample Factory
// do; [Perturbation] multiplies or draws anew, as Ray Tune does; [PB2] chooses by a model of what the population has
// tried. A [Constraint] makes the results fit each other.
//
// Explorers are pure functions of their values and of the numbers that they draw, in an order that their comments
// give. So a run can be repeated and continued, and the golden files can hold every draw.
package explore

import (
	"math/rand/v2"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Explorer changes hyperparameters when a member takes them over from another or mutates its own. [Mutation] is the
// usual one. An explorer must not be changed once a population uses it.
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

// Fitter is implemented by explorers that learn from what the population has tried, such as [PB2].
type Fitter interface {
	Explorer
	// Fit returns the explorer to use for one member in this iteration. events are the journal so far and, for the
	// iteration in progress, one event a member: the event of the decision for members that have been dealt with, and
	// a journal.Keep, which tells where the member stands, for this member and those after it. So the explorer knows
	// all results, and the values given to the members before this one. Before training there are no events. Fit must
	// be a pure function of its arguments.
	Fit(events []journal.Event, rng *rand.Rand) Explorer
}
