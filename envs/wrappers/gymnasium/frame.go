package gymnasium

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// A message to a child is its length and its bytes: JSON, after the Python programs that are sent first. A message
// from a child is two lengths, the JSON (head) and the bytes that follow it (payload), such as pixels. Lengths are
// little-endian uint32.
//
// maxHead and maxPayload bound the lengths in bytes that a child may announce, 64 MiB and 1 GiB. Children are user
// code, and a broken one must not make this process allocate without end.
const (
	maxHead    = 1 << 26
	maxPayload = 1 << 30
)

// sendFrame writes a message to a child before a deadline. A child that does not read leaves the pipe full, and the
// write would block.
func sendFrame(to *os.File, message []byte, deadline time.Time) error {
	if err := to.SetWriteDeadline(deadline); err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(message)), uint32(len(message)))
	_, err := to.Write(append(b, message...))
	return err
}

// readFrame reads a message: head is valid JSON, payload may be empty. It takes no more memory than bytes arrive,
// whatever lengths are announced.
func readFrame(from io.Reader) (head, payload []byte, err error) {
	var sizes [2]uint32
	if err := binary.Read(from, binary.LittleEndian, &sizes); err != nil {
		return nil, nil, err
	}
	m, n := sizes[0], sizes[1]
	if m > maxHead || n > maxPayload {
		return nil, nil, fmt.Errorf("a message is said to have %d and %d bytes", m, n)
	}
	if head, err = readBytes(from, int64(m)); err != nil {
		return nil, nil, err
	}
	if payload, err = readBytes(from, int64(n)); err != nil {
		return nil, nil, err
	}
	if !json.Valid(head) {
		return nil, nil, fmt.Errorf("a message is no JSON: %.40q", head)
	}
	return head, payload, nil
}

// readBytes reads exactly n bytes. Its buffer grows with what arrives, unlike one of n bytes made beforehand.
func readBytes(from io.Reader, n int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, n))
	if err == nil && int64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}
