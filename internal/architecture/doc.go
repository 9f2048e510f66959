// Package architecture holds tests and no code: they draw the packages and what they import from the code, and hold
// docs/architecture.md with its picture against it.
package architecture
