package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// assign reads value into the addressable dst and reports false, and what is wrong, where it does not fit.
func (m *merger) assign(path string, dst reflect.Value, value any, r rules) bool {
	t := dst.Type()
	if value == nil {
		dst.SetZero()
		return m.check(path, dst, nil, r)
	}
	if s, ok := dst.Addr().Interface().(Setter); ok {
		if err := s.SetConfig(value); err != nil {
			m.report(&Error{Path: path, Given: value, Err: err})
			return false
		}
		return m.check(path, dst, value, r)
	}
	v := reflect.ValueOf(value)
	fits := true
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		fits = setDuration(dst, value)
	case k == reflect.Pointer:
		return m.assignPointer(path, dst, v, r)
	case k == reflect.Struct:
		return m.assignStruct(path, dst, v)
	case k == reflect.Slice || k == reflect.Array:
		return m.assignList(path, dst, v, r)
	case k == reflect.Map:
		return m.assignMap(path, dst, v, r)
	case k == reflect.Bool:
		fits = setBool(dst, v)
	case k == reflect.String:
		if fits = v.Kind() == reflect.String; fits {
			dst.SetString(v.String())
		}
	case isNumber(k):
		fits = setNumber(dst, v)
	case v.Type().AssignableTo(t):
		dst.Set(reflect.ValueOf(Clone(value)))
	default:
		fits = false
	}
	if !fits {
		m.report(&Error{Path: path, Given: value, Allowed: allowed(t, r), mismatch: true})
		return false
	}
	return m.check(path, dst, value, r)
}

func (m *merger) assignPointer(path string, dst, v reflect.Value, r rules) bool {
	if v.Type().AssignableTo(dst.Type()) {
		dst.Set(v)
		return m.check(path, dst, v.Interface(), r)
	}
	target := reflect.New(dst.Type().Elem())
	if !dst.IsNil() {
		target.Elem().Set(dst.Elem())
	}
	if !m.assign(path, target.Elem(), v.Interface(), r) {
		return false
	}
	dst.Set(target)
	return true
}

func (m *merger) assignStruct(path string, dst, v reflect.Value) bool {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Type().AssignableTo(dst.Type()) {
		dst.Set(v)
		return m.check(path, dst, v.Interface(), rules{})
	}
	dict, ok := asDict(v)
	if !ok || readsItself(dst.Type()) {
		m.report(&Error{Path: path, Given: v.Interface(), Allowed: allowed(dst.Type(), rules{}), mismatch: true})
		return false
	}
	before := len(m.problems)
	m.section(path+".", dst, dict)
	return len(m.problems) == before
}

// assignList reads a list, or one value as a list of one. A new list is made: the old one and the given one stay as
// they are.
func (m *merger) assignList(path string, dst, v reflect.Value, r rules) bool {
	t := dst.Type()
	wrong := func(mismatch bool) bool {
		m.report(&Error{Path: path, Given: v.Interface(), Allowed: allowed(t, r), mismatch: mismatch})
		return false
	}
	isList := v.Kind() == reflect.Slice || v.Kind() == reflect.Array
	n := 1
	if isList {
		n = v.Len()
	}
	list := reflect.New(t).Elem()
	switch {
	case t.Kind() == reflect.Slice:
		list.Set(reflect.MakeSlice(t, n, n))
	case n == 0: // an empty list resets an array to zeros, as null does
	case t.Len() != n:
		return wrong(!isList)
	}
	if !isList {
		// A probe keeps its own problems: the message should speak of the list, not of a first element.
		probe := merger{opts: m.opts, given: map[string]given{}}
		if !probe.assign(path, list.Index(0), v.Interface(), r.element()) {
			return wrong(true)
		}
	}
	good := true
	for i := 0; isList && i < n; i++ {
		good = m.assign(fmt.Sprintf("%s[%d]", path, i), list.Index(i), v.Index(i).Interface(), r.element()) && good
	}
	if !good {
		return false
	}
	if !r.holdsLength(n) {
		return wrong(false)
	}
	dst.Set(list)
	return true
}

