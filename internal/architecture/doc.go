// Package architecture holds tests and no code: they hold what docs/architecture.md says of packages and names against
// the code.
package architecture
