package main

import (
	"os"
	"strings"
	"testing"
)

// Every fault's text occurs once in its file, so that the list follows the code.
func TestFaultsApply(t *testing.T) {
	if err := os.Chdir("../../.."); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(faultList)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := parseFaults(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		source, err := os.ReadFile(f.file)
		if err == nil {
			_, err = f.apply(string(source))
		}
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

func TestParseFaults(t *testing.T) {
	const entry = "== swap\nfile: a.go\ntests: ./a ./b\nsays: a is b\n-- was\n\ta, b\n-- now\n\tb, a\n"
	faults, err := parseFaults("A comment.\n\n" + entry + "\n== drop\nfile: c.go\ntests: ./c\nsays: c\n-- was\nc\n-- now\n")
	if err != nil {
		t.Fatal(err)
	}
	if f := faults[0]; len(faults) != 2 || f.was != "\ta, b" || f.now != "\tb, a" || len(f.packages) != 2 || f.says != "a is b" {
		t.Errorf("parsed %+v", faults)
	}
	if f := faults[1]; f.was != "c" || f.now != "" {
		t.Errorf("parsed %+v", f)
	}
	if got, err := faults[0].apply("x\ta, b\n"); err != nil || got != "x\tb, a\n" {
		t.Errorf("applied: %q, %v", got, err)
	}
	marked := setCaught(setCaught(entry, "swap", "TestOld"), "swap", "TestNew")
	if want := strings.Replace(entry, "-- was", "caught: TestNew\n-- was", 1); marked != want {
		t.Errorf("marked as caught:\n%s\nwant\n%s", marked, want)
	}
	for _, wrong := range []string{entry + entry, strings.Replace(entry, "b, a", "a, b", 1),
		strings.Replace(entry, "says", "said", 1), strings.Replace(entry, "-- now", "", 1)} {
		if _, err := parseFaults(wrong); err == nil {
			t.Errorf("no error for %q", wrong)
		}
	}
}

func TestJudge(t *testing.T) {
	for output, want := range map[string]string{
		"FAIL\tx [build failed]\n": notCompiled,
		"--- FAIL: TestX (0.01s)\n    x_test.go:1: wrong\nFAIL\nFAIL\tx 1s\n":  "TestX",
		"panic: test timed out after 1m\n\trunning tests:\n\t\tTestY (1m0s)\n": "TestY (hangs)",
		"SIGSEGV: segmentation violation\nFAIL\tx 1s\n":                        "the process dies",
	} {
		verdict, by := judge(output)
		if verdict != want && by != want {
			t.Errorf("%q: %s by %s, want %s", output, verdict, by, want)
		}
	}
}
