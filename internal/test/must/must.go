// Package must holds what tests ask of errors and values.
package must

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	if err != nil {
		t.Helper()
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
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Helper()
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Helper()
		t.Fatalf("%s (-want +got):\n%s", fmt.Sprintf(format, args...), diff)
	}
}

// Is ends the test unless got is want. The description is of what was got.
func Is[T comparable](t testing.TB, got, want T, format string, args ...any) {
	if got != want {
		t.Helper()
		t.Fatalf("%s: %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// Near is [Is] for numbers, within a tolerance.
func Near(t testing.TB, got, want, tolerance float64, format string, args ...any) {
	if !(math.Abs(got-want) <= tolerance) {
		t.Helper()
		t.Fatalf("%s: %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// Same is [Is] for slices.
func Same[E comparable](t testing.TB, got, want []E, format string, args ...any) {
	if !slices.Equal(got, want) {
		t.Helper()
		t.Fatalf("%s: %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// Open is [Get] for what must be closed at the end of the test: must.Open(f())(t).
func Open[T io.Closer](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		t.Cleanup(func() { Do(t, value.Close()) })
		return value
	}
}
