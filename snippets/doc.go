// Package snippets is the parent of gorl's example programs, one a folder, each to be run with
//
//	go run ./snippets/<name>
//
// and to be copied and changed. It holds the test that runs them all with few steps, and no code.
package snippets
