package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Every fault's text occurs once in its file, so that the list follows the code.
func TestFaultsApply(t *testing.T) {
	t.Chdir("../../..")
	faults := must.Get(readFaults())(t)
	for _, f := range faults {
		if _, err := f.apply(); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

func TestParseFaults(t *testing.T) {
	const entry = "== swap\nfile: a.go\ntests: ./a ./b\nsays: a is b\ncaught: TestA\n-- was\n\ta, b\n-- now\n\tb, a\n"
	const second = "\n== drop\nfile: c.go\ntests: ./c\nsays: c\n-- was\nc\n-- now\n"
	faults := must.Get(parseFaults("A comment.\n\n" + entry + second))(t)
	want := []fault{{"swap", "a.go", "a is b", "TestA", []string{"./a", "./b"}, "\ta, b", "\tb, a"},
		{"drop", "c.go", "c", "", []string{"./c"}, "c", ""}}
	if !reflect.DeepEqual(faults, want) {
		t.Errorf("parsed %+v, want %+v", faults, want)
	}
	marked := setCaught(setCaught(entry, "swap", "TestOld"), "swap", "TestNew")
	if want := strings.Replace(entry, "TestA", "TestNew", 1); marked != want {
		t.Errorf("marked as caught:\n%s\nwant\n%s", marked, want)
	}
	for _, wrong := range []string{strings.Replace(entry, "b, a", "a, b", 1),
		strings.Replace(entry, "says", "said", 1), strings.Replace(entry, "-- was", "", 1)} {
		if _, err := parseFaults(wrong); err == nil {
			t.Errorf("no error for %q", wrong)
		}
	}
}

func TestJudge(t *testing.T) {
	for output, want := range map[string]string{
		"FAIL\tx [build failed]\n": string(notCompiled),
		"--- FAIL: TestX (0.01s)\n    x_test.go:1: wrong\nFAIL\nFAIL\tx 1s\n":  "TestX",
		"panic: test timed out after 1m\n\trunning tests:\n\t\tTestY (1m0s)\n": "TestY (hangs)",
		"SIGSEGV: segmentation violation\nFAIL\tx 1s\n":                        "the process dies",
	} {
		v, by := judge(output)
		if string(v) != want && by != want {
			t.Errorf("%q: %s by %s, want %s", output, v, by, want)
		}
	}
}
