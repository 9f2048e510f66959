package gymnasium

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Info returns what the last info of environment i holds beyond numbers, as JSON: texts, lists, arrays of more than one
// number. It is nil where there is nothing of the kind, and without Options.Infos. Values that JSON has no place for
// are written as Python prints them; NaN is null.
func (e *Env) Info(i int) (json.RawMessage, error) {
	if i < 0 || i >= e.options.NumEnvs {
		return nil, fmt.Errorf("gymnasium: environment %d is not one of %d", i, e.options.NumEnvs)
	}
	return slices.Clone(e.infos[i]), nil
}

// episodeMetrics are the numbers of environment i's last info that were asked for, nil where there is none.
func (e *Env) episodeMetrics(c *child, i int) map[string]float64 {
	var found map[string]float64
	e.numbers(c, i, e.options.EpisodeMetrics, func(name string, x float64) {
		if found == nil {
			found = make(map[string]float64, len(c.columns))
		}
		found[name] = x
	})
	return found
}

// collectMetrics averages the numbers of infos that were asked for over the batch, and adds those of a simulator's log.
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
			if e.own.invalid[i] { // it has no infos of a step
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
		e.metrics["log."+name], e.metrics["episode."+name] = x, x
	}
	e.step.Metrics = e.metrics
}

// numbers calls f for the finite numbers of environment i's info that are among names, nil and Every meaning all.
func (e *Env) numbers(c *child, i int, names []string, f func(name string, x float64)) {
	k := e.columns
	if k == 0 {
		return
	}
	row := e.shared.infos[i*k : (i+1)*k]
	all := names == nil || slices.Contains(names, Every)
	for j, name := range c.columns {
		if x := row[j]; x-x == 0 && (all || slices.Contains(names, name)) {
			f(name, x)
		}
	}
}
