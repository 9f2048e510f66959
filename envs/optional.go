package envs

import "image"

// Observer is implemented by environments that can show their observations without stepping, which is how a
// restored environment (see [Stateful]) tells what to act on next.
type Observer interface {
	// Observe returns a Step with only Observations and States set, as the last Reset, Step or RestoreState
	// left them. It is the environment's, like what Step returns.
	Observe() (*Step, error)
}

// Terminator is implemented by environments whose episodes may be ended from outside, as some agents ask for
// (agents.Terminator).
type Terminator interface {
	// Terminate says, (N), which environments the next Step terminates, whatever the task says: their episodes end
	// behind it as any other, with a last observation. It replaces what the call before said, and is forgotten with the
	// Step, a Reset or a restored state. nil ends none; another length than N is an error.
	Terminate(ends []bool) error
}

// SingleRenderer is implemented by a [Single] that can draw itself. A Single may implement [Stateful] (its state
// without the generator that Reset gave it, which the batch keeps) and [MotionSource] as well.
type SingleRenderer interface {
	// Render returns a picture of the environment as it stands now.
	Render() (image.Image, error)
}
