package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth limits the nesting of Values, in files and in memory.
const maxDepth = 200

// encodeValue returns v as JSON with sorted keys. Floats always have a point or an exponent, so that a reader can tell
// 3.0 from 3. Errors name v by its path.
func encodeValue(path string, v any) ([]byte, error) {
	plain, err := plainValue(path, reflect.ValueOf(v), 0)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return appendJSON(nil, plain)
}

// plainValue returns v in types that encoding/json writes as a file has them.
func plainValue(path string, v reflect.Value, depth int) (_ any, err error) {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch k := v.Kind(); {
	case depth > maxDepth:
		return nil, fmt.Errorf("%s: nested more than %d deep", path, maxDepth)
	case k == reflect.Invalid: // nil
		return nil, nil
	case k == reflect.Bool:
		return v.Bool(), nil
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint():
		return v.Uint(), nil
	case v.CanFloat():
		x := v.Float()
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%s is %v; numbers in Values must be finite", path, x)
		}
		text := strconv.FormatFloat(x, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.RawMessage(text), nil
	case k == reflect.String:
		if !utf8.ValidString(v.String()) {
			return nil, fmt.Errorf("%s is not valid UTF-8", path)
		}
		return v.String(), nil
	case k == reflect.Slice || k == reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			if list[i], err = plainValue(fmt.Sprintf("%s[%d]", path, i), v.Index(i), depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case k == reflect.Map && v.Type().Key().Kind() == reflect.String:
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			key := it.Key().String()
			if !utf8.ValidString(key) {
				return nil, fmt.Errorf("a key of %s is not valid UTF-8", path)
			}
			if m[key], err = plainValue(path+"."+key, it.Value(), depth+1); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return nil, fmt.Errorf("%s: a %s cannot be stored; use numbers, strings, booleans, lists and maps with string keys",
		path, v.Type())
}

// appendJSON appends v as compact JSON with sorted keys, which leaves <, > and & as they are.
func appendJSON(b []byte, v any) ([]byte, error) {
	text := bytes.NewBuffer(b)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// parseValues reads what encodeValue wrote.
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
