package motions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxFile is how large a JSON file may be.
const maxFile = 256 << 20

// ErrCharacter is what errors.Is finds when a file read as a clip describes a character instead
// ([LoadCharacter] reads those).
var ErrCharacter = errors.New("a character's description, not a clip: read it with LoadCharacter")

// document is the content of a DeepMimic file before anything is made of it.
type document struct {
	values map[string]json.RawMessage // every key but Frames
	frames [][]float64                // NaN and infinities as written, refused later by the column's name
}

// scanDocument splits a JSON object into its values. Frames are read by hand, so that an error can say
// which frame and value it is about; encoding/json only knows an offset.
func scanDocument(data []byte) (*document, error) {
	s := &jsonScanner{data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	doc := &document{values: make(map[string]json.RawMessage)}
	if !s.take('{') {
		return nil, errors.New("not a JSON object")
	}
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return nil, s.malformed("',' or '}'")
		}
		var key string
		raw, err := s.value()
		if err != nil || raw[0] != '"' || json.Unmarshal(raw, &key) != nil {
			return nil, s.malformed("a key")
		}
		if !s.take(':') {
			return nil, s.malformed("':'")
		}
		if _, twice := doc.values[key]; twice || (key == "Frames" && doc.frames != nil) {
			return nil, fmt.Errorf("%q is there twice", key)
		}
		if key == "Frames" {
			if doc.frames, err = s.frames(); err != nil {
				return nil, err
			}
			continue
		}
		if doc.values[key], err = s.value(); err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
	}
	s.space()
	if s.at < len(s.data) {
		return nil, s.malformed("the end of the file")
	}
	return doc, nil
}

type jsonScanner struct {
	data []byte
	at   int
}

func (s *jsonScanner) space() {
	for s.at < len(s.data) && strings.IndexByte(" \t\r\n", s.data[s.at]) >= 0 {
		s.at++
	}
}

// take skips space and then, if it is next, the given byte.
func (s *jsonScanner) take(b byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == b {
		s.at++
		return true
	}
	return false
}

func (s *jsonScanner) malformed(want string) error {
	line := 1 + bytes.Count(s.data[:s.at], []byte("\n"))
	if s.at >= len(s.data) {
		return fmt.Errorf("truncated at line %d, where %s should be", line, want)
	}
	return fmt.Errorf("malformed JSON at line %d near %q, where %s should be", line,
		s.data[s.at:min(s.at+12, len(s.data))], want)
}

// value takes one whole JSON value.
func (s *jsonScanner) value() (json.RawMessage, error) {
	s.space()
	d := json.NewDecoder(bytes.NewReader(s.data[s.at:]))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("truncated")
		}
		return nil, err
	}
	s.at += int(d.InputOffset())
	return raw, nil
}

func (s *jsonScanner) frames() ([][]float64, error) {
	if !s.take('[') {
		return nil, errors.New(`"Frames" is not a list`)
	}
	frames := [][]float64{}
	for !s.take(']') {
		k := len(frames)
		if k > 0 && !s.take(',') {
			return nil, fmt.Errorf("after frame %d: %w", k-1, s.malformed("',' or ']'"))
		}
		if !s.take('[') {
			return nil, fmt.Errorf("frame %d is no list of numbers: %w", k, s.malformed("'['"))
		}
		var frame []float64
		if k > 0 {
			frame = make([]float64, 0, len(frames[k-1]))
		}
		for !s.take(']') {
			if len(frame) > 0 && !s.take(',') {
				return nil, fmt.Errorf("frame %d, after value %d: %w", k, len(frame)-1, s.malformed("',' or ']'"))
			}
			x, err := s.number()
			if err != nil {
				return nil, fmt.Errorf("frame %d: value %d: %w", k, len(frame), err)
			}
			frame = append(frame, x)
		}
		if k > 0 && len(frame) != len(frames[0]) {
			return nil, fmt.Errorf("frame %d has %d values, frame 0 has %d", k, len(frame), len(frames[0]))
		}
		if len(frame) == 0 {
			return nil, fmt.Errorf("frame %d is empty", k)
		}
		frames = append(frames, frame)
	}
	return frames, nil
}

func (s *jsonScanner) number() (float64, error) {
	s.space()
	end := s.at
	for end < len(s.data) && strings.IndexByte(",[]{}:\" \t\r\n", s.data[end]) < 0 {
		end++
	}
	token := string(s.data[s.at:end])
	if token == "" {
		return 0, s.malformed("a number")
	}
	switch token { // what Python's json writes
	case "NaN":
		s.at = end
		return math.NaN(), nil
	case "Infinity", "-Infinity":
		s.at = end
		return math.Inf(1 - 2*strings.Count(token, "-")), nil
	}
	x, err := strconv.ParseFloat(token, 64)
	if errors.Is(err, strconv.ErrRange) { // too large: an infinity
		err = nil
	}
	if err != nil || strings.Trim(token, "+-.eE0123456789") != "" {
		return 0, fmt.Errorf("%.20q is not a number", token)
	}
	s.at = end
	return x, nil
}

// readLimited reads a whole file of at most maxFile bytes.
func readLimited(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	return data, nil
}

func readPath(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("motions: %w", err)
	}
	defer f.Close()
	data, err := readLimited(f)
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", path, err)
	}
	return data, nil
}

// clipName is a file's base name without its ending.
func clipName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
