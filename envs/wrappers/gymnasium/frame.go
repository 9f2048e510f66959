package gymnasium

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// Messages are JSON: to a child with its length before it, from a child with the length of the JSON and of the bytes
// that follow it, all little-endian uint32.
const (
	maxHead    = 1 << 26
	maxPayload = 1 << 30
)

// sendFrame writes a message to a child before a deadline.
func sendFrame(to *os.File, message []byte, deadline time.Time) error {
	if err := to.SetWriteDeadline(deadline); err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(message)), uint32(len(message)))
	_, err := to.Write(append(b, message...))
	return err
}

// receiveFrame reads a child's message before a deadline.
func receiveFrame(from *os.File, deadline time.Time) (head, payload []byte, err error) {
	if err := from.SetReadDeadline(deadline); err != nil {
		return nil, nil, err
	}
	return readFrame(from)
}

// readFrame reads a message. It takes no more memory than bytes arrive.
func readFrame(from io.Reader) (head, payload []byte, err error) {
	var sizes [8]byte
	if _, err := io.ReadFull(from, sizes[:]); err != nil {
		return nil, nil, err
	}
	m, n := binary.LittleEndian.Uint32(sizes[:]), binary.LittleEndian.Uint32(sizes[4:])
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

func readBytes(from io.Reader, n int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, n))
	if err == nil && int64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}
