// Package convert converts tensors between the files of PyTorch (.pt), safetensors and NumPy (.npz).
//
// Every format is read into a snapshot: tensors by name, and the file's other values. The names of a .pt's tensors are
// the keys on the way to them, joined by "/". Its numbers and texts are kept in the snapshot's Values under "torch", in
// maps and lists like those of the .pt. A safetensors file holds Values and Metadata in its header, a .npz as text in
// an array "__metadata__", and a .pt under the keys "gorl" and "__metadata__".
//
// Element types are kept: a type that a format does not have is an error. Nothing that is read is executed.
//
// convert.go chooses the format, torch.go converts a .pt, numpy.go a .npz.
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

// Format is a file format.
type Format string

// The formats, by their usual file name extension.
const (
	PyTorch     Format = ".pt"
	Safetensors Format = ".safetensors"
	NumPy       Format = ".npz"
)

// FormatOf returns the format of a path's extension.
func FormatOf(path string) (Format, error) {
	switch ext := filepath.Ext(path); ext {
	case ".pt", ".pth", ".bin":
		return PyTorch, nil
	case string(Safetensors):
		return Safetensors, nil
	case string(NumPy):
		return NumPy, nil
	default:
		return "", fmt.Errorf("convert: %s: the extension %q is of no known format; want .pt, .safetensors or .npz",
			path, ext)
	}
}

// Read reads a file of any of the formats. It recognises the format by the contents.
func Read(path string) (*checkpoint.Snapshot, error) {
	format, err := recognize(path)
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
		return s, addPath(path, err)
	case NumPy:
		f, err := npz.Open(path)
		if err != nil {
			return nil, err
		}
		s, err := fromNumPy(f)
		return s, addPath(path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	s, err := checkpoint.DecodeSafetensors(data)
	return s, addPath(path, err)
}

// Write replaces the file at path atomically, in the format of its extension. Equal snapshots give equal bytes. A value
// that the format cannot hold is an error, and the old file stays.
func Write(path string, s *checkpoint.Snapshot) error {
	format, err := FormatOf(path)
	if err != nil {
		return err
	}
	switch format {
	case PyTorch:
		v, err := ToTorch(s)
		if err != nil {
			return addPath(path, err)
		}
		return addPath(path, torchfile.WriteFile(path, v))
	case NumPy:
		arrays, err := toNumPy(s)
		if err != nil {
			return addPath(path, err)
		}
		return checkpoint.WriteFile(path, func(w io.Writer) error { return npz.Write(w, arrays...) })
	}
	return checkpoint.WriteFile(path, func(w io.Writer) error { return checkpoint.EncodeSafetensors(w, s) })
}

func addPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("convert: %s: %w", path, err)
}

// recognize returns the format of a file by its first bytes. Two formats are zip archives: their first entry differs.
func recognize(path string) (Format, error) {
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
