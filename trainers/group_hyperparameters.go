package trainers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Hyperparameters implements [agents.Tunable]: those of all agents, each key after the agent's number
// ("0.learning_rate").
func (g *Group) Hyperparameters() map[string]float64 {
	all := map[string]float64{}
	for i, a := range g.agents {
		for k, v := range hyperparameters(a) {
			all[strconv.Itoa(i)+"."+k] = v
		}
	}
	return all
}

// SetHyperparameters implements [agents.Tunable]. Agents are changed one after the other; where one refuses, those
// before it are given back their own values, so that all change or none.
func (g *Group) SetHyperparameters(values map[string]float64) error {
	// Sort the values by agent. A key without an agent's number is an error before anything changes.
	parts := make([]map[string]float64, len(g.agents))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		number, name, ok := strings.Cut(key, ".") // "0.learning_rate": agent 0, and its own key
		i, err := strconv.Atoi(number)
		if !ok || err != nil || i < 0 || i >= len(g.agents) {
			return fmt.Errorf("trainers: the group has no hyperparameter %q; they are named after the agent's number, 0 to %d, as in \"0.learning_rate\"", key, len(g.agents)-1)
		}
		if parts[i] == nil {
			parts[i] = map[string]float64{}
		}
		parts[i][name] = values[key]
	}
	var undo []func() error // gives an agent that has changed its values back
	for i, part := range parts {
		if part == nil {
			continue
		}
		a, before := g.agents[i], hyperparameters(g.agents[i])
		if err := setHyperparameters(a, part); err != nil {
			err = fmt.Errorf("trainers: agent %d: %w", i, err)
			for _, f := range undo {
				err = errors.Join(err, f())
			}
			return err
		}
		undo = append(undo, func() error { return setHyperparameters(a, before) })
	}
	return nil
}
