package torchfile

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrLegacy is the error of files in the format that PyTorch wrote before version 1.6: a series of pickles without an
// archive.
var ErrLegacy = errors.New("it is in the format of PyTorch before 1.6; load it there and save it again with " +
	"torch.save, which writes the present one")

// Kind is the kind of an [Error].
type Kind string

// The kinds of an [Error].
const (
	// Hostile pickles ask for more than tensors and plain values need. No part of such a file is used.
	Hostile Kind = "hostile"
	// Damaged files are incomplete or contradict themselves.
	Damaged Kind = "damaged"
	// Unsupported files are valid, but hold something that this package does not read.
	Unsupported Kind = "unsupported"
)

// Error is the reason why a file was not read.
type Error struct {
	Kind Kind
	// Path is the path of the file, or "" if it was not read by path.
	Path string
	// Global is the function or class that a hostile pickle names, such as "posix.system", or "".
	Global string
	// Reason says what is wrong and what to do.
	Reason string
}

// Error names the file and the reason, and what a hostile file asked for.
func (e *Error) Error() string {
	file, what := cmp.Or(e.Path, "the file"), e.Reason
	switch e.Kind {
	case Damaged:
		return fmt.Sprintf("torchfile: %s is damaged: %s", file, what)
	case Unsupported:
		return fmt.Sprintf("torchfile: %s cannot be read: %s", file, what)
	}
	if e.Global != "" {
		what = e.Global + ": " + what
	}
	return fmt.Sprintf("torchfile: %s is refused: its pickle has %s. Nothing of it was used; loading it in "+
		"Python can run any code", file, what)
}

func hostile(global, format string, args ...any) error {
	return &Error{Kind: Hostile, Global: global, Reason: fmt.Sprintf(format, args...)}
}

func damaged(format string, args ...any) error {
	return &Error{Kind: Damaged, Reason: fmt.Sprintf(format, args...)}
}

func unsupported(format string, args ...any) error {
	return &Error{Kind: Unsupported, Reason: fmt.Sprintf(format, args...)}
}

// addPath puts the path into an error.
func addPath(path string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf("torchfile: %s: %w", path, err)
	}
	e.Path = path
	return err
}
