package torchfile

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrLegacy is returned for files in the format that PyTorch wrote before version 1.6, which is a series of pickles
// without an archive around them.
var ErrLegacy = errors.New("it is in the format of PyTorch before 1.6; load it there and save it again with torch.save, which writes the present one")

// Kind says what is wrong with a file.
type Kind string

// The kinds of an [Error].
const (
	// Hostile pickles ask for more than tensors and plain values need. Nothing of such a file is used.
	Hostile Kind = "hostile"
	// Damaged files are not the whole and consistent files they should be.
	Damaged Kind = "damaged"
	// Unsupported files are well-formed, but hold something this package does not read.
	Unsupported Kind = "unsupported"
)

// Error says why a file was not read.
type Error struct {
	Kind Kind
	// Path of the file, or "" where it was not read by path.
	Path string
	// Global is what a hostile pickle names, as module.attribute ("posix.system"), or "" where it names nothing.
	Global string
	// Reason in words, and what to do.
	Reason string
}

// Error names the file and the reason; of a hostile file also what it asked for, and that nothing was used.
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
	return fmt.Sprintf("torchfile: %s is refused: its pickle has %s. Nothing of it was used; loading it in Python can run any code", file, what)
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

// at puts the path into an error.
func at(path string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Errorf("torchfile: %s: %w", path, err)
	}
	e.Path = path
	return err
}
