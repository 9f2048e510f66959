package tracking

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A TFRecord is a little-endian 64-bit length, the masked checksum of these eight bytes, the data, and the masked
// checksum of the data (https://www.tensorflow.org/tutorials/load_data/tfrecord).
const (
	recordHead = 12
	recordTail = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC returns the CRC-32C of b, rotated and shifted so that data may contain checksums.
func maskedCRC(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return c>>15 | c<<17 + 0xa282ead8
}

// beginRecord reserves the head of a record in dst. endRecord fills it in when the data follows it.
func beginRecord(dst []byte) []byte { return append(dst, make([]byte, recordHead)...) }

func endRecord(dst []byte, start int) []byte {
	head, data := dst[start:start+recordHead], dst[start+recordHead:]
	binary.LittleEndian.PutUint64(head, uint64(len(data)))
	binary.LittleEndian.PutUint32(head[8:], maskedCRC(head[:8]))
	return binary.LittleEndian.AppendUint32(dst, maskedCRC(data))
}

// readRecord reads a record into buf and returns its data, which is valid until the next call. The end of the input is
// io.EOF between records, and ErrTruncated within one.
func readRecord(r io.Reader, buf *bytes.Buffer) ([]byte, error) {
	var head [recordHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, truncated(err)
	}
	if binary.LittleEndian.Uint32(head[8:]) != maskedCRC(head[:8]) {
		return nil, errors.New("the checksum of the length does not match: damaged, or no TFRecord file")
	}
	length := binary.LittleEndian.Uint64(head[:8])
	if length > math.MaxInt32 {
		return nil, fmt.Errorf("a record of %d bytes is no event", length)
	}
	// The buffer grows with the bytes that are there, not with the length.
	buf.Reset()
	want := int64(length) + recordTail
	if n, err := io.CopyN(buf, r, want); err != nil {
		if n < want && errors.Is(err, io.EOF) {
			err = ErrTruncated
		}
		return nil, err
	}
	data, tail := buf.Bytes()[:length], buf.Bytes()[length:]
	if binary.LittleEndian.Uint32(tail) != maskedCRC(data) {
		return nil, errors.New("the checksum of the data does not match: damaged")
	}
	return data, nil
}

func truncated(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}
