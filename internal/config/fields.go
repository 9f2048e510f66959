package config

import (
	"fmt"
	"reflect"
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

// section returns the struct type whose keys nest under a field of type t.
func section(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, t.Kind() == reflect.Struct && !readsItself(t)
}

// fieldsOf lists a struct's keys in the order of its fields.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	seen := map[string]bool{}
	for _, f := range collect(t, nil) {
		if seen[f.key] {
			panic(fmt.Sprintf("config: %s has the key %q twice", t, f.key))
		}
		seen[f.key] = true
		fields = append(fields, f)
	}
	return fields
}

func collect(t reflect.Type, index []int) []field {
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("yaml")
		name, flags, _ := strings.Cut(tag, ",")
		if name == "-" || (!sf.IsExported() && !sf.Anonymous) {
			continue
		}
		at := append(append([]int(nil), index...), i)
		inline := sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct
		for flag := range strings.SplitSeq(flags, ",") {
			inline = inline || flag == "inline"
		}
		if inline {
			if sf.Type.Kind() != reflect.Struct {
				panic(fmt.Sprintf("config: %s.%s: only structs can be inlined, not %s", t, sf.Name, sf.Type))
			}
			fields = append(fields, collect(sf.Type, at)...)
			continue
		}
		if !sf.IsExported() {
			if tagged {
				panic(fmt.Sprintf("config: %s.%s has a yaml tag and is not exported", t, sf.Name))
			}
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
		if f.key != name {
			continue
		}
		if !nested {
			return f, true
		}
		if sub, ok := section(f.typ); ok {
			return find(sub, rest)
		}
	}
	return field{}, false
}

// reach returns the field at a dotted path of an addressable struct. Sections behind pointers are copied on the way, so
// that writing to the field leaves the struct they came from as it was.
func reach(v reflect.Value, path string) (reflect.Value, field) {
	name, rest, nested := strings.Cut(path, ".")
	for _, f := range fieldsOf(v.Type()) {
		if f.key != name {
			continue
		}
		at := v.FieldByIndex(f.index)
		if !nested {
			return at, f
		}
		if at.Kind() == reflect.Pointer {
			at.Set(fresh(at))
			at = at.Elem()
		}
		return reach(at, rest)
	}
	panic(fmt.Sprintf("config: %s has no key %q", v.Type(), path))
}

// fresh returns a new pointer to a copy of what p points to, or to a zero value where p is nil.
func fresh(p reflect.Value) reflect.Value {
	n := reflect.New(p.Type().Elem())
	if !p.IsNil() {
		n.Elem().Set(p.Elem())
	}
	return n
}
