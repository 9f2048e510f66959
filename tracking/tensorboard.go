package tracking

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// TensorBoard is a [Writer] of one event file, which TensorBoard and everything that imports its logs can read.
// Values are stored in single precision.
type TensorBoard struct {
	sink
	path string
}

// eventFiles counts the event files of this process, the last part of their names.
var eventFiles atomic.Int64

// NewTensorBoard makes the folder dir where it is missing and a new event file in it, named
// events.out.tfevents.<seconds since 1970>.<host>.<process>.<count>. Several files in one folder are one run to
// TensorBoard, so a resumed run makes another file in the same folder.
func NewTensorBoard(dir string, opt Options) (*TensorBoard, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("tracking: making the folder of the event file: %w", err)
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	host = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r <= ' ' {
			return '_'
		}
		return r
	}, host)
	now := opt.now()()
	var file *os.File
	for {
		name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d", now.Unix(), host, os.Getpid(), eventFiles.Add(1)-1)
		file, err = os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("tracking: making an event file: %w", err)
		}
	}
	t := &TensorBoard{path: file.Name()}
	t.start(t.path, file, file, opt, func(dst []byte, s Scalar) []byte {
		return endRecord(appendScalarEvent(beginRecord(dst), s), len(dst))
	})
	t.put(endRecord(appendVersionEvent(beginRecord(nil), now), 0))
	if opt.ResumeStep > 0 {
		t.put(endRecord(appendRestartEvent(beginRecord(nil), now, opt.ResumeStep+1), 0))
	}
	// A reader that looks now finds a valid file.
	if err := t.Flush(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Path returns the path of the event file.
func (t *TensorBoard) Path() string { return t.path }
