package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// verdict says what became of a fault.
type verdict string

const (
	caught      verdict = "caught"
	missed      verdict = "MISSED"
	notCompiled verdict = "DOES NOT COMPILE"
	notFound    verdict = "TEXT NOT FOUND"
)

// makeFault runs the tests of a fault's packages, one package after another, until one fails. The test that caught the
// fault last time runs before all others. The detail is the test that failed, or an error. Tests that hang count as
// failed: that test after two minutes, all after eight.
func makeFault(f fault, folder string) (v verdict, detail string) {
	faulty, err := f.apply()
	if err != nil {
		return notFound, err.Error()
	}
	overlay, err := writeOverlay(folder, f.file, faulty)
	if err != nil {
		return notCompiled, err.Error()
	}
	runs := [][2]string{{".", "8m"}}
	if test := testName.FindString(f.caught); test != "" {
		runs = [][2]string{{"^" + test + "$", "2m"}, runs[0]}
	}
	for _, run := range runs {
		for _, pkg := range f.packages {
			output, err := exec.Command("go", "test", "-short", "-failfast", "-count=1", "-vet=off",
				"-overlay", overlay, "-run", run[0], "-timeout", run[1], pkg).CombinedOutput()
			if err != nil {
				return judge(string(output))
			}
		}
	}
	return missed, ""
}

// writeOverlay writes the faulty source and the JSON file by which go build takes it instead of the sound one.
func writeOverlay(folder, file, faulty string) (overlay string, err error) {
	sound, err := filepath.Abs(file)
	replacement, overlay := filepath.Join(folder, filepath.Base(file)), filepath.Join(folder, "overlay.json")
	err = errors.Join(err, os.WriteFile(replacement, []byte(faulty), 0o666))
	replace := fmt.Appendf(nil, `{"Replace": {%q: %q}}`, sound, replacement)
	return overlay, errors.Join(err, os.WriteFile(overlay, replace, 0o666))
}

// testName finds the function in the name of a test such as "TestX/part" or "TestX (hangs)".
var testName = regexp.MustCompile(`^Test\w+`)

var buildFailed = regexp.MustCompile(`(?m)^FAIL\s.*\[(build|setup) failed\]$`)

// failedTest finds a test that failed, or one that ran when time was over.
var failedTest = regexp.MustCompile(`(?m)^(?:--- FAIL: |\t\t)(\S+) \([0-9]`)

// judge reads the output of tests that failed.
func judge(output string) (v verdict, detail string) {
	m := failedTest.FindStringSubmatch(output)
	switch {
	case buildFailed.MatchString(output):
		return notCompiled, "\n" + output
	case m == nil:
		return caught, "the process dies"
	case strings.Contains(output, "panic: test timed out"):
		return caught, m[1] + " (hangs)"
	}
	return caught, m[1]
}