// assignMap replaces a map field by a copy of the given one.
func (m *merger) assignMap(path string, dst, v reflect.Value, r rules) bool {
	t := dst.Type()
	dict, ok := asDict(v)
	if !ok || t.Key().Kind() != reflect.String {
		if v.Type().AssignableTo(t) {
			dst.Set(v)
			return true
		}
		m.report(&Error{Path: path, Given: v.Interface(), Allowed: allowed(t, r), mismatch: true})
		return false
	}
	made := reflect.MakeMapWithSize(t, len(dict))
	good := true
	for key, value := range dict {
		elem := reflect.New(t.Elem()).Elem()
		good = m.assign(path+"."+key, elem, value, r.element()) && good
		made.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), elem)
	}
	if good {
		dst.Set(made)
	}
	return good
}

// element returns the rules for one element of a list or map.
func (r rules) element() rules {
	r.minLen, r.maxLen = nil, nil
	return r
}

// asDict reads any map with string keys.
func asDict(v reflect.Value) (map[string]any, bool) {
	if v.Kind() != reflect.Map {
		return nil, false
	}
	dict := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		key := it.Key()
		if key.Kind() == reflect.Interface {
			key = key.Elem()
		}
		if key.Kind() != reflect.String {
			return nil, false
		}
		dict[key.String()] = it.Value().Interface()
	}
	return dict, true
}

// Clone copies the maps and lists of a JSON-like value.
func Clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, e := range v {
			c[key] = Clone(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = Clone(e)
		}
		return c
	}
	return value
}

func setDuration(dst reflect.Value, value any) bool {
	d, ok := value.(time.Duration)
	if text, is := value.(string); is {
		var err error
		d, err = time.ParseDuration(text)
		ok = err == nil
	}
	if ok {
		dst.SetInt(int64(d))
	}
	return ok
}

// truths are the words for true and false of YAML 1.1, which skrl's files may have.
var truths = map[string]bool{"yes": true, "on": true, "no": false, "off": false}

func setBool(dst, v reflect.Value) bool {
	on, ok := truths[strings.ToLower(v.String())] // of another kind the text is that of its type
	if v.Kind() == reflect.Bool {
		on, ok = v.Bool(), true
	}
	if ok {
		dst.SetBool(on)
	}
	return ok
}

// setNumber stores an integer or a float where nothing of it is lost but a float's last digits.
func setNumber(dst, v reflect.Value) bool {
	if v.Kind() == reflect.String {
		n, ok := inQuotes(v.String())
		if !ok {
			return false
		}
		v = reflect.ValueOf(n)
	}
	switch {
	case !isNumber(v.Kind()):
		return false
	case dst.CanFloat():
		return setFloat(dst, v)
	case v.CanFloat() && math.Abs(v.Float()) >= 1<<63: // its conversion differs between processors
		return false
	}
	whole := v.Convert(dst.Type())
	if !whole.Convert(v.Type()).Equal(v) || toFloat(whole) < 0 != (toFloat(v) < 0) {
		return false
	}
	dst.Set(whole)
	return true
}

func toFloat(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }

func setFloat(dst, v reflect.Value) bool {
	f := toFloat(v)
	if !math.IsInf(f, 0) && dst.OverflowFloat(f) {
		return false
	}
	dst.SetFloat(f)
	return true
}

// inQuotes reads a number from a string: a decimal number, or an infinity by its common names. Python's YAML reader
// returns 1e-3 as a string, and shells and templates pass 32 as one.
func inQuotes(s string) (number any, ok bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	switch strings.ToLower(s) {
	case "inf", "+inf", "-inf":
	default:
		if strings.ContainsAny(s, "xXpPnN_") { // hexadecimal, NaN, other infinities
			return nil, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// Whole reads a whole number as Merge does for an integer field.
func Whole(value any) (n int, ok bool) {
	ok = value != nil && setNumber(reflect.ValueOf(&n).Elem(), reflect.ValueOf(value))
	return n, ok
}
