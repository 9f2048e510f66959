package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Field describes one key, for generated documentation.
type Field struct {
	// Key is dotted through sections.
	Key string
	// Type is the Go type, e.g. "float64" or "[]int".
	Type string
	// Default is the value in the struct that was given.
	Default any
	// Allowed says what the key takes, e.g. "a number in [0, 1]".
	Allowed string
	// Meaning is the field's comment in gorl's source, up to the first empty line.
	Meaning string
}

// short says what a key of a type takes if that is not what Allowed says.
var short = map[string]string{
	"agents.Interval":       `"auto", integer ≥ 0`,
	"schedulers.Iterations": `"auto", integer ≥ 1`,
	"[]trackers.Tracker":    "list of names and {name: {setting: value}}",
	"bool":                  "boolean",
	"time.Duration":         `duration, as "90s"`,
}

var article = regexp.MustCompile(`^(one of|an?) `)

// Short is Allowed in fewer words, for tables.
func (f Field) Short() string {
	if text, ok := short[f.Type]; ok {
		return text
	}
	return article.ReplaceAllString(strings.TrimSuffix(f.Allowed, ", or null"), "")
}

// Keys lists the keys of a struct that holds its defaults (or of a pointer to one), in the order of its fields, those
// of sections in place of the section.
func Keys(v any) []Field {
	return keys("", structOf(v, "Keys"))
}

func keys(prefix string, v reflect.Value) []Field {
	var all []Field
	for _, f := range fieldsOf(v.Type()) {
		at := v.FieldByIndex(f.index)
		if section(f.typ) {
			all = append(all, keys(prefix+f.key+".", at)...)
			continue
		}
		all = append(all, Field{Key: prefix + f.key, Type: f.typ.String(), Default: at.Interface(),
			Allowed: allowed(f.typ, f.rules), Meaning: meaning(v.Type(), f.index, f.key)})
	}
	return all
}

// Dict returns a struct's (or pointer's) values as a dictionary that Merge reads back: sections as nested maps, nil
// pointers as nil, fields that read themselves as their method MarshalYAML gives them. Functions, channels and
// interfaces that hold anything but plain data are left out.
func Dict(v any) map[string]any {
	value := structOf(v, "Dict")
	dict := map[string]any{}
	for _, f := range fieldsOf(value.Type()) {
		if plain, ok := plainValue(value.FieldByIndex(f.index)); ok {
			dict[f.key] = plain
		}
	}
	return dict
}

func plainValue(v reflect.Value) (any, bool) {
	if m, ok := v.Interface().(yaml.Marshaler); ok && v.Kind() != reflect.Pointer {
		plain, err := m.MarshalYAML()
		return plain, err == nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, true
		}
		return plainValue(v.Elem())
	case reflect.Struct:
		if readsItself(v.Type()) {
			return v.Interface(), true
		}
		return Dict(v.Interface()), true
	case reflect.Slice, reflect.Array:
		// A number for each network is a plain number if there is one. Programs that filter by it cannot read a list.
		if one, ok := v.Interface().([]float64); ok && len(one) == 1 {
			return one[0], true
		}
		list := make([]any, v.Len())
		for i := range list {
			e, ok := plainValue(v.Index(i))
			if !ok {
				return nil, false
			}
			list[i] = e
		}
		return list, true
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return nil, false
		}
		dict := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			if e, ok := plainValue(it.Value()); ok {
				dict[it.Key().String()] = e
			}
		}
		return dict, true
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return nil, false
	}
	return v.Interface(), true
}

// Walk calls f for every value of nested mappings, in the order of their keys. The key is the path of keys joined by
// dots. An empty mapping is a value.
func Walk(dict map[string]any, f func(key string, value any)) {
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		if inner, ok := dict[key].(map[string]any); ok && len(inner) > 0 {
			Walk(inner, func(below string, value any) { f(key+"."+below, value) })
			continue
		}
		f(key, dict[key])
	}
}

// Flatten calls f as [Walk] does, but not for empty mappings. A list is a text in JSON, and null is the text "null".
func Flatten(dict map[string]any, f func(key string, value any)) {
	Walk(dict, func(key string, value any) {
		switch v := value.(type) {
		case map[string]any:
		case []any:
			text, err := json.Marshal(v)
			if err != nil { // a number that is not finite
				text = fmt.Append(nil, v)
			}
			f(key, string(text))
		case nil:
			f(key, "null")
		default:
			f(key, v)
		}
	})
}
