package tracking

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unique"

	"github.com/gorl-dev/gorl/internal/durable"
)

// lineFormat is a text format with one scalar per line. JSON lines and CSV share writing, resuming and reading.
type lineFormat struct {
	name   string // for errors
	header string // the first line with its line break, "" if the format has none
	encode func(dst []byte, s Scalar) []byte
	decode func(line []byte) (Scalar, error)
}

// begin returns a writer of a new log. Close does not close w.
func (f *lineFormat) begin(w io.Writer, opt Options) Sink {
	s := newOutput(f.name, w, nil, opt, f.encode)
	s.put([]byte(f.header))
	return s
}

// open returns a writer that appends to the log at path. It keeps complete lines, with opt.ResumeStep those up to that
// step. If a line is not of this format, open returns an error and does not change the file.
func (f *lineFormat) open(path string, opt Options) (Sink, error) {
	if err := f.repair(path, opt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tracking: continuing %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("tracking: %w", err), file.Close())
	}
	s := newOutput(path, file, file, opt, f.encode)
	if info.Size() == 0 {
		s.put([]byte(f.header))
	}
	return s, nil
}

// hasHeader reports whether the line with this number, from 1, is the header.
func (f *lineFormat) hasHeader(number int) bool { return f.header != "" && number == 1 }

// parse reads a line that is not blank. The header must be correct, and gives the zero Scalar.
func (f *lineFormat) parse(line []byte, number int) (Scalar, error) {
	if !f.hasHeader(number) {
		return f.decode(line)
	}
	if want := strings.TrimSpace(f.header); string(bytes.TrimRight(line, "\r\n")) != want {
		return Scalar{}, fmt.Errorf("header %.40q, want %q", line, want)
	}
	return Scalar{}, nil
}

// repair removes a tail that a crash has damaged and, with opt.ResumeStep or opt.Restart, lines of later steps. It
// replaces the file atomically, and does not touch a file without such lines.
func (f *lineFormat) repair(path string, opt Options) error {
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
			s, err := f.parse(line, number)
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

// read returns the scalars of a log. It ignores blank lines. If a line is damaged, read returns the scalars before it
// and an error that names the line. A damaged last line without a line break is [ErrTruncated].
func (f *lineFormat) read(r io.Reader) ([]Scalar, error) {
	var scalars []Scalar
	err := eachLine(r, func(line []byte, number int, whole bool) error {
		header := f.hasHeader(number)
		if !header && len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		s, err := f.parse(line, number)
		if err != nil && !whole {
			err = ErrTruncated
		}
		if err != nil {
			return fmt.Errorf("tracking: %s: line %d: %w", f.name, number, err)
		}
		if !header {
			s.Tag = unique.Make(s.Tag).Value() // a log repeats few tags many times
			scalars = append(scalars, s)
		}
		return nil
	})
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
