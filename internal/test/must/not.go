package must

import "testing"

// Not ends the test if it has failed. The description says what was got.
func Not(t testing.TB, failed bool, format string, args ...any) {
	if failed {
		t.Helper()
		t.Fatalf(format, args...)
	}
}
