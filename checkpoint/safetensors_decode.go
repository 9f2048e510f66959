package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// DecodeSafetensors reads a file in the safetensors format, written by gorl or by any other program. The arrays of the
// snapshot share data's memory. DecodeSafetensors checks the whole header against the bytes that are there: types,
// shapes, offsets, holes, overlaps, and repeated names. It executes nothing.
func DecodeSafetensors(data []byte) (*Snapshot, error) {
	s, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: not a safetensors file, or a damaged one: %w", err)
	}
	return s, nil
}

func decode(data []byte) (*Snapshot, error) {
	header, body, err := splitHeader(data)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil { // the brace
		return nil, unexpectedEOF(err)
	}
	s := NewSnapshot()
	var entries []entry
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, unexpectedEOF(err)
		}
		name := token.(string) // the decoder accepts nothing else before a colon
		switch {
		case seen[name]:
			err = fmt.Errorf("the name %q is given twice", name)
		case name == metadataKey:
			err = s.decodeMetadata(d)
		default:
			e := entry{name: name}
			if err = e.decode(d, int64(len(body))); err != nil {
				break
			}
			entries = append(entries, e)
			s.Arrays[name] = Array{DType: e.DType, Shape: e.Shape, Data: body[e.begin():e.end():e.end()]}
		}
		if err != nil {
			return nil, err
		}
		seen[name] = true
	}
	if _, err := d.Token(); err != nil {
		return nil, unexpectedEOF(err)
	}
	if rest := bytes.TrimRight(header[d.InputOffset():], " "); len(rest) > 0 {
		return nil, errors.New("there is something after the header's JSON object")
	}
	return s, checkCoverage(entries, int64(len(body)))
}

// splitHeader divides a file into its header and the arrays' bytes.
func splitHeader(data []byte) (header, body []byte, err error) {
	if len(data) < lengthBytes {
		return nil, nil, fmt.Errorf("%d bytes are fewer than the %d of the header's length", len(data), lengthBytes)
	}
	n := binary.LittleEndian.Uint64(data)
	if n > maxHeader {
		return nil, nil, fmt.Errorf("a header of %d bytes; %d are allowed", n, maxHeader)
	}
	if n > uint64(len(data)-lengthBytes) {
		return nil, nil, fmt.Errorf("a header of %d bytes, but only %d follow", n, len(data)-lengthBytes)
	}
	header = data[lengthBytes : lengthBytes+n]
	if len(header) == 0 || header[0] != '{' || !utf8.Valid(header) {
		return nil, nil, errors.New("the header is not a JSON object")
	}
	return header, data[lengthBytes+n:], nil
}

// entry is the header's description of one array.
type entry struct {
	name    string
	DType   DType   `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

func (e *entry) begin() int64 { return e.Offsets[0] }
func (e *entry) end() int64   { return e.Offsets[1] }

// decode reads an entry and checks it against the size of the arrays' bytes.
func (e *entry) decode(d *json.Decoder, size int64) error {
	if err := d.Decode(e); err != nil {
		return fmt.Errorf("array %q: %w", e.name, unexpectedEOF(err))
	}
	switch {
	case e.DType.Size() == 0:
		return fmt.Errorf("array %q: unknown element type %q", e.name, e.DType)
	case e.Shape == nil:
		return fmt.Errorf("array %q: no shape", e.name)
	case len(e.Offsets) != 2:
		return fmt.Errorf("array %q: data_offsets are not two numbers", e.name)
	}
	n, err := countElements(e.Shape)
	switch {
	case err != nil:
		return fmt.Errorf("array %q: %w", e.name, err)
	case e.begin() < 0 || e.begin() > e.end() || n > math.MaxInt64/e.DType.Size() ||
		n*e.DType.Size() != e.end()-e.begin():
		return fmt.Errorf("array %q: %s %v does not fill bytes %d to %d", e.name, e.DType, e.Shape, e.begin(), e.end())
	case e.end() > size:
		return fmt.Errorf("array %q: ends at byte %d of %d", e.name, e.end(), size)
	}
	return nil
}

// checkCoverage returns an error unless the arrays fill the data without holes or overlaps.
func checkCoverage(entries []entry, size int64) error {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin(), b.begin()), cmp.Compare(a.end(), b.end()))
	})
	var end int64
	for _, e := range entries {
		if e.begin() != end {
			return fmt.Errorf("array %q begins at byte %d; the next free one is %d", e.name, e.begin(), end)
		}
		end = e.end()
	}
	if end != size {
		return fmt.Errorf("the arrays end at byte %d of %d", end, size)
	}
	return nil
}

func (s *Snapshot) decodeMetadata(d *json.Decoder) error {
	if err := d.Decode(&s.Metadata); err != nil {
		return fmt.Errorf("%s: %w", metadataKey, unexpectedEOF(err))
	}
	text, ok := s.Metadata[valuesKey]
	if delete(s.Metadata, valuesKey); len(s.Metadata) == 0 {
		s.Metadata = nil
	}
	if !ok {
		return nil
	}
	var err error
	if s.Values, err = parseValues(text); err != nil {
		return fmt.Errorf("%s: %q: %w", metadataKey, valuesKey, err)
	}
	return nil
}
