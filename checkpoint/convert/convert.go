// Package convert carries tensors between the files of PyTorch (.pt), of safetensors and of NumPy (.npz).
//
// All are read into a snapshot: tensors by name, and what else a file says. In a .pt the names are the keys on the way
// to a tensor, joined by "/"; the tree of dictionaries and lists around the tensors, with the numbers and texts in it,
// is kept in the snapshot's Values under "torch", so that a .pt which has been another format in between is again what
// it was, down to the order of its keys. Values and Metadata live in the header of a safetensors file, in a .npz as
// text in an array "__metadata__", and in a .pt, where they came from none, under the keys "gorl" and "__metadata__".
//
// Element types stay as they are: one that a format does not have is an error. Nothing that is read is executed.
package convert

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/npz"
)

// Format is a kind of file.
type Format string

// The formats, by their usual file name extension.
const (
	PyTorch     Format = ".pt"
	Safetensors Format = ".safetensors"
	NumPy       Format = ".npz"
)

// FormatOf returns the format that a path's extension means.
func FormatOf(path string) (Format, error) {
	switch ext := filepath.Ext(path); ext {
	case ".pt", ".pth", ".bin":
		return PyTorch, nil
	case string(Safetensors):
		return Safetensors, nil
	case string(NumPy):
		return NumPy, nil
	default:
		return "", fmt.Errorf("convert: %s: the extension %q means no format that is known; want .pt, .safetensors or .npz",
			path, ext)
	}
}

// File reads from, whatever its format, and replaces to, in the format that its extension means, by the same tensors.
func File(from, to string) error {
	if _, err := FormatOf(to); err != nil {
		return err
	}
	s, err := Read(from)
	if err != nil {
		return err
	}
	return Write(to, s)
}

// Read reads a file of any of the formats, which it tells by the contents.
func Read(path string) (*checkpoint.Snapshot, error) {
	format, err := contents(path)
	if err != nil {
		return nil, err
	}
	switch format {
	case PyTorch:
		v, err := torchfile.Open(path)
		if err != nil {
			return nil, err
		}
		s, err := FromTorch(v)
		return s, in(path, err)
	case NumPy:
		f, err := npz.Open(path)
		if err != nil {
			return nil, err
		}
		s, err := fromNumPy(f)
		return s, in(path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	s, err := checkpoint.DecodeSafetensors(data)
	return s, in(path, err)
}

// Write replaces the file at path, in the format that its extension means: aside first, synced, then renamed. The same
// snapshot gives the same bytes. What the format cannot hold is an error, and the old file stays.
func Write(path string, s *checkpoint.Snapshot) error {
	format, err := FormatOf(path)
	if err != nil {
		return err
	}
	switch format {
	case PyTorch:
		v, err := ToTorch(s)
		if err != nil {
			return in(path, err)
		}
		return in(path, torchfile.WriteFile(path, v))
	case NumPy:
		arrays, err := toNumPy(s)
		if err != nil {
			return in(path, err)
		}
		return npz.WriteFile(path, arrays...)
	}
	return checkpoint.WriteFile(path, func(w io.Writer) error { return checkpoint.EncodeSafetensors(w, s) })
}

func in(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("convert: %s: %w", path, err)
}

// contents tells the format of a file by how it begins and, of the two that are zip archives, by what is in them.
func contents(path string) (Format, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("convert: %w", err)
	}
	defer f.Close()
	start := make([]byte, 256)
	n, err := io.ReadFull(f, start)
	if n == 0 {
		return "", fmt.Errorf("convert: %s is empty, or cannot be read: %w", path, err)
	}
	start = start[:n]
	switch {
	case bytes.HasPrefix(start, []byte("\x93NUMPY")):
		return NumPy, nil
	case start[0] == 0x80 && n > 8 && start[8] != '{': // a pickle of PyTorch before 1.6: torchfile returns ErrLegacy
		return PyTorch, nil
	case !bytes.HasPrefix(start, []byte("PK")):
		return Safetensors, nil
	}
	if n >= 30 { // the first entry's name follows 30 bytes of its header
		length := int(start[26]) | int(start[27])<<8
		if bytes.HasSuffix(start[30:min(n, 30+length)], []byte(".npy")) {
			return NumPy, nil
		}
	}
	return PyTorch, nil
}
