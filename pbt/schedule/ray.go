package schedule

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/pbt/preset"
)

// FromRay makes a schedule of a policy file of Ray Tune's population based training, which preset.ReadPolicy reads: the
// same that Ray's PopulationBasedTrainingReplay plays. Ray counts training iterations; stepsPerIteration is the number of
// environment steps of one. The file does not say how long training went on: Steps is where the last phase begins, and
// [Options.Steps] says where to stop.
func FromRay(rows []preset.PolicyRow, stepsPerIteration int64) (Schedule, error) {
	if stepsPerIteration < 1 {
		return Schedule{}, fmt.Errorf("schedule: %d steps per iteration; give at least 1", stepsPerIteration)
	}
	if len(rows) == 0 {
		return Schedule{}, errors.New("schedule: the policy file has no rows: the trial never took anything over; train with its own configuration")
	}
	initial, changes := preset.Schedule(rows)
	s := Schedule{Phases: []Phase{{Hyperparameters: initial}}}
	for _, c := range changes {
		if c.Iteration > math.MaxInt64/stepsPerIteration {
			return Schedule{}, fmt.Errorf("schedule: iteration %d of %d steps is too great", c.Iteration, stepsPerIteration)
		}
		p := Phase{From: c.Iteration * stepsPerIteration, Hyperparameters: c.Hyperparameters}
		if s.Steps = p.From; s.Phases[len(s.Phases)-1].From == p.From {
			s.Phases = s.Phases[:len(s.Phases)-1]
		}
		s.Phases = append(s.Phases, p)
	}
	return s, s.Validate()
}
