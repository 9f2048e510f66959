package cli

import (
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

// readSchedule reads the file of --schedule, which gorl-pbt replay writes. Without one the timeline has no phases, and
// sets nothing. Unless the command line says it, the run is as long as the schedule. environment is the section with
// all defaults.
func (f *trainFlags) readSchedule(c runfile.Sections, environment map[string]any) (s timeline.Timeline, err error) {
	if f.schedule == "" {
		return s, nil
	}
	if s, err = timeline.Read(f.schedule); err != nil {
		return s, commandline.Usagef("--schedule: %w", err)
	}
	if envs, ok := config.Whole(environment["num_envs"]); ok && envs > 0 && !f.given("timesteps") {
		c.Section("trainer")["timesteps"] = (int(s.Steps) + envs - 1) / envs
	}
	return s, nil
}
