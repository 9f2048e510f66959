// Package must holds what tests ask of errors and values.
package must

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
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

// Refused is [Refuse] for a call that also returns a value: must.Refused(f())(t, parts...).
func Refused[T any](_ T, err error) func(t testing.TB, parts ...string) {
	return func(t testing.TB, parts ...string) {
		t.Helper()
		Refuse(t, err, parts...)
	}
}

// RefuseAs is [Refuse] for one of several cases, which what names.
func RefuseAs(t testing.TB, what any, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%v: no error; want one that mentions %q", what, parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: error %v, want one with %q", what, err, part)
		}
	}
}

// RefusedAs is [RefuseAs] for a call that also returns a value: must.RefusedAs(f())(t, what, parts...).
func RefusedAs[T any](_ T, err error) func(t testing.TB, what any, parts ...string) {
	return func(t testing.TB, what any, parts ...string) {
		t.Helper()
		RefuseAs(t, what, err, parts...)
	}
}

// Match ends the test at a difference, which it shows behind a description.
func Match(t testing.TB, want, got any, format string, args ...any) {
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

// Read returns what is in a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	Do(t, err)
	return data
}

// Run runs a command, which must end with 0, and returns what it writes.
func Run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// Equal reports where what a test got differs from what it wants. The test goes on.
func Equal(t testing.TB, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%.3000s", what, diff)
	}
}

// Refuse reports an error that is missing, or that does not mention all parts. The test goes on.
func Refuse(t testing.TB, err error, parts ...string) {
	t.Helper()
	RefuseAs(t, "refusal", err, parts...)
}
