package motions

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gorl-dev/gorl/internal/npz"
)

// Load reads a clip of any known format, with the format's default settings; the file's content decides which, not its
// name: DeepMimic's JSON, npz of Isaac Lab, AMASS and gorl ([Clip.Save]), BVH, MimicKit's pickles, and CSV. A file that
// describes a character gives [ErrCharacter].
func Load(path string) (*Clip, error) { return loadWith(path, parse) }

// load reads a clip of any known format; errors begin with its origin.
func load(data []byte, name, origin string) (*Clip, error) {
	c, err := parse(data, name)
	return from(origin, c, err)
}

func parse(data []byte, name string) (*Clip, error) {
	if bytes.HasPrefix(data, []byte("PK")) || bytes.HasPrefix(data, []byte("\x93NUMPY")) {
		file, err := npz.Read(bytes.NewReader(data), int64(len(data)))
		switch {
		case err != nil:
			return nil, err
		case isOwn(file):
			return ownClip(file, name)
		case isAMASS(file):
			return amassClip(file, name)
		}
		return isaacClip(file, name)
	}
	if len(data) > 1 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 {
		return mimicKitClip(data, name, nil)
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return deepMimicClip(data, name, nil)
	case len(text) > 9 && bytes.EqualFold(text[:9], []byte("HIERARCHY")):
		return bvhClip(data, name, BVHConfig{})
	case isCSV(text):
		return csvClip(data, name, CSVConfig{})
	}
	return nil, errors.New("not a clip: neither JSON (DeepMimic), npz (Isaac Lab, AMASS, gorl), BVH, a pickle (MimicKit) nor rows of numbers (CSV)")
}

// loadWith reads the file at path with the parser of its format. The clip is named after the file.
func loadWith(path string, parse func(data []byte, name string) (*Clip, error)) (*Clip, error) {
	data, err := readPath(path)
	if err != nil {
		return nil, err
	}
	c, err := parse(data, clipName(path))
	return from(path, c, err)
}

// readWith reads a clip of a name with the parser of its format.
func readWith(r io.Reader, name string, parse func(data []byte, name string) (*Clip, error)) (*Clip, error) {
	data, err := readLimited(r)
	if err != nil {
		return from(nameOr(name), nil, err)
	}
	c, err := parse(data, name)
	return from(nameOr(name), c, err)
}

// loadNpz is loadWith for npz files.
func loadNpz(path string, parse func(file *npz.File, name string) (*Clip, error)) (*Clip, error) {
	file, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("motions: %w", err)
	}
	c, err := parse(file, clipName(path))
	return from(path, c, err)
}

// readNpz is readWith for npz files.
func readNpz(r io.ReaderAt, size int64, name string, parse func(file *npz.File, name string) (*Clip, error)) (*Clip, error) {
	file, err := npz.Read(r, size)
	if err != nil {
		return from(nameOr(name), nil, err)
	}
	c, err := parse(file, name)
	return from(nameOr(name), c, err)
}

// from is a clip that was made of what has a name, or the error of that, which begins with the name.
func from(origin string, c *Clip, err error) (*Clip, error) {
	if err != nil {
		return nil, fmt.Errorf("motions: %s: %w", origin, err)
	}
	return c, nil
}
