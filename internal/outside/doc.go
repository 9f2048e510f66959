// Package outside holds a test and no code: it shows that a program outside this
// repository builds against gorl with plain go build, once make setup has been run.
package outside
