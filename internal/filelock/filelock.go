// Package filelock keeps several processes from working in one folder at a time.
package filelock

import "errors"

// ErrHeld is returned, wrapped, where another process, or another part of this one, has the lock.
var ErrHeld = errors.New("it is locked")
