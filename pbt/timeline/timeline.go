// Package timeline trains one agent with the hyperparameters that a population has found. A population seldom finds one
// best setting: it finds settings that change during training, such as large learning rates at first and small ones
// later. The paper on population based training calls that a schedule of hyperparameters. [Timeline] records it.
//
// [Extract] reads the timeline of a member from a journal, by following its weights back through the members that they
// were copied from. [Write] and [Read] store a timeline as JSON. [Timeline.Apply] sets the hyperparameters of an agent
// while a program trains it.
package timeline

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"sort"
	"strings"
)

// Timeline lists the hyperparameters that weights were trained with. They are constant within a phase.
type Timeline struct {
	// Objective is the name of the metric that the population maximised or minimised. It may be empty.
	Objective string `json:"objective,omitempty"`
	// Member is the member that has the weights.
	Member int `json:"member"`
	// Seed is the seed of the member in which the weights were initialised. A trainee that is built with this seed
	// starts with the same weights.
	Seed int64 `json:"seed,omitempty"`
	// Steps is the number of environment steps that the weights were trained for.
	Steps int64 `json:"steps"`
	// Phases are sorted by From. The first one starts at 0.
	Phases []Phase `json:"phases"`
}

// Phase is a range of environment steps with constant hyperparameters.
type Phase struct {
	// From is the environment step at which the phase starts.
	From int64 `json:"from"`
	// Member is the member that trained the weights during the phase.
	Member int `json:"member"`
	// Hyperparameters are set at From. A hyperparameter that is missing here keeps its value.
	Hyperparameters map[string]float64 `json:"hyperparameters"`
	// Architecture describes the networks, if the population evolves them. Otherwise it is empty. Apply ignores it.
	Architecture string `json:"architecture,omitempty"`
}

// At returns the hyperparameters after a number of environment steps. Later phases override earlier ones. The result is
// empty if steps is negative.
func (s Timeline) At(steps int64) map[string]float64 {
	values := make(map[string]float64)
	for _, p := range s.Phases[:s.phase(steps)+1] {
		maps.Copy(values, p.Hyperparameters)
	}
	return values
}

// Architectures returns the architectures of the phases in order, without consecutive repetitions. It is empty if the
// population did not evolve its networks.
func (s Timeline) Architectures() []string {
	var all []string
	for _, p := range s.Phases {
		if p.Architecture != "" && (len(all) == 0 || all[len(all)-1] != p.Architecture) {
			all = append(all, p.Architecture)
		}
	}
	return all
}

// Keys returns the sorted names of the hyperparameters of all phases.
func (s Timeline) Keys() []string {
	named := make(map[string]float64)
	for _, p := range s.Phases {
		maps.Copy(named, p.Hyperparameters)
	}
	return sorted(named)
}

// Tuned is what trains by a timeline: a [pbt.Trainee] or a trainers.Trainer.
type Tuned interface {
	// Steps counts the environment steps trained.
	Steps() int64
	Hyperparameters() map[string]float64
	SetHyperparameters(values map[string]float64) error
}

// Apply sets the hyperparameters of the present environment step, if t has others. Call it before each step or stretch
// of training: changes come as late as the calls. It repeats hyperparameters only, and not what a population with
// evolving networks does to the networks.
func (s Timeline) Apply(t Tuned) error {
	values, has := s.At(t.Steps()), t.Hyperparameters()
	for key, x := range values {
		if has[key] != x {
			if err := t.SetHyperparameters(values); err != nil {
				return fmt.Errorf("timeline: at environment step %d: %w", t.Steps(), err)
			}
			break
		}
	}
	return nil
}

// Check returns an error if a phase sets a hyperparameter that t does not have. A misspelt name would otherwise end a
// run at its phase.
func (s Timeline) Check(t Tuned) error {
	has := t.Hyperparameters()
	for _, key := range s.Keys() {
		if _, ok := has[key]; !ok {
			return fmt.Errorf("timeline: it sets %q, which the agent does not have; it has %s", key,
				strings.Join(sorted(has), ", "))
		}
	}
	return nil
}

// phase returns the index of the phase that contains an environment step, -1 if steps is negative.
func (s Timeline) phase(steps int64) int {
	return sort.Search(len(s.Phases), func(i int) bool { return s.Phases[i].From > steps }) - 1
}

// Validate checks that the phases start at 0 in ascending order, and that all values are finite.
func (s Timeline) Validate() error {
	if len(s.Phases) == 0 {
		return errors.New("timeline: it has no phases; it needs at least one, from step 0")
	}
	if s.Member < 0 {
		return fmt.Errorf("timeline: its member is %d; members are 0 and up", s.Member)
	}
	for i, p := range s.Phases {
		switch {
		case i == 0 && p.From != 0:
			return fmt.Errorf("timeline: its first phase begins at environment step %d; it must begin at 0", p.From)
		case i > 0 && p.From <= s.Phases[i-1].From:
			return fmt.Errorf("timeline: phase %d begins at environment step %d, phase %d at %d; give them in "+
				"ascending order", i, p.From, i-1, s.Phases[i-1].From)
		case p.Member < 0:
			return fmt.Errorf("timeline: phase %d is of member %d; members are 0 and up", i, p.Member)
		}
		for _, key := range sorted(p.Hyperparameters) {
			if v := p.Hyperparameters[key]; math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("timeline: phase %d, from environment step %d, sets %q to %v; give a finite number",
					i, p.From, key, v)
			}
		}
	}
	if last := s.Phases[len(s.Phases)-1].From; s.Steps < last {
		return fmt.Errorf("timeline: it ends after %d environment steps, before its last phase begins at %d", s.Steps,
			last)
	}
	return nil
}
