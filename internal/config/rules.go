package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rules are what a config tag asks of a value.
type rules struct {
	min, max, gt, lt *float64
	oneof            []string
	minLen, maxLen   *int
	inf              bool
}

func parseRules(tag string) (rules, error) {
	var r rules
	if tag == "" {
		return r, nil
	}
	numbers := map[string]**float64{"min": &r.min, "max": &r.max, "gt": &r.gt, "lt": &r.lt}
	lengths := map[string]**int{"minlen": &r.minLen, "maxlen": &r.maxLen}
	for part := range strings.SplitSeq(tag, ",") {
		name, text, _ := strings.Cut(part, "=")
		var err error
		switch {
		case numbers[name] != nil:
			*numbers[name], err = number(text)
		case lengths[name] != nil:
			*lengths[name], err = length(text)
		case name == "oneof":
			r.oneof = strings.Split(text, "|")
		case name == "inf":
			r.inf = true
		default:
			err = fmt.Errorf("unknown rule %q", part)
		}
		if err != nil {
			return rules{}, fmt.Errorf("config tag %q: %w", tag, err)
		}
	}
	return r, nil
}

func number(text string) (*float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	return &f, err
}

func length(text string) (*int, error) {
	n, err := strconv.Atoi(text)
	return &n, err
}

// holds reports whether a scalar keeps the rules. Values of other kinds always do.
func (r rules) holds(v reflect.Value) bool {
	choice := func(text string) bool { return r.oneof == nil || slices.Contains(r.oneof, text) }
	switch k := v.Kind(); {
	case k == reflect.String:
		return choice(v.String())
	case v.CanInt():
		return choice(strconv.FormatInt(v.Int(), 10)) && r.inRange(float64(v.Int()))
	case v.CanUint():
		return choice(strconv.FormatUint(v.Uint(), 10)) && r.inRange(float64(v.Uint()))
	case v.CanFloat():
		return r.inRange(v.Float())
	}
	return true
}

// tooLarge says that float32, in which gorl computes, has no such number.
func tooLarge(f float64) bool { return math.Abs(f) > math.MaxFloat32 && !math.IsInf(f, 0) }

func (r rules) inRange(f float64) bool {
	switch {
	case math.IsNaN(f), math.IsInf(f, 0) && !r.inf, tooLarge(f):
		return false
	case r.min != nil && f < *r.min, r.max != nil && f > *r.max:
		return false
	case r.gt != nil && f <= *r.gt, r.lt != nil && f >= *r.lt:
		return false
	}
	return true
}

func (r rules) holdsLength(n int) bool {
	return (r.minLen == nil || n >= *r.minLen) && (r.maxLen == nil || n <= *r.maxLen)
}

// allowed says what a field of type t takes, as it follows "want".
func allowed(t reflect.Type, r rules) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration" + r.bounds() + ` such as "90s" or "1h30m"`
	}
	if len(r.oneof) > 0 && t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
		return "one of " + r.choices(t)
	}
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return allowed(t.Elem(), r) + ", or null"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number" + r.bounds()
	case k >= reflect.Uint && k <= reflect.Uint64:
		if r.min == nil && r.gt == nil {
			zero := 0.0
			r.min = &zero
		}
		return "an integer" + r.bounds()
	case isNumber(k):
		return "an integer" + r.bounds()
	case k == reflect.String:
		return "a string"
	case k == reflect.Slice || k == reflect.Array:
		return listAllowed(t, r)
	case k == reflect.Map || k == reflect.Struct:
		return "a mapping"
	case k == reflect.Interface && t.NumMethod() == 0:
		return "any value"
	}
	return "a Go value of type " + t.String()
}

func (r rules) choices(t reflect.Type) string {
	quoted := make([]string, len(r.oneof))
	for i, c := range r.oneof {
		quoted[i] = c
		if !isNumber(t.Kind()) {
			quoted[i] = strconv.Quote(c)
		}
	}
	return strings.Join(quoted, ", ")
}

// bounds is " ≥ 1", " in (0, 1]" or "".
func (r rules) bounds() string {
	text := func(f float64) string {
		if f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return strconv.FormatFloat(f, 'f', -1, 64) // 1048576, not 1.048576e+06
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	one := func(strict bool, yes, no string) string { return map[bool]string{true: yes, false: no}[strict] }
	switch low, high := cmp.Or(r.gt, r.min), cmp.Or(r.lt, r.max); {
	case low != nil && high != nil:
		return " in " + one(low == r.gt, "(", "[") + text(*low) + ", " + text(*high) + one(high == r.lt, ")", "]")
	case low != nil:
		return one(low == r.gt, " > ", " ≥ ") + text(*low)
	case high != nil:
		return one(high == r.lt, " < ", " ≤ ") + text(*high)
	}
	return ""
}

func listAllowed(t reflect.Type, r rules) string {
	count := ""
	switch {
	case t.Kind() == reflect.Array:
		count = fmt.Sprintf(" of %d", t.Len())
	case r.minLen != nil && r.maxLen != nil && *r.minLen == *r.maxLen:
		count = fmt.Sprintf(" of %d", *r.minLen)
	case r.minLen != nil && r.maxLen != nil:
		count = fmt.Sprintf(" of %d to %d", *r.minLen, *r.maxLen)
	case r.minLen != nil:
		count = fmt.Sprintf(" of at least %d", *r.minLen)
	case r.maxLen != nil:
		count = fmt.Sprintf(" of at most %d", *r.maxLen)
	}
	one := allowed(t.Elem(), r.element())
	if t.Kind() == reflect.Slice && r.holdsLength(1) { // one value is a list of one
		if count == "" {
			count = " of such"
		}
		return one + ", or a list" + count
	}
	return "a list" + count + ", each " + one
}
