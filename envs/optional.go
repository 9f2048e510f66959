package envs

import "image"

// Observer is implemented by environments that can show their observations without stepping. A restored environment
// (see [Stateful]) shows so what to act on next.
type Observer interface {
	// Observe returns a Step with only Observations and States set, as the last Reset, Step or RestoreState
	// left them. It is the environment's, like what Step returns.
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

// SingleRenderer is implemented by a [Single] that can draw itself. A Single may implement [Stateful] (its state
// without the generator that Reset gave it, which the batch keeps) and [MotionSource] as well.
type SingleRenderer interface {
	// Render returns a picture of the environment as it stands now.
	Render() (image.Image, error)
}
