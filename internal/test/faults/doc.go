// Package faults holds tests and no code. The tests run trainings and populations in a process whose system calls on
// files fail, or which is killed or loses power right after one of these calls. Then they resume the run, and compare
// it with an uninterrupted one.
package faults
