package distributed

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net"
	"time"
)

// Ranks send each other frames: a header and a payload. Every read and write has a deadline.

// kind is the kind of a frame's payload.
type kind uint32

const (
	kindSum       kind = 1 + iota // a rank's own numbers
	kindTotal                     // numbers of all ranks, added up
	kindBroadcast                 // a tensor of one rank
	kindBytes                     // bytes of any length
	kindLeft                      // the sender has left the others; the payload says why
	kindWaiting                   // a rank did not answer the sender in time; the payload says so
)

// String names the operation for errors.
func (k kind) String() string {
	switch k {
	case kindSum, kindTotal:
		return "a sum"
	case kindBroadcast:
		return "a broadcast"
	case kindBytes:
		return "an exchange"
	}
	return fmt.Sprintf("frame %d", uint32(k))
}

const (
	headerSize = 24
	// small is the largest payload in bytes that is sent without a goroutine: the system's buffers hold it.
	small = 16 << 10
	// longest limits a payload, so that a broken header cannot exhaust the memory.
	longest = 4 << 30
	// longestReason is the largest size of the reason that a rank sends when it ends.
	longestReason = 64 << 10
)

// frame is the header of a frame.
type frame struct {
	kind kind
	rank int    // of kindWaiting: the rank waited for
	op   uint64 // counts the sender's operations
	size uint64 // of the payload in bytes
	text string // the payload of kindLeft and kindWaiting
}

// control reports whether the frame is of a kind that belongs to no operation.
func (f frame) control() bool { return f.kind == kindLeft || f.kind == kindWaiting }

// link is the connection to one other rank. A read that a deadline has interrupted can be continued.
type link struct {
	rank    int
	conn    net.Conn
	in      *bufio.Reader
	head    [headerSize]byte // of the frame being read
	have    int              // the bytes of head that are read
	left    uint64           // the bytes of the payload that are not read
	out     []byte
	writing chan error // receives the result of a write that a goroutine does; nil if there is none
	torn    bool       // a write has ended within a frame
}

func newLink(rank int, conn net.Conn) *link {
	return &link{rank: rank, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// linkError is the error of a failed read or write, or of a frame that ends the operation.
type linkError struct {
	rank int
	err  error
	said *frame // the frame that ended the operation
}

func (e *linkError) Error() string { return fmt.Sprintf("rank %d: %v", e.rank, e.err) }
func (e *linkError) Unwrap() error { return e.err }

// fail wraps an error of the link.
func (l *link) fail(err error) error { return &linkError{rank: l.rank, err: err} }

// send writes a frame. A goroutine writes a large one; it has ended when flush returns.
func (l *link) send(f frame, payload []byte) error {
	head := l.out[:0]
	head = binary.BigEndian.AppendUint32(head, uint32(f.kind))
	head = binary.BigEndian.AppendUint32(head, uint32(f.rank))
	head = binary.BigEndian.AppendUint64(head, f.op)
	head = binary.BigEndian.AppendUint64(head, uint64(len(payload)))
	if len(payload) <= small {
		l.out = append(head, payload...)
		return l.write(l.out)
	}
	l.out, l.writing = head, make(chan error, 1)
	go func(done chan<- error) {
		err := l.write(head)
		if err == nil {
			err = l.write(payload)
		}
		done <- err
	}(l.writing)
	return nil
}

func (l *link) write(b []byte) error {
	if _, err := l.conn.Write(b); err != nil {
		l.torn = true
		return l.fail(err)
	}
	return nil
}

// flush waits for the write that send has begun.
func (l *link) flush() (err error) {
	if l.writing != nil {
		err = <-l.writing
		l.writing = nil
	}
	return err
}

// next reads the next header.
func (l *link) next() (frame, error) {
	n, err := io.ReadFull(l.in, l.head[l.have:])
	if l.have += n; err != nil {
		return frame{}, l.fail(err)
	}
	l.have = 0
	f := frame{
		kind: kind(binary.BigEndian.Uint32(l.head[:])), rank: int(binary.BigEndian.Uint32(l.head[4:])),
		op: binary.BigEndian.Uint64(l.head[8:]), size: binary.BigEndian.Uint64(l.head[16:]),
	}
	if f.size > longest || f.control() && f.size > longestReason {
		return f, l.fail(fmt.Errorf("a frame of %d bytes; want %d or less", f.size, longest))
	}
	l.left = f.size
	return f, nil
}

// read fills b from the payload of the frame whose header was read last.
func (l *link) read(b []byte) error {
	n, err := io.ReadFull(l.in, b)
	l.left -= uint64(n)
	if err != nil {
		return l.fail(err)
	}
	return nil
}

// expect reads the header of a frame of an operation. A size below 0 allows any.
func (l *link) expect(want frame, size int) (int, error) {
	f, err := l.next()
	if err != nil {
		return 0, err
	}
	if f.control() {
		if err := l.readText(&f); err != nil {
			return 0, err
		}
		return 0, &linkError{rank: l.rank, err: fmt.Errorf("it has ended the operation"), said: &f}
	}
	if f.kind != want.kind || f.op != want.op || size >= 0 && f.size != uint64(size) {
		own := ""
		if size >= 0 {
			own = fmt.Sprintf(" of %d bytes", size)
		}
		return 0, fmt.Errorf("operation %d of rank %d is %v of %d bytes, operation %d of this rank is %v%s; run the "+
			"same program with the same settings on all ranks", f.op, l.rank, f.kind, f.size, want.op, want.kind, own)
	}
	return int(f.size), nil
}

// readText reads the payload of a frame as its text.
func (l *link) readText(f *frame) error {
	b := make([]byte, f.size)
	err := l.read(b)
	f.text = string(b)
	return err
}

// control skips frames of operations and returns the next control frame, or nil if none comes before the deadline.
func (l *link) control() *frame {
	if _, err := l.in.Discard(int(l.left)); err != nil {
		return nil
	}
	for {
		f, err := l.next()
		switch {
		case err != nil:
			return nil
		case f.control():
			if l.readText(&f) != nil {
				return nil
			}
			return &f
		}
		if n, err := l.in.Discard(int(f.size)); err != nil {
			l.left -= uint64(n)
			return nil
		}
	}
}

// until sets the deadline of all reads and writes.
func (l *link) until(t time.Time) { _ = l.conn.SetDeadline(t) } // a closed connection fails later

// links are a rank's connections to the other ranks, indexed by rank. The entry of the rank itself is nil. An entry
// whose connection failed is nil, too.
type links []*link

// others yields the ranks to which there is a connection, with their links.
func (all links) others() iter.Seq2[int, *link] {
	return func(yield func(int, *link) bool) {
		for r, l := range all {
			if l != nil && !yield(r, l) {
				return
			}
		}
	}
}

// until sets the deadline of all links.
func (all links) until(t time.Time) {
	for _, l := range all.others() {
		l.until(t)
	}
}

// flush waits until everything is sent. It returns the first error.
func (all links) flush() (err error) {
	for _, l := range all.others() {
		err = cmp.Or(err, l.flush())
	}
	return err
}

// close closes the connections.
func (all links) close() {
	for _, l := range all.others() {
		_ = l.conn.Close() // all frames are sent, or lost
	}
}
