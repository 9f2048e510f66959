// Package must has checks of errors that are one line in a test.
package must

import (
	"strings"
	"testing"
)

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns the first of two results, and ends the test if the second is an error: must.Value(f())(t).
func Value[T any](x T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return x
	}
}

// Refuse fails the test if err is nil or its text lacks one of the parts. what names the case.
func Refuse(t testing.TB, what any, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: error %v, want one with %q", what, err, part)
		}
	}
}

// Refused is [Refuse] for a call with two results: must.Refused(f())(t, "a case", "part of the text").
func Refused[T any](_ T, err error) func(t testing.TB, what any, parts ...string) {
	return func(t testing.TB, what any, parts ...string) {
		t.Helper()
		Refuse(t, what, err, parts...)
	}
}
