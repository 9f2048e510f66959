package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/internal/durable"
)

// File is the journal's name in pbt.Options.Directory, and in a member's folder of a workspace.
const File = "journal.jsonl"

// DiscardedFile collects events that an interrupted run had written after its last saved state. The run that continues
// from that state decides anew, so they are no part of its journal.
const DiscardedFile = "journal.discarded.jsonl"

// maxLine is the longest line in bytes that a reader accepts: it bounds what a damaged journal makes the reader allocate.
const maxLine = 16 << 20

// Writer appends events to a file, or, without one, keeps them in memory. Events and Length are only to be read.
type Writer struct {
	path   string
	file   *os.File // nil: memory only
	Length int64
	Events []Event
}

// Open opens the journal in dir for appending after its first keep bytes, which are what the saved state knows of. Bytes
// after them are moved to [DiscardedFile] where interesting is true, and dropped otherwise. An empty dir keeps events in
// memory only. It is an error where the file is shorter than keep, since events that the state builds on are lost then.
func Open(dir string, keep int64, interesting bool) (j *Writer, err error) {
	if dir == "" {
		return &Writer{}, nil
	}
	path := filepath.Join(dir, File)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	if info.Size() < keep {
		return nil, fmt.Errorf("pbt: %s is shorter than the %d bytes that the saved state knows of: it has %d; restore it or choose another directory", path, keep, info.Size())
	}
	head := make([]byte, keep)
	if _, err := io.ReadFull(file, head); err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	events, err := Decode(bytes.NewReader(head))
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	if interesting {
		tail, err := io.ReadAll(file)
		if err != nil {
			return nil, fmt.Errorf("pbt: journal: %w", err)
		}
		if len(tail) > 0 {
			if tail[len(tail)-1] != '\n' {
				tail = append(tail, '\n')
			}
			if err := appendFile(filepath.Join(dir, DiscardedFile), tail); err != nil {
				return nil, err
			}
		}
	}
	if err := file.Truncate(keep); err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	if err := errors.Join(file.Sync(), durable.SyncDir(dir)); err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	return &Writer{path: path, file: file, Length: keep, Events: events}, nil
}

// Append writes events with one write and one sync. Where that fails the file is cut back to its length before, so that
// it never holds a part of what was appended.
func (j *Writer) Append(events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	if j.file != nil {
		var lines []byte
		for _, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("pbt: journal: %w", err)
			}
			lines = append(append(lines, data...), '\n')
		}
		_, err := j.file.WriteAt(lines, j.Length)
		if err == nil {
			err = j.file.Sync()
		}
		if err != nil {
			return fmt.Errorf("pbt: %s: %w", j.path, errors.Join(err, j.file.Truncate(j.Length)))
		}
		j.Length += int64(len(lines))
	}
	j.Events = append(j.Events, events...)
	return nil
}

func (j *Writer) Close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// Read reads the journal that a population wrote into its directory. See [Decode].
func Read(path string) ([]Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	defer file.Close()
	events, err := Decode(file)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return events, nil
}

// Decode reads events, one JSON object a line. A last line without an end that is not a whole event was torn
// by a crash and is left out; anything else that is not an event is an error that names the line.
func Decode(r io.Reader) ([]Event, error) {
	var events []Event
	reader := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		text, ended, err := readLine(reader)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(text) == 0 && !ended {
			return events, nil
		}
		var e Event
		if err := json.Unmarshal(text, &e); err != nil {
			if !ended {
				return events, nil
			}
			return nil, fmt.Errorf("line %d is not an event: %w", n, err)
		}
		if e.Run != nil && e.Run.Schema != Schema {
			return nil, fmt.Errorf("line %d: the journal's format is %d, this program knows %d", n, e.Run.Schema, Schema)
		}
		events = append(events, e)
		if !ended {
			return events, nil
		}
	}
}

// readLine returns a line without its line feed, and whether it had one: a line without is the last, perhaps torn.
func readLine(r *bufio.Reader) (text []byte, ended bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			return nil, false, fmt.Errorf("longer than %d bytes", maxLine)
		}
		switch {
		case err == nil:
			return text[:len(text)-1], true, nil
		case errors.Is(err, io.EOF):
			return text, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

// appendFile adds data to a file's end and syncs it.
func appendFile(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}
