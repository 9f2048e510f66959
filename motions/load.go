package motions

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/internal/npz"
)

// Load reads a clip of any known format, with the format's default settings; the file's content decides which, not its
// name: DeepMimic's JSON, npz of Isaac Lab, AMASS and gorl ([Clip.Save]), BVH, MimicKit's pickles, and CSV. A file that
// describes a character gives [ErrCharacter].
func Load(path string) (*Clip, error) {
	data, err := readPath(path)
	if err != nil {
		return nil, err
	}
	return load(data, clipName(path), path)
}

func load(data []byte, name, origin string) (*Clip, error) {
	if bytes.HasPrefix(data, []byte("PK")) || bytes.HasPrefix(data, []byte("\x93NUMPY")) {
		file, err := npz.Read(bytes.NewReader(data), int64(len(data)))
		switch {
		case err != nil:
			return nil, fmt.Errorf("motions: %s: %w", origin, err)
		case isOwn(file):
			return ownFile(file, name, origin)
		case isAMASS(file):
			return amass(file, name, origin)
		}
		return isaacLab(file, name, origin)
	}
	if len(data) > 1 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 {
		return parseMimicKit(data, name, origin, nil)
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return parseDeepMimic(data, name, origin, nil)
	case len(text) > 9 && bytes.EqualFold(text[:9], []byte("HIERARCHY")):
		return parseBVH(data, name, origin, BVHConfig{})
	case isCSV(text):
		return parseCSV(data, name, origin, CSVConfig{})
	}
	return nil, fmt.Errorf("motions: %s: %w", origin,
		errors.New("not a clip: neither JSON (DeepMimic), npz (Isaac Lab, AMASS, gorl), BVH, a pickle (MimicKit) nor rows of numbers (CSV)"))
}
