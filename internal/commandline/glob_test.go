package commandline_test

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"loss*", "Loss / Policy", true}, {"*/*", "a / b", true}, {"a?c", "a\nc", true}, {"a.c", "abc", false},
		{"*", "", true}, {"\xff*", "\xff\xfe", true}, {"\xff", "a", false}, {"[", "[", true},
	} {
		must.Equal(t, c.pattern+" and "+c.name, c.want, commandline.Globs([]string{"never", c.pattern})(c.name))
	}
	if commandline.Globs(nil)("a") {
		t.Error("no pattern matches")
	}
}
