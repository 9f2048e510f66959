package launch

// This file keeps what members print: one file for each member, and the last lines in memory, which the error about a
// member that gave up quotes.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/gorl-dev/gorl/internal/process"
)

// output appends what a member writes to its file, and remembers the last lines. Writing never fails: a full disk must
// not end a member that only wants to say so.
type output struct {
	path string
	// in memory, so that the error about a member can quote it even where the file could not be written
	tail process.Tail

	mu   sync.Mutex
	file *os.File
	err  error
}

// openOutput opens the file at path, which an earlier run may have begun, and its folder where that is missing.
func openOutput(path string) (*output, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	// Appending lets other programs, such as logrotate, cut the file off meanwhile.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return &output{path: path, file: file}, nil
}

// Write appends data to the file. It always reports success: the copying from the member's pipe would end with an
// error, and the member would hang as soon as the pipe is full. What went wrong is returned by close.
func (o *output) Write(data []byte) (int, error) {
	_, _ = o.tail.Write(data)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.file.Write(data); err != nil {
		o.err = err
	}
	return len(data), nil
}

// close closes the file and returns the last error since openOutput.
func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := errors.Join(o.err, o.file.Close()); err != nil {
		return fmt.Errorf("launch: output of a member: %w", err)
	}
	return nil
}
