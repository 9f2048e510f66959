package rlgames

import (
	"math"
	"strconv"
)

// kind is what the value of a key is.
type kind int

const (
	anything kind = iota
	number
	whole
	boolean
	text
	list
)

// want says what a kind of value takes.
func (k kind) want() string {
	return [...]string{"a value", "a number", "a whole number", "True or False", "a text", "a list"}[k]
}

// read returns a value in Go's type of its kind. Numbers may be texts, as PyYAML reads 1e-4, and are finite.
func (k kind) read(value any) (any, bool) {
	switch k {
	case number, whole:
		x, ok := toNumber(value)
		if !ok || k == number {
			return x, ok
		}
		n := int(x)
		return n, float64(n) == x && math.Abs(x) <= 1<<53
	case boolean:
		b, ok := value.(bool)
		return b, ok
	case text:
		s, ok := value.(string)
		return s, ok
	case list:
		l, ok := value.([]any)
		return l, ok
	}
	return value, true
}

func toNumber(value any) (float64, bool) {
	x, ok := 0.0, true
	switch v := value.(type) {
	case float64:
		x = v
	case int:
		x = float64(v)
	case string:
		var err error
		x, err = strconv.ParseFloat(v, 64)
		ok = err == nil
	default:
		ok = false
	}
	return x, ok && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// given reports whether the file has a value at a path.
func (c *conversion) given(path string) bool { _, ok := c.values[path]; return ok }

// get returns the value at a path, else the default of its key.
func get[T any](c *conversion, path string) T {
	if v, ok := c.values[path].(T); ok {
		return v
	}
	v, _ := table[path].fallback.(T)
	return v
}

func (c *conversion) number(path string) float64 { return get[float64](c, path) }
func (c *conversion) whole(path string) int      { return get[int](c, path) }
func (c *conversion) flag(path string) bool      { return get[bool](c, path) }
func (c *conversion) text(path string) string    { return get[string](c, path) }
