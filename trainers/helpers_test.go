package trainers_test

import (
	"strings"
	"testing"
)

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value returns the first of two results and ends the test on an error: value(f())(t).
func value[T any](x T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return x
	}
}

// wantError fails the test if an error is missing or lacks a part of its text.
func wantError(t testing.TB, what string, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want one with %q", what, err, part)
		}
	}
}
