//go:build !unix

package durable

import "io/fs"

// Lock does nothing where the system has no advisory locks that end with the process.
func Lock(string, string) (release func() error, err error) {
	return func() error { return nil }, nil
}

// Locks does nothing where the system has no advisory locks.
func Locks() (held func(fs.FileInfo) bool) { return func(fs.FileInfo) bool { return false } }
