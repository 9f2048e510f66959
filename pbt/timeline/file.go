package timeline

// This file stores a timeline as JSON. Reading is strict: an unknown key or version is an error, because ignoring it
// could drop something that matters.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gorl-dev/gorl/internal/durable"
)

// schema is the version of the file's format.
const schema = 1

// document is the content of the file.
type document struct {
	Schema int `json:"schema"`
	Timeline
}

// Write stores a timeline as indented JSON. A crash leaves the old file or the new one.
func Write(path string, s Timeline) error {
	if err := s.Validate(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(document{schema, s}, "", "  ")
	if err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	if err := durable.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	}); err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	return nil
}

// Read reads and validates a file that [Write] wrote.
func Read(path string) (Timeline, error) {
	file, err := os.Open(path)
	if err != nil {
		return Timeline{}, fmt.Errorf("timeline: %w", err)
	}
	defer file.Close()
	s, err := Decode(file)
	if err != nil {
		return Timeline{}, fmt.Errorf("%w (in %s)", err, path)
	}
	return s, nil
}

// Decode is [Read] for an open file. An unknown key is an error.
func Decode(r io.Reader) (Timeline, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var d document
	if err := decoder.Decode(&d); err != nil {
		return Timeline{}, fmt.Errorf("timeline: it is not a timeline as JSON: %w", err)
	}
	// Content after the object means that two files were joined, or that one overwrote a longer one.
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Timeline{}, errors.New("timeline: something follows the JSON object")
	}
	if d.Schema != schema {
		return Timeline{}, fmt.Errorf("timeline: the format is %d, this program knows %d", d.Schema, schema)
	}
	return d.Timeline, d.Validate()
}
