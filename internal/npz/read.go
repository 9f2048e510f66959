package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	// MaxBytes is how much data one file may hold after decompression.
	MaxBytes = 1 << 30

	maxDims   = 32 // NumPy's own limit
	maxHeader = 1 << 20
	maxArrays = 1 << 16
	maxEmpty  = 1 << 16
)

var magic = []byte("\x93NUMPY")

// File is the content of a .npz file, or of a .npy file under the name "".
type File struct {
	// Arrays holds every array by name (without ".npy").
	Arrays map[string]*Array
}

// Get returns the named array; its error lists the names that there are.
func (f *File) Get(name string) (*Array, error) {
	if a, ok := f.Arrays[name]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("npz: there is no array %q; there are %s", name, strings.Join(f.Names(), ", "))
}

// Names returns the arrays' names, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Arrays)) }

// Open reads a .npz or .npy file, whichever its content is. Errors name the path and the array.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("npz: %s: not a regular file", path)
	}
	f, err := read(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("npz: %s: %w", path, err)
	}
	return f, nil
}

// Read reads a .npz or .npy file of the given size, whichever its content is. Memory grows with the data
// that is there, not with what headers claim, up to [MaxBytes].
func Read(r io.ReaderAt, size int64) (*File, error) {
	f, err := read(r, size)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	return f, nil
}

func read(r io.ReaderAt, size int64) (*File, error) {
	start := make([]byte, len(magic))
	if n, _ := r.ReadAt(start, 0); n == len(start) && bytes.Equal(start, magic) {
		data, err := readAll(io.NewSectionReader(r, 0, size), MaxBytes)
		if err != nil {
			return nil, err
		}
		a, err := parse("", data)
		if err != nil {
			return nil, err
		}
		return &File{Arrays: map[string]*Array{"": a}}, nil
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("neither a .npy nor a .npz file, or damaged: %w", err)
	}
	if len(z.File) > maxArrays {
		return nil, fmt.Errorf("it has %d arrays, more than %d", len(z.File), maxArrays)
	}
	f := &File{Arrays: make(map[string]*Array)}
	left := int64(MaxBytes)
	for _, entry := range z.File {
		name, isArray := strings.CutSuffix(entry.Name, ".npy")
		if !isArray {
			return nil, fmt.Errorf("entry %q is no array (.npy)", entry.Name)
		}
		if _, twice := f.Arrays[name]; twice {
			return nil, fmt.Errorf("array %q is there twice", name)
		}
		data, err := readEntry(entry, left)
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		left -= int64(len(data))
		if f.Arrays[name], err = parse(name, data); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	return f, nil
}

func readEntry(entry *zip.File, limit int64) ([]byte, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readAll(r, limit)
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the file holds more than %d bytes", int64(MaxBytes))
	}
	return data, nil
}

// parse reads one .npy file; the array's data aliases the input unless it has to be reordered.
func parse(name string, file []byte) (*Array, error) {
	if len(file) < len(magic)+4 || !bytes.Equal(file[:len(magic)], magic) {
		return nil, errors.New("not in NumPy's .npy format")
	}
	version, rest := file[6], file[8:]
	var length int
	switch version {
	case 1:
		length, rest = int(binary.LittleEndian.Uint16(rest)), rest[2:]
	case 2, 3:
		if len(rest) < 4 {
			return nil, errors.New("truncated before its header")
		}
		if n := binary.LittleEndian.Uint32(rest); n <= maxHeader {
			length, rest = int(n), rest[4:]
		} else {
			return nil, fmt.Errorf("header of %d bytes, more than %d", n, maxHeader)
		}
	default:
		return nil, fmt.Errorf("format version %d is not known", version)
	}
	if length > len(rest) {
		return nil, errors.New("truncated inside its header")
	}
	h, err := parseHeader(string(rest[:length]))
	if err != nil {
		return nil, err
	}
	t, err := parseType(h.dtype)
	if err != nil {
		return nil, err
	}
	data := rest[length:]
	want, err := byteCount(h.shape, t.size)
	if err != nil {
		return nil, err
	}
	if len(data) != want {
		return nil, fmt.Errorf("shape %v of %s needs %d bytes, and there are %d", h.shape, h.dtype, want, len(data))
	}
	if h.fortran && len(h.shape) > 1 {
		data = rowMajor(data, h.shape, t.size)
	}
	return &Array{Name: name, DType: h.dtype, Shape: h.shape, data: data}, nil
}

// byteCount multiplies without overflowing, zero sizes or not. A few elements without bytes (strings of no
// characters) are fine, but no data stands for their number, so many are refused.
func byteCount(shape []int, size int) (int, error) {
	n := max(size, 1)
	zero := false
	for _, d := range shape {
		if d == 0 {
			zero = true
			continue
		}
		if d > MaxBytes/n {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n *= d
	}
	if n > MaxBytes || (size == 0 && n > maxEmpty) {
		return 0, fmt.Errorf("shape %v is too large", shape)
	}
	if zero || size == 0 {
		return 0, nil
	}
	return n, nil
}

// rowMajor reorders column-major data.
func rowMajor(data []byte, shape []int, size int) []byte {
	out := make([]byte, 0, len(data))
	strides := make([]int, len(shape))
	stride := size
	for i, d := range shape {
		strides[i] = stride
		stride *= d
	}
	index := make([]int, len(shape))
	for at := 0; len(out) < len(data); {
		out = append(out, data[at:at+size]...)
		for i := len(shape) - 1; i >= 0; i-- {
			index[i]++
			at += strides[i]
			if index[i] < shape[i] {
				break
			}
			at -= shape[i] * strides[i]
			index[i] = 0
		}
	}
	return out
}
