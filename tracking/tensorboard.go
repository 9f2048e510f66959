package tracking

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// tensorBoard is a [Sink] of one event file, which TensorBoard and programs that import its logs can read. Values are
// stored in single precision.
type tensorBoard struct {
	*output
	path   string
	status uint64 // of the session at its end; 0 without a configuration
}

// eventFiles counts the event files of this process, for the last part of their names.
var eventFiles atomic.Int64

const (
	eventPrefix = "events.out.tfevents."
	lastSecond  = 9_999_999_999 // the last one with ten digits (year 2286); longer names sort differently
)

// nextSecond returns the second in the name of a new event file: now, or the second after that of the newest file in
// the folder. TensorBoard reads files in the order of their names, and the file of a resumed run must come last, also
// if it is resumed within a second or by a host whose clock is behind. first is true if the folder has no event file
// yet.
func nextSecond(dir string, now int64) (second int64, first bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, false, fmt.Errorf("tracking: looking for earlier event files: %w", err)
	}
	first = true
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), eventPrefix)
		if !ok {
			continue
		}
		first = false
		text, _, _ := strings.Cut(rest, ".")
		if second, err := strconv.ParseInt(text, 10, 64); err == nil && second >= now && second < lastSecond {
			now = second + 1
		}
	}
	return now, first, nil
}

// newTensorBoard creates an event file in the folder dir. Its name is
// events.out.tfevents.<seconds since 1970>.<host>.<process>.<count>. TensorBoard takes several files in one folder for
// one run and reads them in the order of their names, so a resumed run gets another file with a later second.
func newTensorBoard(dir string, opt Options) (*tensorBoard, error) {
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
	second, first, err := nextSecond(dir, now.Unix())
	if err != nil {
		return nil, err
	}
	var file *os.File
	for {
		name := fmt.Sprintf("%s%010d.%s.%d.%d", eventPrefix, second, host, os.Getpid(), eventFiles.Add(1)-1)
		file, err = os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("tracking: making an event file: %w", err)
		}
	}
	out := newOutput(file.Name(), file, file, opt, func(dst []byte, s Scalar) []byte {
		s.Step = opt.boardStep(s.Step)
		return endRecord(appendScalarEvent(beginRecord(dst), s), len(dst))
	})
	t := &tensorBoard{output: out, path: file.Name()}
	t.put(endRecord(appendVersionEvent(beginRecord(nil), now), 0))
	if opt.ResumeStep > 0 || opt.Restart && !first {
		// TensorBoard takes the first such event for the run's beginning, and discards values only at later ones.
		for range 2 {
			t.put(endRecord(appendRestartEvent(beginRecord(nil), now, opt.boardStep(opt.ResumeStep)+1), 0))
		}
	}
	if opt.Config != nil {
		t.status = sessionSuccess
		t.put(endRecord(appendTableEvent(beginRecord(nil), now, opt.Config), 0))
		t.put(endRecord(appendSessionEvent(beginRecord(nil), now, startTag, startInfo(now, opt.Config)), 0))
	}
	// The file is valid from now on.
	if err := t.Flush(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Finish sets how the run ended: nil is a success, anything else a failure. Close writes it.
func (t *tensorBoard) Finish(err error) {
	if t.mu.Lock(); t.status != 0 {
		t.status = sessionSuccess
		if err != nil {
			t.status = sessionFailure
		}
	}
	t.mu.Unlock()
}

// Close writes the end of the session and closes the file.
func (t *tensorBoard) Close() error {
	t.mu.Lock()
	if t.status != 0 && !t.closed {
		now := t.now()
		t.put(endRecord(appendSessionEvent(beginRecord(nil), now, endTag, endInfo(now, t.status)), 0))
	}
	t.mu.Unlock()
	return t.output.Close()
}
