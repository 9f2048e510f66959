// Package outside holds tests and no code: they show that a program outside this
// repository builds against gorl with plain go build, once make setup has been run, and what
// such programs link.
package outside
