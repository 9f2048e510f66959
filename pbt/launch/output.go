package launch

// This file keeps what members print: one file for each member, put aside and begun again when it grows too large, and
// the last lines in memory, which the error about a member that gave up quotes.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gorl-dev/gorl/internal/process"
)

// output appends what a member writes to its file, puts the file aside when it has become too large, and remembers the
// last lines. Writing never fails: a full disk must not end a member that only wants to say so.
type output struct {
	path  string
	limit int64
	keep  int
	// in memory, so that the error about a member can quote it even where the file could not be written
	tail process.Tail

	mu   sync.Mutex
	file *os.File
	size int64 // of the file
	err  error
}

// openOutput opens the file at path, and its folder where that is missing. limit is Config.LogSize, keep
// Config.LogFiles.
func openOutput(path string, limit int64, keep int) (*output, error) {
	o := &output{path: path, limit: limit, keep: keep}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	if err := o.open(); err != nil {
		return nil, err
	}
	return o, nil
}

// open opens the file, which an earlier run may have begun.
func (o *output) open() error {
	file, err := os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("launch: %w", err), file.Close())
	}
	o.file, o.size = file, info.Size()
	return nil
}

// Write appends data to the file. It always reports success: the copying from the member's pipe would end with an
// error, and the member would hang as soon as the pipe is full. What went wrong is returned by close.
func (o *output) Write(data []byte) (int, error) {
	_, _ = o.tail.Write(data)
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := data; len(rest) > 0 && o.file != nil; {
		part := rest
		if room := o.limit - o.size; o.limit > 0 && room < int64(len(rest)) {
			// Files end with a whole line, so that the one that exceeds the limit is written to its end.
			if end := bytes.IndexByte(rest[max(room, 0):], '\n'); end >= 0 {
				part = rest[:int(max(room, 0))+end+1]
			}
		}
		n, err := o.file.Write(part)
		o.size += int64(n)
		if err != nil {
			o.err = err
			break
		}
		rest = rest[len(part):]
		if o.limit > 0 && o.size >= o.limit && part[len(part)-1] == '\n' {
			o.putAside()
		}
	}
	return len(data), nil
}

// putAside renames 007.log to 007.log.1, 007.log.1 to 007.log.2, and so on, and begins a new 007.log. It starts with
// the highest number, so that each name is free when it is needed; the oldest file is overwritten.
func (o *output) putAside() {
	errs := []error{o.file.Close()}
	o.file = nil
	for n := o.keep; n > 0; n-- {
		from := fmt.Sprintf("%s.%d", o.path, n-1)
		if n == 1 {
			from = o.path
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", o.path, n)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	o.err = errors.Join(o.err, errors.Join(errs...), o.open())
}

// close closes the file and returns all errors since openOutput.
func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		o.err = errors.Join(o.err, o.file.Close())
		o.file = nil
	}
	if o.err != nil {
		return fmt.Errorf("launch: output of a member: %w", o.err)
	}
	return nil
}
