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

// ErrTruncated is returned, wrapped, with the scalars before it, where a log ends inside its last record: its writer
// was interrupted, or is still at work.
var ErrTruncated = errors.New("the last record is incomplete")

// ReadEvents reads the scalars of a TensorBoard event file. Where a record is damaged or cut off, the scalars before
// it are returned together with an error that says which one; a record cut off by the end of the input is
// [ErrTruncated].
func ReadEvents(r io.Reader) ([]Scalar, error) {
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
				scalars[i].Tag = one(scalars[i].Tag)
			}
		}
		if err != nil {
			return scalars, fmt.Errorf("tracking: event file: record %d at byte %d: %w", n, offset, err)
		}
		offset += int64(recordHead + len(data) + recordTail)
	}
}

// one returns a tag in memory that all equal tags share: a log repeats few of them many times.
func one(tag string) string { return unique.Make(tag).Value() }

// ReadJSONLines reads what [JSONLines] wrote. Fields other than time, step, tag and value are ignored. Where a line is
// damaged, the scalars before it are returned together with an error that names it; a damaged last line without a
// line break is [ErrTruncated].
func ReadJSONLines(r io.Reader) ([]Scalar, error) { return jsonFormat.read(r) }

// ReadCSV reads what [CSV] wrote, with errors as [ReadJSONLines] has them.
func ReadCSV(r io.Reader) ([]Scalar, error) { return csvFormat.read(r) }

// ReadFile reads the scalars of a file by its name: *.jsonl, *.csv, or a name with "tfevents" in it. Errors name the
// file; as with the readers themselves, scalars before a damaged place are returned too.
func ReadFile(path string) ([]Scalar, error) {
	var read func(io.Reader) ([]Scalar, error)
	switch name := filepath.Base(path); {
	case strings.HasSuffix(name, ".jsonl"):
		read = ReadJSONLines
	case strings.HasSuffix(name, ".csv"):
		read = ReadCSV
	case strings.Contains(name, "tfevents"):
		read = ReadEvents
	default:
		return nil, fmt.Errorf("tracking: %s: the name says no format; want *.jsonl, *.csv or *tfevents*", path)
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
