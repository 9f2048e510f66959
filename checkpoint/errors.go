package checkpoint

import (
	"errors"
	"fmt"
)

// ErrNone is returned where a store holds no valid snapshot.
var ErrNone = errors.New("checkpoint: no valid snapshot")

// ErrUncommitted is wrapped in the DamagedError for a data file without a manifest: its save was interrupted, or it
// is not a snapshot of a store at all.
var ErrUncommitted = errors.New("no manifest")

// DamagedError says that a file is not the valid snapshot it should be: truncated, altered, of another kind, or
// not readable.
type DamagedError struct {
	// Path of the file.
	Path string
	// Reason in words.
	Reason string
	// Err is the underlying error, or nil.
	Err error
}

// Error names the file and the reason.
func (e *DamagedError) Error() string {
	if e.Err != nil && e.Reason == "" {
		return fmt.Sprintf("checkpoint: %s is damaged: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("checkpoint: %s is damaged: %s", e.Path, e.Reason)
}

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }
