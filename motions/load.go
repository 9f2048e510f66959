package motions

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/internal/npz"
)

// Load reads a clip of any known format; the file's content decides which, not its name. A file that
// describes a character gives [ErrCharacter].
func Load(path string) (*Clip, error) {
	data, err := readPath(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte("PK")) || bytes.HasPrefix(data, []byte("\x93NUMPY")) {
		file, err := npz.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("motions: %s: %w", path, err)
		}
		return isaacLab(file, clipName(path), path)
	}
	if text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n"); bytes.HasPrefix(text,
		[]byte("{")) {
		return parseDeepMimic(data, clipName(path), path, nil)
	}
	return nil, fmt.Errorf("motions: %s: %w", path,
		errors.New("neither a DeepMimic clip (JSON) nor an Isaac Lab one (npz)"))
}
