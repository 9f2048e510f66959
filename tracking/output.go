package tracking

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// output is the locked and buffered output of the file writers. encode appends the bytes of a record.
type output struct {
	mu     sync.Mutex
	name   string // of the file, for errors
	buf    *bufio.Writer
	file   *os.File // nil if the caller owns the output
	opt    Options
	now    func() time.Time
	encode func(dst []byte, s Scalar) []byte
	record []byte // reused, so that a scalar does not allocate
	dirty  bool   // data was stored since the last sync
	err    error
	closed bool
}

// newOutput returns an output for w. file is w if Close has to sync and close it, otherwise nil.
func newOutput(name string, w io.Writer, file *os.File, opt Options, encode func([]byte, Scalar) []byte) *output {
	return &output{name: name, buf: bufio.NewWriterSize(w, 1<<16), file: file, opt: opt, now: opt.now(), encode: encode}
}

// Scalar implements [Sink].
func (s *output) Scalar(tag string, step int64, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && s.err == nil {
		s.err = ErrClosed
	}
	if s.err != nil {
		return
	}
	s.record = s.encode(s.record[:0], Scalar{Time: s.now(), Step: step,
		EnvSteps: step * s.opt.StepsPerTimestep, Tag: tag, Value: value})
	s.put(s.record)
}

// put appends bytes to the buffer. The caller holds the lock, or is the only one.
func (s *output) put(b []byte) {
	s.dirty = true
	_, err := s.buf.Write(b)
	s.note(err)
}

// note keeps the first error.
func (s *output) note(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("tracking: writing %s: %w", s.name, err)
	}
}

// Flush implements [Sink].
func (s *output) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

func (s *output) flush() error {
	if s.err == nil && !s.closed {
		s.note(s.buf.Flush())
	}
	return s.err
}

// Sync writes all buffered values to stable storage. It does nothing if no data was stored since the last Sync.
func (s *output) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sync()
}

func (s *output) sync() error {
	if s.flush() == nil && s.file != nil && s.dirty && !s.closed {
		s.note(s.file.Sync())
		s.dirty = false
	}
	return s.err
}

// Close implements [Sink].
func (s *output) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	_ = s.sync() // s.err keeps the error
	s.closed = true
	if s.file != nil {
		s.note(s.file.Close())
	}
	return s.err
}
