package torchfile

import (
	"errors"
	"fmt"
)

// ErrLegacy is returned for files in the format that PyTorch wrote before version 1.6, which is a series of pickles
// without an archive around them.
var ErrLegacy = errors.New("it is in the format of PyTorch before 1.6; load it there and save it again with torch.save, which writes the present one")

// HostileError says that a pickle asks for more than tensors and plain values need. Nothing of such a file is used.
type HostileError struct {
	// Path of the file, or "" where it was not read by path.
	Path string
	// Global is what the pickle names, as module.attribute ("posix.system"), or "" where it names nothing.
	Global string
	// Reason in words.
	Reason string
}

// Error names the file, what it asked for, and that nothing was used.
func (e *HostileError) Error() string {
	what := e.Reason
	if e.Global != "" {
		what = e.Global + ": " + e.Reason
	}
	return fmt.Sprintf("torchfile: %s is refused: its pickle has %s. Nothing of it was used; loading it in Python can run any code", name(e.Path), what)
}

// DamagedError says that a file is not the whole and consistent file it should be.
type DamagedError struct {
	// Path of the file, or "" where it was not read by path.
	Path string
	// Reason in words.
	Reason string
}

// Error names the file and the reason.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("torchfile: %s is damaged: %s", name(e.Path), e.Reason)
}

// UnsupportedError says that a file is well-formed, but holds something this package does not read.
type UnsupportedError struct {
	// Path of the file, or "" where it was not read by path.
	Path string
	// Reason in words, and what to do.
	Reason string
}

// Error names the file and the reason.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("torchfile: %s cannot be read: %s", name(e.Path), e.Reason)
}

func name(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func hostile(global, format string, args ...any) error {
	return &HostileError{Global: global, Reason: fmt.Sprintf(format, args...)}
}

func damaged(format string, args ...any) error {
	return &DamagedError{Reason: fmt.Sprintf(format, args...)}
}

func unsupported(format string, args ...any) error {
	return &UnsupportedError{Reason: fmt.Sprintf(format, args...)}
}

// at puts the path into an error of this package.
func at(path string, err error) error {
	var h *HostileError
	var d *DamagedError
	var u *UnsupportedError
	switch {
	case errors.As(err, &h):
		h.Path = path
	case errors.As(err, &d):
		d.Path = path
	case errors.As(err, &u):
		u.Path = path
	default:
		return fmt.Errorf("torchfile: %s: %w", path, err)
	}
	return err
}
