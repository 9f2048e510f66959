// Package mujoco runs physics characters on MuJoCo's C library: many simulations of one model, stepped in parallel,
// with a task written in Go on top.
//
// [NewWalker] is the default character, a planar biped that can learn to walk from a built-in gait. To use your own
// model, write a [Task] and give it to [New] with the model's MJCF. The result is an [envs.Env] that draws itself and
// saves and restores its whole state. It supplies reference motion if the task does. [Model] and [Batch] are the engine
// without a task.
//
// MuJoCo ends the process on a fatal error. This package returns an error with MuJoCo's message instead. A simulation
// that diverges returns to its state before the step, and its episode is terminated.
//
// The build needs MuJoCo 2.2's header and library (Debian: libmujoco-dev).
package mujoco
