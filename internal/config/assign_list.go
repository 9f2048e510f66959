package config

import (
	"fmt"
	"reflect"
)

// assignList reads a list, or one value as a list of one. A new list is made: the old one and the given one stay as they are.
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

// clone copies the maps and lists of a JSON-like value.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, e := range v {
			c[key] = clone(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = clone(e)
		}
		return c
	}
	return value
}
