package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The layout of a safetensors file: 8 bytes with the little-endian length of the header, the header (a JSON object, padded
// with spaces), and the arrays' bytes without holes or overlaps.
const (
	lengthBytes = 8
	maxHeader   = 100_000_000
	metadataKey = "__metadata__"
	valuesKey   = "gorl"
)

// EncodeSafetensors writes a snapshot in the safetensors format. The same snapshot gives the same bytes. Arrays
// whose shape and data disagree, names that are not UTF-8 and values that JSON does not know are errors, found before
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

// encodeHeader returns everything before the arrays' data, and the order in which that follows: larger elements
// first, so that every array begins at a multiple of its element's size.
func encodeHeader(s *Snapshot) (header []byte, order []string, err error) {
	order = slices.Collect(maps.Keys(s.Arrays))
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Arrays[b].DType.Size(), s.Arrays[a].DType.Size()), cmp.Compare(a, b))
	})
	offsets := map[string]int64{}
	var end int64
	for _, name := range order {
		a := s.Arrays[name]
		if name == metadataKey {
			return nil, nil, fmt.Errorf("checkpoint: an array cannot be called %q; the format reserves the name", name)
		}
		if err := a.whole(); err != nil {
			return nil, nil, fmt.Errorf("array %q: %w", name, err)
		}
		offsets[name] = end
		end += int64(len(a.Data))
	}
	metadata, err := encodeMetadata(s)
	if err != nil {
		return nil, nil, err
	}
	b := make([]byte, lengthBytes, lengthBytes+256*len(order))
	b = append(b, '{')
	b = append(b, `"`+metadataKey+`":`...)
	b = append(b, metadata...)
	for _, name := range slices.Sorted(maps.Keys(s.Arrays)) {
		a := s.Arrays[name]
		b = append(b, ',')
		if b, err = appendString(b, fmt.Sprintf("the array name %q", name), name); err != nil {
			return nil, nil, err
		}
		b = append(b, `:{"dtype":"`+string(a.DType)+`","shape":[`...)
		for i, d := range a.Shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, d, 10)
		}
		b = fmt.Appendf(b, `],"data_offsets":[%d,%d]}`, offsets[name], offsets[name]+int64(len(a.Data)))
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	if len(b)-lengthBytes > maxHeader {
		return nil, nil, fmt.Errorf("checkpoint: the header has %d bytes, more than the %d the format allows; keep bulk data in Arrays instead of Values", len(b)-lengthBytes, maxHeader)
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-lengthBytes))
	return b, order, nil
}

// encodeMetadata writes the header's text entries, of which the values are one.
func encodeMetadata(s *Snapshot) ([]byte, error) {
	if _, taken := s.Metadata[valuesKey]; taken {
		return nil, fmt.Errorf("checkpoint: the metadata entry %q is where Values is kept; use another name", valuesKey)
	}
	values, err := appendValue(nil, "Values", s.Values, 0)
	if err != nil {
		return nil, err
	}
	metadata := maps.Clone(s.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[valuesKey] = string(values)
	return appendValue(nil, "Metadata", metadata, 0)
}

// ReadSafetensors reads all of r, see DecodeSafetensors.
func ReadSafetensors(r io.Reader) (*Snapshot, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return DecodeSafetensors(data)
}

// DecodeSafetensors reads a file in the safetensors format, whoever wrote it. The arrays of the snapshot share data's
// memory. Everything the header says is verified against the bytes that are there: types, shapes, offsets, holes,
// overlaps, names given twice. Nothing is executed.
func DecodeSafetensors(data []byte) (*Snapshot, error) {
	s, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: not a safetensors file, or a damaged one: %w", err)
	}
	return s, nil
}

