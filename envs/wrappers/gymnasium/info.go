package gymnasium

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Info returns the entries of environment i's last info that are no numbers, as JSON: texts, lists, arrays of more
// than one number. It is nil if there are none, and without Options.Infos. Values that JSON cannot hold are written
// as Python prints them; NaN is null.
func (e *Env) Info(i int) (json.RawMessage, error) {
	if i < 0 || i >= e.options.NumEnvs {
		return nil, fmt.Errorf("gymnasium: environment %d is not one of %d", i, e.options.NumEnvs)
	}
	return slices.Clone(e.infos[i]), nil
}

// collectMetrics sets the Metrics of the step. A number of Options.StepMetrics is averaged over the environments
// whose info has it. A simulator's log concerns the whole batch and keeps its names, such as "Episode_Reward/speed".
// Environments of a replaced child, and rows without a transition, have no infos of this step.
func (e *Env) collectMetrics() {
	if len(e.options.StepMetrics) == 0 && len(e.log) == 0 {
		return
	}
	clear(e.metrics)
	clear(e.counts)
	for _, c := range e.children {
		if c.renewed || len(e.options.StepMetrics) == 0 {
			continue
		}
		for i := c.from; i < c.to; i++ {
			if e.own.Invalid[i] { // it has no infos of a step
				continue
			}
			e.numbers(c, i, e.options.StepMetrics, func(name string, x float64) {
				e.metrics[name] += x
				e.counts[name]++
			})
		}
	}
	for name, n := range e.counts {
		e.metrics[name] /= float64(n)
	}
	for name, x := range e.log {
		e.metrics[name] = x
	}
	e.step.Metrics = e.metrics
}
