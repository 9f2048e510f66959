package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

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