func decode(data []byte) (*Snapshot, error) {
	if len(data) < lengthBytes {
		return nil, fmt.Errorf("%d bytes are fewer than the %d that give the header's length", len(data), lengthBytes)
	}
	n := binary.LittleEndian.Uint64(data)
	if n > maxHeader {
		return nil, fmt.Errorf("a header of %d bytes, where %d are allowed", n, maxHeader)
	}
	if n > uint64(len(data)-lengthBytes) {
		return nil, fmt.Errorf("a header of %d bytes, where only %d follow", n, len(data)-lengthBytes)
	}
	header, body := data[lengthBytes:lengthBytes+n], data[lengthBytes+n:]
	if len(header) == 0 || header[0] != '{' || !utf8.Valid(header) {
		return nil, errors.New("the header is not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return nil, unexpected(err)
	}
	s := NewSnapshot()
	var spans []span
	err := parseObject(d, func(name string) error {
		if name == metadataKey {
			return s.parseMetadata(d)
		}
		e, err := parseEntry(d)
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
		if e.end > int64(len(body)) {
			return fmt.Errorf("array %q: ends at byte %d of %d", name, e.end, len(body))
		}
		spans = append(spans, span{name, e.begin, e.end})
		s.Arrays[name] = Array{DType: e.dtype, Shape: e.shape, Data: body[e.begin:e.end:e.end]}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimRight(header[d.InputOffset():], " "); len(rest) > 0 {
		return nil, errors.New("there is something after the header's JSON object")
	}
	return s, covers(spans, int64(len(body)))
}

// span is where an array's bytes lie.
type span struct {
	name       string
	begin, end int64
}

// covers verifies that the spans fill the data without holes or overlaps.
func covers(spans []span, size int64) error {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	var end int64
	for _, s := range spans {
		if s.begin != end {
			return fmt.Errorf("array %q begins at byte %d, where %d is next", s.name, s.begin, end)
		}
		end = s.end
	}
	if end != size {
		return fmt.Errorf("the arrays end at byte %d of %d", end, size)
	}
	return nil
}

// entry is what the header says of one array.
type entry struct {
	dtype      DType
	shape      []int64
	begin, end int64
}

func parseEntry(d *json.Decoder) (entry, error) {
	var e entry
	var offsets []int64
	if err := open(d, '{'); err != nil {
		return e, err
	}
	err := parseObject(d, func(key string) (err error) {
		switch key {
		case "dtype":
			var text string
			text, err = parseText(d)
			e.dtype = DType(text)
		case "shape":
			e.shape, err = parseSizes(d)
		case "data_offsets":
			offsets, err = parseSizes(d)
		default:
			err = fmt.Errorf("unknown entry %q", key)
		}
		return err
	})
	switch {
	case err != nil:
		return e, err
	case e.dtype.Size() == 0:
		return e, fmt.Errorf("unknown element type %q", e.dtype)
	case e.shape == nil:
		return e, errors.New("no shape")
	case len(offsets) != 2:
		return e, errors.New("data_offsets are not two numbers")
	}
	e.begin, e.end = offsets[0], offsets[1]
	n, err := elements(e.shape)
	if err != nil {
		return e, err
	}
	if e.begin > e.end || n > math.MaxInt64/e.dtype.Size() || n*e.dtype.Size() != e.end-e.begin {
		return e, fmt.Errorf("%s %v does not fill bytes %d to %d", e.dtype, e.shape, e.begin, e.end)
	}
	return e, nil
}

func (s *Snapshot) parseMetadata(d *json.Decoder) error {
	if err := open(d, '{'); err != nil {
		return fmt.Errorf("%s: %w", metadataKey, err)
	}
	return parseObject(d, func(key string) error {
		text, err := parseText(d)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", metadataKey, key, err)
		}
		if key == valuesKey {
			if s.Values, err = parseValues(text); err != nil {
				return fmt.Errorf("%s: %q: %w", metadataKey, key, err)
			}
			return nil
		}
		if s.Metadata == nil {
			s.Metadata = map[string]string{}
		}
		s.Metadata[key] = text
		return nil
	})
}

func open(d *json.Decoder, delim json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return unexpected(err)
	}
	if token != delim {
		return fmt.Errorf("want %q, found %v", delim.String(), token)
	}
	return nil
}

func parseText(d *json.Decoder) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", unexpected(err)
	}
	text, ok := token.(string)
	if !ok {
		return "", fmt.Errorf("want text, found %v", token)
	}
	return text, nil
}

// parseSizes reads a list of whole numbers from 0.
func parseSizes(d *json.Decoder) ([]int64, error) {
	if err := open(d, '['); err != nil {
		return nil, err
	}
	sizes := []int64{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		number, ok := token.(json.Number)
		if !ok {
			return nil, fmt.Errorf("want a whole number, found %v", token)
		}
		n, err := strconv.ParseUint(number.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("want a whole number, found %.40s", number)
		}
		sizes = append(sizes, int64(n))
	}
	_, err := d.Token()
	return sizes, unexpected(err)
}
