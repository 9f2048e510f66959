// Package explore changes hyperparameters when a member of a population takes them over from another, or mutates its
// own. An [Explorer] gets the values and a source of random numbers, and returns changed values.
//
// There are three: [Mutation] changes each hyperparameter by a [Rule], as Isaac Lab, IsaacGymEnvs and Sample Factory
// do; [Perturbation] multiplies or resamples, as Ray Tune does; [PB2] chooses by a model of what the population has
// tried. A [Constraint] makes the results fit each other: rules and bounds look at one hyperparameter at a time, and
// cannot see that a batch is smaller than its mini-batches.
//
// Explorers are pure functions of their values and of the numbers that they draw, in an order that their comments
// give. So a run can be repeated and continued, and the golden files can hold every draw.
package explore

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Uniform draws from [0, 1). *rand.Rand of math/rand/v2 is one.
type Uniform interface{ Float64() float64 }

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

// Constraint makes hyperparameters fit each other. It returns the values to use, and may change those it is given. It
// must be a pure function. An error means that the values cannot be made to fit.
type Constraint func(values map[string]float64) (map[string]float64, error)

// AtMost lowers a to b where it is above, e.g. AtMost("mini_batch", "batch"). Values that lack one of the two are an
// error.
func AtMost(a, b string) Constraint {
	return func(values map[string]float64) (map[string]float64, error) {
		for _, key := range []string{a, b} {
			if _, ok := values[key]; !ok {
				return nil, fmt.Errorf("pbt: a constraint speaks of hyperparameter %q, which members do not have", key)
			}
		}
		values[a] = min(values[a], values[b])
		return values, nil
	}
}

// AgentSettings are the settings of gorl's agents that may change while they train, for readers of files, which refuse
// other names. Populations in Go know them from their members.
func AgentSettings() []string {
	return []string{
		"bounds_loss_scale", "discount_factor", "discriminator_grad_norm_clip", "discriminator_gradient_penalty_scale",
		"discriminator_learning_rate", "discriminator_logit_regularization_scale", "discriminator_loss_scale",
		"discriminator_weight_decay_scale", "diversity_loss_scale", "encoder_loss_scale", "encoder_reward_scale",
		"entropy_loss_scale", "gae_lambda", "grad_norm_clip", "kl_threshold", "learning_rate", "ratio_clip",
		"replay_admission_probability", "schedule_kl_threshold", "style_reward_scale", "task_reward_scale",
		"value_clip", "value_loss_scale",
	}
}
