package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// checker verifies values against rules and collects what breaks them.
type checker struct {
	prefix   string
	problems []*Error
}

func (c *checker) section(prefix string, v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		c.value(prefix+f.key, v.FieldByIndex(f.index), f.rules)
	}
}

func (c *checker) value(path string, v reflect.Value, r rules) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.value(path, v.Elem(), r)
		}
	case reflect.Struct:
		// What types that read themselves hold is theirs to check.
		if section(v.Type()) {
			c.section(path+".", v)
		}
	case reflect.Slice, reflect.Array:
		if !r.holdsLength(v.Len()) {
			c.wrong(path, v, r)
			return
		}
		for i := range v.Len() {
			c.value(fmt.Sprintf("%s[%d]", path, i), v.Index(i), r.element())
		}
	case reflect.Map:
		c.mapping(path, v, r)
	case reflect.Interface:
		c.dynamic(path, v)
	default:
		if !r.holds(v) {
			c.wrong(path, v, r)
		}
	}
}

func (c *checker) mapping(path string, v reflect.Value, r rules) {
	if v.Type().Key().Kind() != reflect.String {
		return
	}
	values := map[string]reflect.Value{}
	for it := v.MapRange(); it.Next(); {
		values[it.Key().String()] = it.Value()
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		c.value(path+"."+key, values[key], r.element())
	}
}

// dynamic looks for NaN and infinities in JSON-like values, and leaves everything else that an interface may hold
// alone.
func (c *checker) dynamic(path string, v reflect.Value) {
	if v.IsNil() {
		return
	}
	switch e := v.Elem(); e.Kind() {
	case reflect.Float32, reflect.Float64:
		c.value(path, e, rules{})
	case reflect.Map, reflect.Slice:
		switch e.Interface().(type) {
		case map[string]any, []any, []float64, []float32, map[string]float64:
			c.value(path, e, rules{})
		}
	}
}

func (c *checker) wrong(path string, v reflect.Value, r rules) {
	e := &Error{Prefix: c.prefix, Path: path, Given: v.Interface(), Allowed: allowed(v.Type(), r)}
	if v.CanFloat() && r.bounds() == "" {
		e.Allowed = "a finite number"
	}
	if v.CanFloat() && tooLarge(v.Float()) {
		e.Reason = "gorl computes in float32, whose greatest number is 3.4e38"
	}
	if v.Kind() == reflect.String {
		e.Nearest = Nearest(v.String(), r.oneof)
	}
	c.problems = append(c.problems, e)
}
