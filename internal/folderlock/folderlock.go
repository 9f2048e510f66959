// Package folderlock sees to it that one process at a time works in a folder.
package folderlock

import "errors"

// ErrInUse is wrapped by the error of a lock that another holds.
var ErrInUse = errors.New("in use")
