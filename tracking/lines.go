package tracking

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unique"

	"github.com/gorl-dev/gorl/internal/durable"
)

// openJSONLines returns a sink that appends to the file at path, one JSON object per line. It creates the file if
// necessary.
//
//	{"time":1700000000.250000,"step":1600,"env_steps":12800,"tag":"Loss / Policy loss","value":-0.0125}
//
// The time is in seconds since 1970. env_steps is missing if opt has no StepsPerTimestep. Values keep double precision.
// Those that JSON has no number for are the strings "NaN", "Infinity" and "-Infinity". An incomplete last line is
// removed, and so are the lines beyond opt.ResumeStep if that is set. If a line is not of this form, openJSONLines
// returns an error and does not change the file.
func openJSONLines(path string, opt Options) (Sink, error) {
	if err := repairLines(path, opt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tracking: continuing %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	return newOutput(path, file, file, opt, appendJSON), nil
}

// repairLines removes a tail that a crash has damaged and, with opt.ResumeStep or opt.Restart, lines of later steps. It
// replaces the file atomically, and does not touch a file without such lines.
func repairLines(path string, opt Options) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	dropped := false
	kept := func(out io.Writer) error {
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return err
		}
		torn := false
		return eachLine(in, func(line []byte, number int, whole bool) error {
			// A power cut leaves zeros in place of unsynced data. What follows them was not synced either.
			torn = torn || bytes.IndexByte(line, 0) >= 0
			if !whole || torn {
				dropped = true
				return nil
			}
			s, err := parseJSON(line)
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			if opt.cuts() && s.Step > opt.ResumeStep {
				dropped = true
				return nil
			}
			_, err = out.Write(line)
			return err
		})
	}
	if err := kept(io.Discard); err != nil || !dropped {
		return err
	}
	return durable.WriteFile(path, kept)
}

// readLines returns the scalars of JSON lines. It ignores blank lines. If a line is damaged, readLines returns the
// scalars before it and an error that names the line. A damaged last line without a line break is [ErrTruncated].
func readLines(r io.Reader) (scalars []Scalar, err error) {
	_, err = decodeLines(r, true, func(s Scalar) { scalars = append(scalars, s) })
	return scalars, err
}

// eachLine calls f for every line including its line break, with its number from 1. whole is false for a last line
// without line break.
func eachLine(r io.Reader, f func(line []byte, number int, whole bool) error) error {
	br := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, err := br.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) > 0 {
			if err := f(line, number, bytes.HasSuffix(line, []byte{'\n'})); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// DecodeLines calls each for the scalar of every whole JSON line of r, and returns the number of bytes of these lines.
// A reader that follows a file continues there. A last line without a line break, which may be in progress, is not
// read. After a damaged line DecodeLines stops with an error.
func DecodeLines(r io.Reader, each func(Scalar)) (n int64, err error) {
	return decodeLines(r, false, each)
}

// decodeLines is [DecodeLines], with last also for a last line without a line break.
func decodeLines(r io.Reader, last bool, each func(Scalar)) (n int64, err error) {
	err = eachLine(r, func(line []byte, number int, whole bool) error {
		if !whole && !last {
			return nil
		}
		if len(bytes.TrimSpace(line)) > 0 {
			s, err := parseJSON(line)
			if err != nil && !whole {
				err = ErrTruncated
			}
			if err != nil {
				return fmt.Errorf("tracking: JSON lines: line %d after byte %d: %w", number, n, err)
			}
			s.Tag = unique.Make(s.Tag).Value() // a log repeats few tags many times
			each(s)
		}
		n += int64(len(line))
		return nil
	})
	return n, err
}
