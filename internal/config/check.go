package config

import (
	"fmt"
	"reflect"
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
		for it := v.MapRange(); it.Next() && it.Key().Kind() == reflect.String; {
			c.value(path+"."+it.Key().String(), it.Value(), r.element())
		}
	case reflect.Interface:
		// In JSON-like values it looks for NaN and infinities. All else that an interface may hold is left alone.
		switch v.Interface().(type) {
		case float32, float64, map[string]any, []any, []float64, []float32, map[string]float64:
			c.value(path, v.Elem(), rules{})
		}
	default:
		if !r.holds(v) {
			c.wrong(path, v, r)
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
