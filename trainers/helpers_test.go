package trainers_test

import (
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
)

var must, wantError = check.Do, check.RefuseAs

// value returns the first of two results and ends the test on an error: value(f())(t).
func value[T any](x T, err error) func(t testing.TB) T { return check.Get(x, err) }

// refused is wantError for a call with two results: refused(f())(t, "a case", "part of the text").
func refused[T any](x T, err error) func(t testing.TB, what any, parts ...string) {
	return check.RefusedAs(x, err)
}
