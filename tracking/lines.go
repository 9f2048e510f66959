package tracking

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gorl-dev/gorl/internal/durable"
)

// openLines opens a text log for appending. It keeps the whole lines that are there; with opt.ResumeStep, those up to
// that step. stepOf returns the step of a line, given the line's number from 1. An error of it means that the file is
// another kind of log: openLines returns it and leaves the file as it is.
func openLines(path string, opt Options, stepOf func(line []byte, number int) (int64, error)) (*os.File, error) {
	if err := tidyLines(path, opt, stepOf); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tracking: continuing %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	return file, nil
}

// tidyLines removes a last line without a line break and, with opt.ResumeStep, lines of later steps. A file without
// such lines is not touched; of another the old content stays until the new one is complete.
func tidyLines(path string, opt Options, stepOf func([]byte, int) (int64, error)) error {
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
		return eachLine(in, func(line []byte, number int, whole bool) error {
			if !whole {
				dropped = true
				return nil
			}
			step, err := stepOf(line, number)
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			if opt.ResumeStep > 0 && step > opt.ResumeStep {
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

// eachLine calls f for every line including its line break, with its number from 1; whole is false for a last line
// without one.
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
