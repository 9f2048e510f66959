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
	"strconv"
	"unicode/utf8"
)

// DecodeSafetensors reads a file in the safetensors format, of gorl or of any other program. The arrays of the snapshot
// share data's memory. Everything the header says is verified against the bytes that are there: types, shapes, offsets,
// holes, overlaps, names given twice. Nothing is executed.
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
