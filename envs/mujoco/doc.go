// Package mujoco runs physics characters on MuJoCo's C library: many simulations of one model, stepped in parallel,
// with a task written in Go on top.
//
// [NewWalker] is the default character, a planar biped that can learn to walk from a built-in gait. For a model of
// one's own, write a [Task] and give it to [New] with the model's MJCF: the result is an [envs.Env] that draws
// itself, saves and restores its whole state and, where the task can, supplies reference motion. [Model] and [Batch]
// are the engine alone.
//
// MuJoCo ends the process when something goes wrong; here that is an error with MuJoCo's own words. A simulation that
// diverges goes back to where it was before the step, and its episode is terminated.
//
// The build needs MuJoCo 2.2's header and library (Debian: libmujoco-dev).
package mujoco
