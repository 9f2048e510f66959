package panics_test

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/spaces"
)

//go:noinline
func lookUp(values []int, i int) int { return values[i] }

//go:noinline
func outer(f func()) { f() }

// The text names the first functions of user code and no caller of gorl's; the whole stack is kept.
func TestTextShowsTheFirstFrames(t *testing.T) {
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { lookUp(nil, 77) },
			`^the arm panicked: runtime error: index out of range \[77\] with length 0 at panics_test.lookUp HERE, ` +
				`panics_test.\S+ HERE$`},
		{func() { panic(io.ErrUnexpectedEOF) }, `^the arm panicked: unexpected EOF at panics_test.\S+ HERE$`},
		{func() { spaces.Unbounded(1).Rows(-1) }, // the innermost frame is gorl's, which the user's function called
			`^the arm panicked: .* at spaces.Space.Rows \(\w+.go:\d+\), panics_test.\S+ HERE$`},
		{func() { slices.SortFunc([]int{2, 1}, func(a, b int) int { panic("no order") }) },
			`^the arm panicked: no order at panics_test.\S+ HERE, slices.\S+ \(zsortanyfunc.go:\d+\), ` +
				`\S+ \(\w+.go:\d+\)$`},
		{func() { outer(func() { outer(func() { outer(func() { panic(3) }) }) }) },
			`^the arm panicked: 3( at|,) [^,]*, [^,]*, [^,]*$`},
	} {
		p := panics.Catch(c.f)
		if p == nil {
			t.Fatalf("%s: not caught", c.want)
		}
		p.What = "the arm"
		if !regexp.MustCompile(strings.ReplaceAll(c.want, "HERE", `\(panics_test.go:\d+\)`)).MatchString(p.Error()) {
			t.Errorf("the error is %v, want it to match %s", p, c.want)
		}
		if !strings.Contains(string(p.Stack), "panics_test.go") || p.Env != -1 {
			t.Errorf("environment %d, stack %s", p.Env, p.Stack)
		}
		if v, ok := p.Value.(error); ok && !errors.Is(p, v) {
			t.Errorf("%v does not wrap its value", p)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _ = panics.Catch(func() {}) }); n != 0 {
		t.Errorf("a call that returns allocates %g times", n)
	}
}
