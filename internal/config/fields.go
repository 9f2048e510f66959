package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is one key of a struct.
type field struct {
	key   string
	index []int // through inlined structs
	typ   reflect.Type
	rules rules
}

// readsItself reports whether values of type t are read by a method of *t.
func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Setter]())
}

// section reports whether the keys of type t, a struct, nest under its field's.
func section(t reflect.Type) bool { return t.Kind() == reflect.Struct && !readsItself(t) }

// fieldsOf lists a struct's keys in the order of its fields.
func fieldsOf(t reflect.Type) []field {
	fields := collect(t, nil)
	for i, f := range fields {
		if slices.ContainsFunc(fields[:i], func(g field) bool { return g.key == f.key }) {
			panic(fmt.Sprintf("config: %s has the key %q twice", t, f.key))
		}
	}
	return fields
}

func collect(t reflect.Type, index []int) []field {
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, flags, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if name == "-" || (!sf.IsExported() && !sf.Anonymous) {
			continue
		}
		at := append(slices.Clone(index), i)
		if flags == "inline" || sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct {
			fields = append(fields, collect(sf.Type, at)...)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		if name == "" {
			name = strings.ToLower(sf.Name)
		}
		r, err := parseRules(sf.Tag.Get("config"))
		if err != nil {
			panic(fmt.Sprintf("config: %s.%s: %v", t, sf.Name, err))
		}
		fields = append(fields, field{key: name, index: at, typ: sf.Type, rules: r})
	}
	return fields
}

// find returns the field at a dotted path of a struct type.
func find(t reflect.Type, path string) (field, bool) {
	name, rest, nested := strings.Cut(path, ".")
	for _, f := range fieldsOf(t) {
		switch {
		case f.key != name:
		case !nested:
			return f, true
		case section(f.typ):
			inner, ok := find(f.typ, rest)
			inner.index = slices.Concat(f.index, inner.index)
			return inner, ok
		}
	}
	return field{}, false
}
