package envs

import (
	"fmt"
	"slices"
)

// RunningStatistics is implemented by wrappers that learn statistics of observations or rewards while they step, and
// normalise by them. What an agent has learnt is worth nothing without the statistics that its observations were
// normalised by, so they belong to it like its weights: trainers save them in every checkpoint, and populations copy
// them. [All] finds every wrapper that has some.
type RunningStatistics interface {
	// StatisticsName names the wrapper in snapshots and messages, as YAML files do ("normalize_reward").
	StatisticsName() string
	// Statistics returns the statistics by name, such as "mean", "variance" and "count". The map and its slices are the
	// caller's. The name [RunningSums] has a meaning of its own.
	Statistics() map[string][]float64
	// SetStatistics puts back what Statistics of a wrapper of the same kind has returned, all or (on an error) nothing.
	// It only reads the map.
	SetStatistics(statistics map[string][]float64) error
	// Freeze stops learning (true) or goes on with it (false), and returns what was set before. Evaluation freezes the
	// statistics, so that it acts as training would and leaves no trace.
	Freeze(on bool) (was bool)
}

// RunningSums is the name, among the statistics of [RunningStatistics], of one number an environment that belongs to
// its episode in progress, such as the discounted sum of its rewards. A resumed run goes on with them; a copy of the
// weights in another environment does without. SetStatistics keeps the wrapper's own where they are absent or those of
// another number of environments.
const RunningSums = "sums"

// ObservationTransform is what a wrapper does to every observation: first it normalises, (x - Mean) / √(Variance +
// Epsilon), where Mean is not nil, then it clips to Low and High where Low is below High.
type ObservationTransform struct {
	// Mean and Variance have one number a column of the flat row.
	Mean, Variance []float64
	Epsilon        float64
	Low, High      float64
}

// ObservationTransformer is implemented by wrappers that change observations by a formula that a program without the
// environment can repeat. An exported policy repeats it, and so acts on what the environment inside returns.
type ObservationTransformer interface {
	// ObservationTransform returns the formula as it stands now. The slices are the caller's.
	ObservationTransform() ObservationTransform
}

// All returns every environment in env's chain of wrappers that implements T, innermost first, as files list wrappers.
// See [As] for what the chain is.
func All[T any](env Env) []T {
	var found []T
	for env != nil {
		if t, ok := env.(T); ok {
			if t, ok := served(t); ok {
				found = append(found, t)
			}
		}
		u, ok := env.(interface{ Unwrap() Env })
		if !ok {
			break
		}
		env = u.Unwrap()
	}
	slices.Reverse(found)
	return found
}

// CopyStatistics gives the wrappers of one environment the running statistics of another's, so that an environment made
// for evaluation returns what the agent has learnt from. Both must have the same wrappers with statistics in the same
// order. What belongs to episodes in progress ([RunningSums]) is not copied.
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

// statisticsNames returns the wrappers' names.
func statisticsNames(all []RunningStatistics) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.StatisticsName()
	}
	return names
}
