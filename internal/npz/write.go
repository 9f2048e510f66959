package npz

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/gorl-dev/gorl/internal/durable"
)

// Write writes arrays as a .npz file, uncompressed. The same arrays give the same bytes.
func Write(w io.Writer, arrays ...*Array) error {
	z := zip.NewWriter(w)
	seen := make(map[string]bool, len(arrays))
	for _, a := range arrays {
		if seen[a.Name] {
			return fmt.Errorf("npz: two arrays are named %q", a.Name)
		}
		seen[a.Name] = true
		entry, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
		if err != nil {
			return fmt.Errorf("npz: array %q: %w", a.Name, err)
		}
		if err := WriteNPY(entry, a); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	return nil
}

// WriteNPY writes one array as a .npy file.
func WriteNPY(w io.Writer, a *Array) error {
	var shape strings.Builder
	for i, d := range a.Shape {
		if i > 0 {
			shape.WriteByte(' ')
		}
		fmt.Fprintf(&shape, "%d,", d)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", a.DType,
		strings.TrimSuffix(shape.String(), ","))
	if len(a.Shape) == 1 {
		text = strings.Replace(text, ")", ",)", 1)
	}
	pad := 64 - (len(magic)+4+len(text)+1)%64
	text += strings.Repeat(" ", pad) + "\n"
	head := append(append([]byte{}, magic...), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(text)))
	for _, part := range [][]byte{append(head, text...), a.data} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("npz: array %q: %w", a.Name, err)
		}
	}
	return nil
}

// WriteFile writes arrays as a .npz file at path: aside first, synced, then renamed, so that readers see
// the old file or the new one.
func WriteFile(path string, arrays ...*Array) error {
	if err := durable.WriteFile(path, func(w io.Writer) error { return Write(w, arrays...) }); err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	return nil
}
