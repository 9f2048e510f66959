// Package faults holds tests and no code. They run trainings and populations in a process whose system calls on files
// fail, or are the last before a kill or a power cut, then resume the run, and compare it with an uninterrupted one.
package faults
