// Package schedule trains one agent with the hyperparameters that a population has found. A population seldom finds
// one best setting; it finds a course of settings, such as large learning rates at first and small ones later.
// [Extract] reads that course from a journal: it follows the weights of a member back through the members that they
// were copied from. [Write] and [Read] keep the course as a JSON file, and [Train] trains a fresh trainee with it.
//
// extract.go reads gorl's journals and ray.go Ray Tune's files; both return a [Schedule], which file.go stores and
// train.go plays.
package schedule

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"sort"
)

// Schedule is a course of hyperparameters, constant between phases.
type Schedule struct {
	// Objective names the figure that the population maximised or minimised; it may be empty.
	Objective string `json:"objective,omitempty"`
	// Member is the member whose weights these were, Seed that of the population's founding member from which they
	// descend: a trainee built with it begins as those weights did.
	Member int   `json:"member"`
	Seed   int64 `json:"seed,omitempty"`
	// Steps is the number of environment steps behind the weights.
	Steps int64 `json:"steps"`
	// Phases are in order of From. The first begins at 0.
	Phases []Phase `json:"phases"`
}

// Phase is a stretch of environment steps with the same hyperparameters.
type Phase struct {
	// From is the number of environment steps behind the weights at which the phase begins.
	From int64 `json:"from"`
	// Member is the member that trained the weights then.
	Member int `json:"member"`
	// Hyperparameters are those that hold from here on. One that a phase does not name stays as it was.
	Hyperparameters map[string]float64 `json:"hyperparameters"`
	// Architecture describes the networks that the weights had, in a population whose networks evolve; otherwise it is
	// empty. It is for people: [Train] leaves the trainee's networks as they are.
	Architecture string `json:"architecture,omitempty"`
}

// At returns the hyperparameters after a number of environment steps: those of all phases up to there, later ones
// over earlier ones. It is empty for a negative number.
func (s Schedule) At(steps int64) map[string]float64 {
	values := make(map[string]float64)
	for _, p := range s.Phases[:s.phase(steps)+1] {
		maps.Copy(values, p.Hyperparameters)
	}
	return values
}

// Architectures returns the architectures that the weights had, in order, without repetitions in a row; it is empty
// where the population's networks did not evolve. Where there is more than one, Train still replays the
// hyperparameters only.
func (s Schedule) Architectures() []string {
	var all []string
	for _, p := range s.Phases {
		if p.Architecture != "" && (len(all) == 0 || all[len(all)-1] != p.Architecture) {
			all = append(all, p.Architecture)
		}
	}
	return all
}

// Keys returns all hyperparameters that any phase names, sorted.
func (s Schedule) Keys() []string {
	named := make(map[string]float64)
	for _, p := range s.Phases {
		maps.Copy(named, p.Hyperparameters)
	}
	return sorted(named)
}

// phase returns the index of the phase that a number of environment steps lies in, found by bisection as phases ascend;
// -1 where there is none.
func (s Schedule) phase(steps int64) int {
	return sort.Search(len(s.Phases), func(i int) bool { return s.Phases[i].From > steps }) - 1
}

// Validate checks that there are phases in ascending order from 0, and that all values are finite.
func (s Schedule) Validate() error {
	if len(s.Phases) == 0 {
		return errors.New("schedule: it has no phases; it needs at least one, from step 0")
	}
	if s.Member < 0 {
		return fmt.Errorf("schedule: its member is %d; members are 0 and up", s.Member)
	}
	for i, p := range s.Phases {
		switch {
		case i == 0 && p.From != 0:
			return fmt.Errorf("schedule: its first phase begins at environment step %d; it must begin at 0", p.From)
		case i > 0 && p.From <= s.Phases[i-1].From:
			return fmt.Errorf("schedule: phase %d begins at environment step %d, phase %d at %d; give them in ascending order",
				i, p.From, i-1, s.Phases[i-1].From)
		case p.Member < 0:
			return fmt.Errorf("schedule: phase %d is of member %d; members are 0 and up", i, p.Member)
		}
		for _, key := range sorted(p.Hyperparameters) {
			if v := p.Hyperparameters[key]; math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("schedule: phase %d, from environment step %d, sets %q to %v; give a finite number", i, p.From,
					key, v)
			}
		}
	}
	if last := s.Phases[len(s.Phases)-1].From; s.Steps < last {
		return fmt.Errorf("schedule: it ends after %d environment steps, before its last phase begins at %d", s.Steps, last)
	}
	return nil
}
