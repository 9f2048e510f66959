package motions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/npz"
)

// maxFile is the largest size of a file in bytes.
const maxFile = 256 << 20

// byteOrderMark begins some text files.
const byteOrderMark = "\xef\xbb\xbf"

// Load reads a clip from a file of any known format, with the format's default settings. The content decides the
// format, not the file's name: DeepMimic's JSON, npz of Isaac Lab, mjlab, AMASS and gorl ([Clip.Save]), BVH, MimicKit's
// pickles, and CSV. The clip is named after the file. An error names the file, the line or frame, and the value.
func Load(path string) (*Clip, error) { return loadWith(path, parse) }

// parser makes a clip of a file's content.
type parser func(data []byte, name string) (*Clip, error)

// loadWith reads the file at path with the parser of its format.
func loadWith(path string, parse parser) (*Clip, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("motions: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	if err != nil {
		return nil, named(path, err)
	}
	base := filepath.Base(path)
	c, err := parse(data, strings.TrimSuffix(base, filepath.Ext(base)))
	return c, named(path, err)
}

// parse reads a clip of any known format.
func parse(data []byte, name string) (*Clip, error) {
	if bytes.HasPrefix(data, []byte("PK")) || bytes.HasPrefix(data, []byte("\x93NUMPY")) {
		return parseNpz(data, name)
	}
	if len(data) > 1 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 {
		return parseMimicKit(data, name)
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte(byteOrderMark)), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return parseDeepMimic(data, name, nil)
	case len(text) > 9 && bytes.EqualFold(text[:9], []byte("HIERARCHY")):
		return parseBVH(data, name, BVHConfig{})
	case isCSV(text):
		return parseCSV(data, name, CSVConfig{})
	}
	return nil, errors.New("not a clip: neither JSON (DeepMimic), npz (Isaac Lab, mjlab, AMASS, gorl), BVH, a pickle " +
		"(MimicKit) nor rows of numbers (CSV)")
}

// parseNpz reads a clip of a NumPy file. The names of the arrays decide the format.
func parseNpz(data []byte, name string) (*Clip, error) {
	file, err := npz.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	r := &npzReader{file: file}
	has := func(name string) bool { return file.Arrays[name] != nil }
	switch {
	case has("qpos") && has("skeleton"):
		return parseSaved(r, name)
	case has("poses") && has("trans"):
		return parseAMASS(r, name)
	case has("joint_pos") && has("body_pos_w"):
		return parseMJLab(r, name)
	}
	return parseIsaacLab(r, name)
}

// npzReader reads arrays of a file and keeps its first error.
type npzReader struct {
	file *npz.File
	err  error
}

func (r *npzReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// array returns a named array. After an error it returns nil.
func (r *npzReader) array(name string) *npz.Array {
	a := r.file.Arrays[name]
	if a == nil {
		r.fail("missing array %s; there are %s", name, strings.Join(r.file.Names(), ", "))
	}
	if r.err != nil {
		return nil
	}
	return a
}

// numbers returns the values of a named array. The shape must be the given one, in which -1 stands for any size but 0.
func (r *npzReader) numbers(name string, shape ...int) []float64 {
	a := r.array(name)
	if a == nil {
		return nil
	}
	fits := func(have, want int) bool { return have == want || want == -1 && have > 0 }
	if !slices.EqualFunc(a.Shape, shape, fits) {
		r.fail("%s has shape %v, want %s", name, a.Shape, strings.ReplaceAll(fmt.Sprint(shape), "-1", "N"))
		return nil
	}
	values, err := a.Float64s()
	if err != nil {
		r.fail("%s must hold numbers, and has dtype %s", name, a.DType)
	}
	return values
}

// number returns the one value of an array of any shape.
func (r *npzReader) number(name string) float64 {
	a := r.array(name)
	if a == nil {
		return 0
	}
	x, err := a.Float64s()
	if err != nil || len(x) != 1 {
		r.fail("%s has dtype %s and shape %v, want a single number", name, a.DType, a.Shape)
		return 0
	}
	return x[0]
}

// step returns the time between frames, of a rate in frames a second.
func (r *npzReader) step(rate string) float64 {
	fps := r.number(rate)
	step := 1 / fps
	if !(step > 0) || infinite(step) {
		r.fail("%s must be positive and finite, and is %g", rate, fps)
	}
	return step
}

// words returns the strings of an array.
func (r *npzReader) words(name string) []string {
	a := r.array(name)
	if a == nil {
		return nil
	}
	words, err := a.Strings()
	if err != nil || len(words) == 0 {
		r.fail("%s must hold strings, and has dtype %s and shape %v", name, a.DType, a.Shape)
	}
	return words
}

// cutRows cuts values into rows of a width.
func cutRows(values []float64, width int) [][]float64 {
	return slices.Collect(slices.Chunk(values, width))
}

// evenly returns n equal durations.
func evenly(n int, step float64) []float64 { return slices.Repeat([]float64{step}, n) }
