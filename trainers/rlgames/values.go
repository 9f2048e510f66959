package rlgames

import (
	"math"
	"strconv"
)

// kind is the type of a key's value. Values of a conversion have the Go type of their kind: number is float64, whole is
// int, boolean is bool, text is string, list is []any, and anything is what YAML gives.
type kind int

const (
	anything kind = iota
	number
	whole
	boolean
	text
	list
)

// want returns what an error says about a value of another type.
func (k kind) want() string {
	return [...]string{"a value", "a number", "a whole number", "True or False", "a text", "a list"}[k]
}

// read returns value in the Go type of its kind. ok is false for a value of another type. Numbers may be texts, because
// PyYAML reads 1e-4 as a text, and must be finite. Whole numbers are limited to ±2⁵³, which float64 holds exactly.
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

// toNumber returns a number or a numeric text. ok is false for other values (booleans, too), NaN and infinities.
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

// given reports whether the file has a value at a path below params. null and the text None count as missing.
func (c *conversion) given(path string) bool { _, ok := c.values[path]; return ok }

// get returns the value at a path below params, or rl_games' default (key.fallback), or T's zero value. T must be the
// Go type of the key's kind, or any: with another type get would silently return the zero value.
func get[T any](c *conversion, path string) T {
	if v, ok := c.values[path].(T); ok {
		return v
	}
	v, _ := table[path].fallback.(T)
	return v
}

// number, whole, flag and text are get for keys of the kinds number, whole, boolean and text.
func (c *conversion) number(path string) float64 { return get[float64](c, path) }
func (c *conversion) whole(path string) int      { return get[int](c, path) }
func (c *conversion) flag(path string) bool      { return get[bool](c, path) }
func (c *conversion) text(path string) string    { return get[string](c, path) }
