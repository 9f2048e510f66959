package torchfile

import (
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/gorl-dev/gorl/checkpoint"
)

// WriteFile writes a value as [Write] does and replaces the file at path atomically.
func WriteFile(path string, v any) error {
	return checkpoint.WriteFile(path, func(w io.Writer) error { return Write(w, v) })
}

// Write writes a value as torch.save does. torch.load reads it, also with weights_only=True (PyTorch 1.13 then refuses
// floats outside of tensors). Equal values give equal bytes. A value of an unknown type, a tensor whose shape and
// data disagree, and a value that contains itself are errors. They are found before anything is written.
func Write(w io.Writer, v any) error {
	e := &encoder{}
	e.b = append(e.b, opProto, 2)
	if e.value(v, 0); e.err != nil {
		return e.err
	}
	e.b = append(e.b, opStop)
	buffered := bufio.NewWriter(w)
	z := &zipWriter{zip: zip.NewWriter(buffered)}
	z.add("data.pkl", e.b)
	z.add("byteorder", []byte("little"))
	for i, data := range e.storages {
		z.add("data/"+strconv.Itoa(i), data)
	}
	z.add("version", []byte("3\n"))
	if z.err == nil {
		z.err = z.zip.Close()
	}
	if z.err == nil {
		z.err = buffered.Flush()
	}
	if z.err != nil {
		return fmt.Errorf("torchfile: %w", z.err)
	}
	return nil
}

// WritePickle returns a bare pickle of plain values, which Python's pickle.load reads. It is what [ReadPickle] reads.
func WritePickle(v any) ([]byte, error) {
	e := &encoder{}
	e.b = append(e.b, opProto, 2)
	if e.value(v, 0); len(e.storages) > 0 {
		e.fail("a bare pickle cannot hold tensors")
	}
	e.op(opStop)
	return e.b, e.err
}

// zipWriter writes entries as PyTorch does: uncompressed, with data that begins at multiples of 64 bytes.
type zipWriter struct {
	zip *zip.Writer
	at  int64 // where the next entry begins
	err error
}

const (
	folder      = "archive/"
	alignment   = 64
	localHeader = 30 // bytes of an entry's header without its name and extra field
)

func (z *zipWriter) add(name string, data []byte) {
	if z.err != nil {
		return
	}
	name = folder + name
	begin := z.at + localHeader + int64(len(name)) + 4
	pad := -begin & (alignment - 1)
	z.at = begin + pad + int64(len(data))
	entry, err := z.zip.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Store, Extra: append([]byte{'F', 'B', byte(pad), 0},
			bytes.Repeat([]byte{'Z'}, int(pad))...),
		CRC32: crc32.ChecksumIEEE(data), CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)),
	})
	if err == nil {
		_, err = entry.Write(data)
	}
	z.err = err
}
