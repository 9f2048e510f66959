package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Error is one thing wrong with a configuration.
type Error struct {
	// Prefix is the package concerned, e.g. "amp". May be empty.
	Prefix string
	// Path is the key as it was given, dotted through sections: "experiment.directory", "learning_rate[1]".
	Path string
	// Given is the value that was given.
	Given any
	// Allowed says what the key takes, e.g. "an integer ≥ 1". Empty for unknown keys.
	Allowed string
	// Nearest is the known key (or choice) closest to the one given, empty where none is close.
	Nearest string
	// Unknown says that there is no such key.
	Unknown bool
	// Reason stands instead of "want " + Allowed where the problem is of another kind. Of an unknown key it is the
	// hint.
	Reason string
	// Err is what a Setter returned.
	Err error

	// mismatch says that Given is of the wrong type, so that the message names its type.
	mismatch bool
}

// Error is, for example: amp: "mini_batches" is "two" (string): want an integer ≥ 1
func (e *Error) Error() string {
	text := e.message(quote(e.Path), ": ")
	if e.Prefix != "" {
		return e.Prefix + ": " + text
	}
	return text
}

// Plain returns the message as it follows the name of a file and a line: without Prefix, the path without quotes. For
// example: agent.mini_batches is "two" (string); want an integer ≥ 1
func (e *Error) Plain() string { return e.message(shorten(e.Path), "; ") }

// message writes the error. path is Path as the message shows it, and sep stands between what was given and what is
// wrong with it.
func (e *Error) message(path, sep string) string {
	var b strings.Builder
	if e.Unknown {
		fmt.Fprintf(&b, "unknown key %s (given %s)", path, show(e.Given))
		if e.Reason != "" {
			b.WriteString(sep + e.Reason)
		}
	} else {
		fmt.Fprintf(&b, "%s is %s", path, show(e.Given))
		if e.mismatch {
			if name := kindName(e.Given); name != "" {
				b.WriteString(" (" + name + ")")
			}
		}
		switch {
		case e.Reason != "":
			b.WriteString(sep + e.Reason)
		case e.Err != nil:
			b.WriteString(sep + e.Err.Error())
		default:
			b.WriteString(sep + "want " + e.Allowed)
		}
	}
	if e.Nearest != "" {
		if !e.Unknown {
			sep = "; "
		}
		fmt.Fprintf(&b, "%sdid you mean %s?", sep, quote(e.Nearest))
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Under returns err as the error of a section of a larger dictionary. The paths of all its Errors begin with the
// section, and their Prefix is prefix. Every other error gets prefix and section in front of its text.
func Under(prefix, section string, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		lifted := *e
		lifted.Prefix, lifted.Path = prefix, section+"."+e.Path
		if e.Unknown && e.Nearest != "" {
			lifted.Nearest = section + "." + e.Nearest
		}
		return &lifted
	case interface{ Unwrap() []error }:
		errs := make([]error, 0, len(e.Unwrap()))
		for _, one := range e.Unwrap() {
			errs = append(errs, Under(prefix, section, one))
		}
		return errors.Join(errs...)
	}
	return fmt.Errorf("%s: %s: %w", prefix, section, err)
}

const maxShown = 80

func quote(s string) string { return strconv.Quote(shorten(s)) }

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

// show writes a value as a user would have written it.
func show(v any) string {
	if v == nil {
		return "null"
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.String:
		return quote(Redact(rv.String()))
	case reflect.Float32:
		return strconv.FormatFloat(rv.Float(), 'g', -1, 32)
	case reflect.Float64:
		return strconv.FormatFloat(rv.Float(), 'g', -1, 64)
	case reflect.Func, reflect.Chan:
		return rv.Type().String()
	case reflect.Map, reflect.Slice, reflect.Array:
		if text, err := json.Marshal(v); err == nil {
			return shorten(Redact(string(text)))
		}
	}
	return shorten(fmt.Sprintf("%v", v))
}

// kindName names a value's type in a user's words; empty where the value shows it already.
func kindName(v any) string {
	if v == nil {
		return ""
	}
	t := reflect.TypeOf(v)
	if k := t.Kind(); isNumber(k) || k == reflect.Func || k == reflect.Chan {
		return ""
	}
	return cmp.Or(kindNames[t.Kind()], t.String())
}

var kindNames = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "bool", reflect.Map: "mapping",
	reflect.Slice: "list", reflect.Array: "list"}

func isNumber(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

// Redacted replaces the password of an address wherever settings are written.
const Redacted = "***"

var (
	password = regexp.MustCompile(`(://[^/?#\s:@"]*:)([^\s"]*)@`)
	port     = regexp.MustCompile(`^\d{1,5}[/?#]`) // a port, followed by a path, in which an @ does not end a password
)

// Redact replaces the passwords of addresses (scheme://user:password@host) in a text by [Redacted].
func Redact(text string) string {
	return password.ReplaceAllStringFunc(text, func(match string) string {
		if parts := password.FindStringSubmatch(match); !port.MatchString(parts[2]) {
			return parts[1] + Redacted + "@"
		}
		return match
	})
}
