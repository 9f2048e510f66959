// Package must holds what tests ask of errors and values.
package must

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns a value that comes without an error: must.Get(f())(t).
func Get[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Fail fails the test unless err contains text.
func Fail(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}

// Refuse is [Fail] for a call that also returns a value: must.Refuse(f())(t, text).
func Refuse[T any](_ T, err error) func(t testing.TB, text string) {
	return func(t testing.TB, text string) {
		t.Helper()
		Fail(t, err, text)
	}
}

// Equal ends the test at a difference, which it shows behind a description.
func Equal(t testing.TB, want, got any, format string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", fmt.Sprintf(format, args...), diff)
	}
}
