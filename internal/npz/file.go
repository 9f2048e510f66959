package npz

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxBytes is the largest size of a file's data after decompression.
	MaxBytes = 1 << 30

	maxDims   = 32 // NumPy's own limit
	maxHeader = 1 << 20
	maxArrays = 1 << 16
	maxEmpty  = 1 << 16
)

const magic = "\x93NUMPY"

// File is the content of a .npz file, or of a .npy file under the name "".
type File struct {
	// Arrays holds every array by name (without ".npy").
	Arrays map[string]*Array
}

// Names returns the arrays' names, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Arrays)) }

// Open reads a .npz or .npy file; the content decides which. Errors name the path and the array.
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
	f, err := Read(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Read reads a .npz or .npy file of the given size; the content decides which. Memory grows with the data that is
// there, not with what headers claim, up to [MaxBytes].
func Read(r io.ReaderAt, size int64) (_ *File, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("npz: %w", err)
		}
	}()
	f := &File{Arrays: make(map[string]*Array)}
	left := int64(MaxBytes)
	add := func(name string, r io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(r, left+1))
		if err == nil && int64(len(data)) > left {
			err = fmt.Errorf("the file holds more than %d bytes", int64(MaxBytes))
		}
		if err == nil {
			left -= int64(len(data))
			f.Arrays[name], err = parse(name, data)
		}
		return err
	}
	start := make([]byte, len(magic))
	if n, _ := r.ReadAt(start, 0); string(start[:n]) == magic {
		return f, add("", io.NewSectionReader(r, 0, size))
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("neither a .npy nor a .npz file, or damaged: %w", err)
	}
	if len(z.File) > maxArrays {
		return nil, fmt.Errorf("it has %d arrays, more than %d", len(z.File), maxArrays)
	}
	for _, entry := range z.File {
		name, isArray := strings.CutSuffix(entry.Name, ".npy")
		if !isArray {
			return nil, fmt.Errorf("entry %q is no array (.npy)", entry.Name)
		}
		if _, twice := f.Arrays[name]; twice {
			return nil, fmt.Errorf("array %q is there twice", name)
		}
		r, err := entry.Open()
		if err == nil {
			err = errors.Join(add(name, r), r.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	return f, nil
}

// headerText is the Python dict at the start of a .npy file, with the keys in NumPy's order.
var headerText = regexp.MustCompile(`^\{ *'descr' *: *'([^'\\]*)' *, *'fortran_order' *: *(True|False) *, *` +
	`'shape' *: *\(([0-9L, ]*)\) *,? *\}[ \n]*$`)

// parse reads one .npy file. The array's data aliases the input unless it has to be reordered.
func parse(name string, file []byte) (*Array, error) {
	if len(file) < len(magic)+6 || string(file[:len(magic)]) != magic {
		return nil, errors.New("not in NumPy's .npy format, or truncated before its header")
	}
	length, rest := 0, file[len(magic)+2:]
	switch version := file[len(magic)]; version {
	case 1:
		length, rest = int(little.Uint16(rest)), rest[2:]
	case 2, 3:
		length, rest = int(little.Uint32(rest)), rest[4:]
	default:
		return nil, fmt.Errorf("format version %d is not known", version)
	}
	if length > len(rest) || length > maxHeader {
		return nil, fmt.Errorf("header of %d bytes: truncated, or longer than %d", length, maxHeader)
	}
	text, data := string(rest[:length]), rest[length:]
	fields := headerText.FindStringSubmatch(text)
	if fields == nil {
		if strings.Contains(text, "'descr': [") {
			return nil, errors.New("it is a structured array, which is not supported; save its fields one by one")
		}
		return nil, fmt.Errorf("malformed header %.120q", text)
	}
	a := &Array{Name: name, DType: fields[1], Shape: []int{}}
	size, err := elementSize(a.DType)
	if err != nil {
		return nil, err
	}
	for _, word := range strings.FieldsFunc(fields[3], func(r rune) bool { return r == ',' || r == ' ' }) {
		d, err := strconv.Atoi(strings.TrimSuffix(word, "L")) // long integers of Python 2
		if err != nil || len(a.Shape) == maxDims {
			return nil, fmt.Errorf("the shape (%.120s) is not a tuple of at most %d sizes", fields[3], maxDims)
		}
		a.Shape = append(a.Shape, d)
	}
	want, err := countBytes(a.Shape, size)
	if err != nil {
		return nil, err
	}
	if len(data) != want {
		return nil, fmt.Errorf("shape %v of %s needs %d bytes, and there are %d", a.Shape, a.DType, want, len(data))
	}
	if a.data = data; fields[2] == "True" && len(a.Shape) > 1 {
		strides := make([]int, len(a.Shape))
		for i, next := 0, 1; i < len(strides); i++ {
			strides[i], next = next, next*a.Shape[i]
		}
		a.data = RowMajor(data, size, a.Shape, strides)
	}
	return a, nil
}

// countBytes multiplies without overflow. Elements without bytes (strings of no characters) are limited in number,
// because no data stands for them.
func countBytes(shape []int, size int) (int, error) {
	n := max(size, 1)
	zero := size == 0
	for _, d := range shape {
		switch {
		case d == 0:
			zero = true
		case d > MaxBytes/n:
			return 0, fmt.Errorf("shape %v is too large", shape)
		default:
			n *= d
		}
	}
	if size == 0 && n > maxEmpty {
		return 0, fmt.Errorf("shape %v is too large", shape)
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// RowMajor returns the elements, of size bytes each, of an array in row-major order. The first element begins the data,
// strides count elements.
func RowMajor[T int | int64](data []byte, size T, shape, strides []T) []byte {
	n := size
	for _, d := range shape {
		n *= d
	}
	out, index := make([]byte, 0, n), make([]T, len(shape))
	for at := T(0); T(len(out)) < n; {
		out = append(out, data[at*size:(at+1)*size]...)
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

// Write writes arrays as a .npz file, uncompressed. The same arrays give the same bytes.
func Write(w io.Writer, arrays ...*Array) error {
	z := zip.NewWriter(w)
	seen := make(map[string]bool, len(arrays))
	for _, a := range arrays {
		if seen[a.Name] {
			return fmt.Errorf("npz: two arrays are named %q", a.Name)
		}
		seen[a.Name] = true
		entry, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
		for _, part := range [][]byte{a.header(), a.data} {
			if err == nil {
				_, err = entry.Write(part)
			}
		}
		if err != nil {
			return a.fail("%w", err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	return nil
}

// header returns what a .npy file has before its data, a multiple of 64 bytes.
func (a *Array) header() []byte {
	shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Shape), "[]"), " ", ", ")
	if len(a.Shape) == 1 {
		shape += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", a.DType, shape)
	pad := 64 - (len(magic)+4+len(text)+1)%64
	text += strings.Repeat(" ", pad) + "\n"
	return append(little.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(text))), text...)
}
