package main

import (
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
