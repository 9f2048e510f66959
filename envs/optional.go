package envs

import "image"

// Observer is implemented by environments that can show their observations without stepping. After RestoreState (see
// [Stateful]) that is what to act on next.
type Observer interface {
	// Observe returns a Step with only Observations, States, ActionMasks and the seats' Active set, as the last Reset,
	// Step or RestoreState left them. The Step belongs to the environment, like what Step returns.
	Observe() (*Step, error)
}

// Terminator is implemented by environments whose episodes can be ended from outside. An agent that asks for ends
// (agents.Terminator) needs one.
type Terminator interface {
	// Terminate chooses, by a mask (N,), the environments whose episodes the next Step terminates, whatever the task
	// decides. Those episodes end like any other, with a last observation. A second call replaces the mask. A Step, a
	// Reset and a restored state clear it. nil ends no episode; another length than N is an error.
	Terminate(ends []bool) error
}

// Timed is implemented by environments, and by a [Single], whose steps have a duration. Films then run in real time.
type Timed interface {
	// StepDuration is the duration of a step in seconds, 0 if it is not known.
	StepDuration() float64
}

// StepDuration returns the duration of env's steps in seconds, 0 if it is not known.
func StepDuration(env Env) float64 {
	if timed, ok := As[Timed](env); ok {
		return timed.StepDuration()
	}
	return 0
}

// SingleRenderer is implemented by a [Single] that can draw itself. A Single may also implement [MotionSource] and
// [Stateful]. Its state then leaves out the generator that Reset gave it, because the batch saves that.
type SingleRenderer interface {
	// Render returns a picture of the environment as it stands now.
	Render() (image.Image, error)
}
