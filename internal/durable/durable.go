// Package durable keeps files whole when processes crash, power fails or two processes work in one folder.
//
//   - [WriteFile] replaces a file so that a reader finds the old contents or the new, never a part. [WriteAside] is its
//     first half, for stores that give the file its name in a way of their own; [TemporaryName] and [Abandoned] let a
//     later process delete what a crash left behind. [FS] is the file system beneath, which tests replace.
//   - [SyncDir] makes the names in a folder survive a power failure.
//   - [Lock] lets one process at a time work in a folder.
//   - [Seal] and [Unseal] write and read JSON with its own checksum in it.
package durable

import "errors"

// ErrInUse is wrapped by the error of [Lock] while another process holds the lock.
var ErrInUse = errors.New("in use")
