package config

import (
	"encoding"
	"reflect"
	"time"
)

// assign reads value into the addressable dst and reports false, and what is wrong, where it does not fit.
func (m *merger) assign(path string, dst reflect.Value, value any, r rules) bool {
	t := dst.Type()
	if value == nil {
		dst.SetZero()
		return m.check(path, dst, nil, r)
	}
	if done, ok := m.readItself(path, dst, value, r); done {
		return ok
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
		dst.Set(reflect.ValueOf(clone(value)))
	default:
		fits = false
	}
	if !fits {
		m.report(&Error{Path: path, Given: value, Allowed: allowed(t, r), mismatch: true})
		return false
	}
	return m.check(path, dst, value, r)
}

// readItself tries the field's own method.
func (m *merger) readItself(path string, dst reflect.Value, value any, r rules) (done, ok bool) {
	var err error
	if s, is := dst.Addr().Interface().(Setter); is {
		err = s.SetConfig(value)
	} else if u, is := dst.Addr().Interface().(encoding.TextUnmarshaler); is {
		text, isText := value.(string)
		if !isText {
			return false, false
		}
		err = u.UnmarshalText([]byte(text))
	} else {
		return false, false
	}
	if err != nil {
		m.report(&Error{Path: path, Given: value, Err: err})
		return true, false
	}
	return true, m.check(path, dst, value, r)
}

func (m *merger) assignPointer(path string, dst, v reflect.Value, r rules) bool {
	if v.Type().AssignableTo(dst.Type()) {
		dst.Set(v)
		return m.check(path, dst, v.Interface(), r)
	}
	target := fresh(dst)
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
