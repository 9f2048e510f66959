package envs

import (
	"fmt"
	"slices"
)

// RunningStatistics is implemented by wrappers that normalise observations or rewards by statistics which they learn
// while stepping. An agent is useless without the statistics that normalised its observations, so they belong to it
// like its weights: trainers save them in every checkpoint, and populations copy them. [All] finds every such
// wrapper.
type RunningStatistics interface {
	// StatisticsName names the wrapper in snapshots and messages, as YAML files do ("normalize_reward").
	StatisticsName() string
	// Statistics returns the statistics by name, such as "mean", "variance" and "count". The map and its slices are the
	// caller's. The name [RunningSums] has a meaning of its own.
	Statistics() map[string][]float64
	// SetStatistics puts back what Statistics of a wrapper of the same kind has returned, all or (on an error) nothing.
	// It only reads the map.
	SetStatistics(statistics map[string][]float64) error
	// Freeze stops learning (true) or resumes it (false), and returns what was set before. Evaluation freezes the
	// statistics, so that it normalises as training does and does not change them.
	Freeze(on bool) (was bool)
}

// RunningSums is a name among the statistics of [RunningStatistics]: one number per environment that belongs to its
// episode in progress, such as the discounted sum of its rewards. A resumed run continues with these numbers; a copy
// of the weights in another environment does not need them. SetStatistics keeps the wrapper's own if they are
// missing, or belong to another number of environments.
const RunningSums = "sums"

// ObservationTransform is what a wrapper does to every observation. If Mean is not nil, it first normalises: (x -
// Mean) / √(Variance + Epsilon). Then, if Low is below High, it clips to [Low, High].
type ObservationTransform struct {
	// Mean and Variance have one number a column of the flat row.
	Mean, Variance []float64
	Epsilon        float64
	Low, High      float64
}

// ObservationTransformer is implemented by wrappers that change observations by a formula that a program without the
// environment can repeat. An exported policy repeats it, and so acts on what the environment inside returns.
type ObservationTransformer interface {
	// ObservationTransform returns the formula with the present statistics. The slices belong to the caller.
	ObservationTransform() ObservationTransform
}

// All returns every environment in env's chain of wrappers that implements T, innermost first, as files list wrappers.
// See [As] for what the chain is.
func All[T any](env Env) []T {
	var found []T
	for in := range chain(env) {
		if t, ok := in.(T); ok {
			if t, ok := served(t); ok {
				found = append(found, t)
			}
		}
	}
	slices.Reverse(found)
	return found
}

// CopyStatistics copies the running statistics of one environment's wrappers to those of another. An environment made
// for evaluation then returns what the agent has learned from. Both must have the same wrappers with statistics, in
// the same order. Numbers of episodes in progress ([RunningSums]) are not copied.
func CopyStatistics(to, from Env) error {
	targets, sources := All[RunningStatistics](to), All[RunningStatistics](from)
	if names, want := statisticsNames(targets), statisticsNames(sources); !slices.Equal(names, want) {
		return fmt.Errorf("envs: the environment has running statistics of %q, "+
			"the one to copy them from has those of %q", names, want)
	}
	for i, source := range sources {
		statistics := source.Statistics()
		delete(statistics, RunningSums)
		if err := targets[i].SetStatistics(statistics); err != nil {
			return err
		}
	}
	return nil
}

// statisticsNames returns the wrappers' names, in the same order.
func statisticsNames(all []RunningStatistics) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.StatisticsName()
	}
	return names
}
