package schedule

// This file stores a schedule as JSON, and reads it back. Reading is strict: a key or a version that this program
// does not know could mean something that it would silently leave out.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gorl-dev/gorl/internal/durable"
)

// schema is the version of the file format.
const schema = 1

// maxFile is the greatest size of a file that is read, in bytes. Schedules have kilobytes, Ray's replay files at most
// some megabytes.
const maxFile = 64 << 20

// document is a schedule as the file has it.
type document struct {
	Schema int `json:"schema"`
	Schedule
}

// Write puts a schedule at path as indented JSON. The file holds the old content or the new one, whatever happens.
func Write(path string, s Schedule) error {
	if err := s.Validate(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(document{schema, s}, "", "  ")
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	if err := durable.WriteFile(path, func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err }); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	return nil
}

// Read reads what Write wrote, and checks it.
func Read(path string) (Schedule, error) {
	file, err := os.Open(path)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule: %w", err)
	}
	defer file.Close()
	s, err := Decode(file)
	if err != nil {
		return Schedule{}, fmt.Errorf("%w (in %s)", err, path)
	}
	return s, nil
}

// Decode reads a schedule of this package's format. A key that the format does not have is an error.
func Decode(r io.Reader) (Schedule, error) {
	data, err := readAll(r)
	if err != nil {
		return Schedule{}, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var d document
	if err := decoder.Decode(&d); err != nil {
		return Schedule{}, fmt.Errorf("schedule: it is not a schedule as JSON: %w", err)
	}
	// The decoder stops after the object. Anything behind it means that two files were joined, or one was written
	// over a longer one.
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Schedule{}, errors.New("schedule: something follows the JSON object")
	}
	if d.Schema != schema {
		return Schedule{}, fmt.Errorf("schedule: the format is %d, this program knows %d", d.Schema, schema)
	}
	return d.Schedule, d.Validate()
}

// readAll reads to the end. More than maxFile bytes are an error, so that a wrong path, such as one to a checkpoint,
// does not fill the memory.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("schedule: longer than %d bytes", maxFile)
	}
	return data, nil
}
