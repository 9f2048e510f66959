package cli

import (
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/timeline"
	"github.com/gorl-dev/gorl/trainers"
)

// schedule is the schedule of hyperparameters of --schedule, which gorl-pbt replay writes. Without phases it does
// nothing.
type schedule struct{ timeline.Timeline }

// readSchedule reads the file of --schedule, if there is one. Unless the command line says it, the run is as long as
// the schedule. environment is the section with all defaults.
func (f *trainFlags) readSchedule(c runfile.Sections, environment map[string]any) (s schedule, err error) {
	if f.schedule == "" {
		return s, nil
	}
	if s.Timeline, err = timeline.Read(f.schedule); err != nil {
		return s, commandline.Usagef("--schedule: %w", err)
	}
	if envs, ok := config.Whole(environment["num_envs"]); ok && envs > 0 && !f.given("timesteps") {
		c.Section("trainer")["timesteps"] = (int(s.Steps) + envs - 1) / envs
	}
	return s, nil
}

// check refuses a schedule that sets what the agent does not have.
func (s schedule) check(t *trainers.Trainer) error {
	has := t.Hyperparameters()
	for _, key := range s.Keys() {
		if _, ok := has[key]; !ok {
			var known []string
			for name := range has {
				known = append(known, name)
			}
			slices.Sort(known)
			return commandline.Usagef("--schedule sets %q, which this agent does not have; it has %s", key,
				strings.Join(known, ", "))
		}
	}
	return nil
}

// apply sets the hyperparameters of the present environment step, if the agent has others.
func (s schedule) apply(t *trainers.Trainer) error {
	if len(s.Phases) == 0 {
		return nil
	}
	values, has := s.At(t.Steps()), t.Hyperparameters()
	for key, x := range values {
		if has[key] != x {
			return t.SetHyperparameters(values)
		}
	}
	return nil
}
