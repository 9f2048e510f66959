package tracking

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unique"
)

// ErrTruncated is wrapped by the error of a log that ends within its last record: its writer was interrupted, or is
// still running. The scalars before that record are returned too.
var ErrTruncated = errors.New("the last record is incomplete")

// readEvents reads the scalars of a TensorBoard event file. If a record is damaged or cut off, it returns the scalars
// before it and an error that names the record. A record that the input's end cuts off is [ErrTruncated].
func readEvents(r io.Reader) ([]Scalar, error) {
	var scalars []Scalar
	br := bufio.NewReaderSize(r, 1<<16)
	var buf bytes.Buffer
	var offset int64
	for n := 0; ; n++ {
		data, err := readRecord(br, &buf)
		if errors.Is(err, io.EOF) {
			return scalars, nil
		}
		if err == nil {
			before := len(scalars)
			scalars, err = parseEvent(scalars, data)
			for i := before; i < len(scalars); i++ {
				scalars[i].Tag = unique.Make(scalars[i].Tag).Value() // a log repeats few tags many times
			}
		}
		if err != nil {
			return scalars, fmt.Errorf("tracking: event file: record %d at byte %d: %w", n, offset, err)
		}
		offset += int64(recordHead + len(data) + recordTail)
	}
}

// ReadFile reads the scalars of a file by its name: *.jsonl, or a name that contains "tfevents". Errors name the file
// and the place. The scalars before a damaged place are returned too.
func ReadFile(path string) ([]Scalar, error) {
	var read func(io.Reader) ([]Scalar, error)
	switch name := filepath.Base(path); {
	case strings.HasSuffix(name, ".jsonl"):
		read = readLines
	case strings.Contains(name, "tfevents"):
		read = readEvents
	default:
		return nil, fmt.Errorf("tracking: %s: the name has no known format; want *.jsonl or *tfevents*", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	defer file.Close()
	scalars, err := read(file)
	if err != nil {
		return scalars, fmt.Errorf("%s: %w", path, err)
	}
	return scalars, nil
}
