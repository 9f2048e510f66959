// Package durable keeps files whole when processes crash, power fails or two processes work in one folder.
//
// [WriteFile] replaces a file so that a reader finds the old contents or the new, never a part. [SyncDir] makes names in a
// folder reach the disk. [Lock] lets one process at a time work in a folder.
package durable

import "errors"

// ErrInUse is wrapped by the error of [Lock] while another process holds the lock.
var ErrInUse = errors.New("in use")
