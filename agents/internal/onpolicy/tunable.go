package onpolicy

import (
	"errors"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/config"
)

// ReadTunable returns the values of tunable settings by key.
func ReadTunable(tunable map[string]*float64) map[string]float64 {
	out := make(map[string]float64, len(tunable))
	for k, p := range tunable {
		out[k] = *p
	}
	return out
}

// Assign writes values over the tunable settings of next, a copy of the agent's settings: all, or none if a key is
// unknown. Of several learning rates or clips, tunable has the first; the others change in proportion.
func (c *Rates) Assign(next *agents.OnPolicy, tunable map[string]*float64, values map[string]float64) error {
	var problems []error
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if _, ok := tunable[k]; !ok {
			known := slices.Collect(maps.Keys(tunable))
			problems = append(problems, c.errorf("%q cannot change while training: %s", k, config.Among(k, known)))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for k, v := range values {
		*tunable[k] = v
	}
	rescale(next.LearningRate, c.Config.LearningRate[0])
	rescale(next.GradNormClip, c.Config.GradNormClip[0])
	return nil
}

// rescale keeps the other elements of a list in proportion when the first has changed from before.
func rescale(list []float64, before float64) {
	if before == 0 {
		return
	}
	for i := 1; i < len(list); i++ {
		list[i] *= list[0] / before
	}
}
