package checkpoint

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// The layout of a safetensors file: 8 bytes with the little-endian length of the header, the header (a JSON object,
// padded with spaces), and the arrays' bytes without holes or overlaps.
const (
	lengthBytes = 8
	maxHeader   = 100_000_000
	metadataKey = "__metadata__"
	valuesKey   = "gorl"
)

// EncodeSafetensors writes a snapshot in the safetensors format. Equal snapshots give equal bytes. Arrays whose shape
// and data disagree, names that are not UTF-8, and values that JSON cannot hold are errors. They are found before
// anything is written.
func EncodeSafetensors(w io.Writer, s *Snapshot) error {
	header, order, err := encodeHeader(s)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for _, name := range order {
		if _, err := w.Write(s.Arrays[name].Data); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil
}

// encodeHeader returns everything before the arrays' data, and the order of the arrays. Larger elements come first, so
// that every array begins at a multiple of its element's size.
func encodeHeader(s *Snapshot) (header []byte, order []string, err error) {
	order = slices.Collect(maps.Keys(s.Arrays))
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Arrays[b].DType.Size(), s.Arrays[a].DType.Size()), cmp.Compare(a, b))
	})
	metadata, err := encodeMetadata(s)
	if err != nil {
		return nil, nil, err
	}
	entries := map[string]any{metadataKey: json.RawMessage(metadata)}
	var end int64
	for _, name := range order {
		a := s.Arrays[name]
		switch err := a.Validate(); {
		case name == metadataKey:
			return nil, nil, fmt.Errorf("checkpoint: an array cannot be called %q; the format reserves the name", name)
		case err != nil:
			return nil, nil, fmt.Errorf("array %q: %w", name, err)
		case !utf8.ValidString(name):
			return nil, nil, fmt.Errorf("checkpoint: the array name %q is not valid UTF-8", name)
		}
		begin := end
		end += int64(len(a.Data))
		entries[name] = entry{DType: a.DType, Shape: append([]int64{}, a.Shape...), Offsets: []int64{begin, end}}
	}
	b, err := appendJSON(make([]byte, lengthBytes, lengthBytes+256*len(order)), entries)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: the header: %w", err)
	}
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	if len(b)-lengthBytes > maxHeader {
		return nil, nil, fmt.Errorf("checkpoint: the header has %d bytes, more than the %d that the format allows; "+
			"keep bulk data in Arrays instead of Values", len(b)-lengthBytes, maxHeader)
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-lengthBytes))
	return b, order, nil
}

// encodeMetadata returns the header's text entries. One of them is Values.
func encodeMetadata(s *Snapshot) ([]byte, error) {
	if _, taken := s.Metadata[valuesKey]; taken {
		return nil, fmt.Errorf("checkpoint: the metadata entry %q holds Values; use another name", valuesKey)
	}
	values, err := encodeValue("Values", s.Values)
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{valuesKey: string(values)}
	maps.Copy(metadata, s.Metadata)
	return encodeValue("Metadata", metadata)
}
