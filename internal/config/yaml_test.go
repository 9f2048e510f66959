package config

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestFromYAML(t *testing.T) {
	const text = "agent:\n  lr: 1e-4\n  layers: [64, 32]\n  kwargs: null\n  ok: yes\nlimit: .inf\n"
	got := must.Get(FromYAML([]byte(text)))(t)
	want := map[string]any{"agent": map[string]any{"lr": 1e-4, "layers": []any{64, 32}, "kwargs": nil, "ok": "yes"},
		"limit": math.Inf(1)}
	must.Equal(t, "the file", want, got)
	for _, empty := range []string{"", "# only a comment\n", "---\n", "null\n"} {
		if got, err := FromYAML([]byte(empty)); err != nil || len(got) != 0 {
			t.Errorf("%q gives %v, %v", empty, got, err)
		}
	}
}

func TestFromYAMLErrors(t *testing.T) {
	nine := func(x string) string { return "[" + strings.Repeat(x+",", 8) + x + "]" }
	tests := []struct{ name, yaml, want string }{
		{"duplicate", "a: 1\nb: 2\na: 3\n", `line 3: mapping key "a" already defined at line 1`},
		{"tab", "a:\n\tb: 1\n", "line 2"},
		{"list on top", "- 1\n- 2\n", "line 1: the top level must be a mapping"},
		{"number key", "a: 1\n3: x\n", `line 2: key "3" is not a string`},
		{"two documents", "a: 1\n---\nb: 2\n", "a second document"},
		{"runaway aliases", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b " + nine("*a") + "\nc: &c " + nine("*b") +
			"\nd: &d " + nine("*c") + "\ne: &e " + nine("*d") + "\nf: &f " + nine("*e") + "\ng: " + nine("*f") + "\n",
			"excessive aliasing"},
	}
	for _, test := range tests {
		must.RefusedAs(FromYAML([]byte(test.yaml)))(t, test.name, test.want)
	}
}

// FuzzYAML checks that whatever a file contains, a merge either succeeds with values that pass Check, or changes
// nothing.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"learning_rate: [1e-3, 2]\nlambda: 0.9\n", "mini_batches: two\n",
		"experiment: {write_interval: auto}\nseed: 3\n",
		"kwargs: {a: [.nan, {b: .inf}]}\n", "a: &a {x: 1}\nkwargs: {<<: *a}\n",
		"range: [1, 2]\nlimit: .inf\nevery: 3s\n",
		"terms: [{name: a}, {weight: -1}]\n", "? [a]\n: 1\n", "learning_rate: 2001-01-01\n",
		"sampler: {w: 1, weight: 2}\n",
		"rules: {x: a}\nsmall: -129\ncapacity: 1e10\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dict, err := FromYAML(data)
		if err != nil {
			return
		}
		got := defaults()
		if err := Merge(&got, dict, Options{Prefix: "amp", Aliases: aliases}); err != nil {
			must.Equal(t, "changed on error "+err.Error(), defaults(), got, compare)
			return
		}
		must.Do(t, Check(got, "amp"))
	})
}
