package tensor

// #cgo noescape gorl_stream_enter
// #cgo nocallback gorl_stream_enter
// #cgo nocallback gorl_stream_leave
// #include "gorl.h"
import "C"

import (
	"cmp"
	"runtime"
	"unsafe"
)

// Stream is an order of work of its own on a CUDA device: what two streams ask of the device may run at once, so that
// agents which learn at the same time share it. A nil Stream stands for the one that everybody has.
type Stream struct{ native unsafe.Pointer }

// NewStream returns a new stream of d, nil where d is not a CUDA device. Close it.
func NewStream(d Device) (*Stream, error) {
	var native unsafe.Pointer
	if msg := C.gorl_stream_new(d.code(), &native); msg != nil {
		return nil, failure("NewStream", msg)
	}
	if native == nil {
		return nil, nil
	}
	return &Stream{native}, nil
}

// Do calls f and returns its error. What f asks of the device goes to the stream: it begins behind what the calling
// goroutine has asked before, and what is asked afterwards begins behind it, so that results may be used as if there
// were no streams. All of it is asked by the goroutine that f runs on.
func (s *Stream) Do(f func() error) (err error) {
	if s == nil {
		return f()
	}
	// The present stream belongs to the OS thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stay unsafe.Pointer
	if msg := C.gorl_stream_enter(s.native, &stay); msg != nil {
		return failure("Stream.Do", msg)
	}
	defer func() { err = cmp.Or(err, failure("Stream.Do", C.gorl_stream_leave(stay))) }()
	return f()
}

// Close releases the stream. It may be called twice, and on nil.
func (s *Stream) Close() {
	if s != nil && s.native != nil {
		C.gorl_stream_free(s.native)
		s.native = nil
	}
}
