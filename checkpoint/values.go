package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth limits the nesting of Values, in files and in memory.
const maxDepth = 200

// appendValue appends v as JSON with sorted keys. Floats always have a point or an exponent, so that a reader can tell
// 3.0 from 3. Errors name v by its path.
func appendValue(b []byte, path string, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("checkpoint: %s: nested more than %d deep", path, maxDepth)
	}
	if v == nil {
		return append(b, "null"...), nil
	}
	rv := reflect.ValueOf(v)
	switch k := rv.Kind(); {
	case k == reflect.Bool:
		return strconv.AppendBool(b, rv.Bool()), nil
	case rv.CanInt():
		return strconv.AppendInt(b, rv.Int(), 10), nil
	case rv.CanUint():
		return strconv.AppendUint(b, rv.Uint(), 10), nil
	case rv.CanFloat():
		return appendFloat(b, path, rv.Float())
	case k == reflect.String:
		return appendString(b, path, rv.String())
	case k == reflect.Slice || k == reflect.Array:
		return appendList(b, path, rv, depth)
	case k == reflect.Map && rv.Type().Key().Kind() == reflect.String:
		return appendMap(b, path, rv, depth)
	}
	return nil, fmt.Errorf("checkpoint: %s: a %T cannot be stored; use numbers, strings, booleans, lists and maps "+
		"with string keys", path, v)
}

func appendFloat(b []byte, path string, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("checkpoint: %s is %v; numbers in Values must be finite", path, f)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !bytes.ContainsAny(b[start:], ".e") {
		b = append(b, ".0"...)
	}
	return b, nil
}

func appendString(b []byte, path, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("checkpoint: %s is not valid UTF-8", path)
	}
	b, err := appendJSON(b, s)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return b, nil
}

// appendJSON appends v as compact JSON with sorted keys, which leaves <, > and & as they are.
func appendJSON(b []byte, v any) ([]byte, error) {
	text := bytes.NewBuffer(b)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func appendList(b []byte, path string, list reflect.Value, depth int) ([]byte, error) {
	b = append(b, '[')
	for i := range list.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, fmt.Sprintf("%s[%d]", path, i), list.Index(i).Interface(), depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendMap(b []byte, path string, m reflect.Value, depth int) ([]byte, error) {
	values := make(map[string]any, m.Len())
	for it := m.MapRange(); it.Next(); {
		values[it.Key().String()] = it.Value().Interface()
	}
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendString(b, "a key of "+path, key); err != nil {
			return nil, err
		}
		b = append(b, ':')
		if b, err = appendValue(b, path+"."+key, values[key], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// parseValues reads what appendValue wrote.
func parseValues(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return nil, unexpectedEOF(err)
	}
	if values == nil {
		return nil, errors.New("the values are not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the values")
	}
	_, err := parseNumbers(values, 0)
	return values, err
}

// parseNumbers replaces the numbers in v, in place, and returns v.
func parseNumbers(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the values are nested more than %d deep", maxDepth)
	}
	var err error
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if v[key], err = parseNumbers(x, depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, x := range v {
			if v[i], err = parseNumbers(x, depth+1); err != nil {
				return nil, err
			}
		}
	case json.Number:
		return parseNumber(v.String())
	}
	return v, nil
}

// unexpectedEOF replaces io.EOF by io.ErrUnexpectedEOF.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func parseNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return u, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is out of range", s)
	}
	return f, nil
}
