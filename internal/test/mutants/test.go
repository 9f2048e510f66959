package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// What became of a fault.
const (
	caught      = "caught"
	missed      = "MISSED"
	notCompiled = "DOES NOT COMPILE"
	notFound    = "TEXT NOT FOUND"
)

// testFault runs the tests of a fault's packages, one package after another, until one fails. It returns the verdict
// and the test that failed.
func testFault(f fault, timeout time.Duration) (verdict, by string) {
	source, err := os.ReadFile(f.file)
	if err != nil {
		return notFound, err.Error()
	}
	faulty, err := f.apply(string(source))
	if err != nil {
		return notFound, err.Error()
	}
	overlay, remove, err := writeOverlay(f.file, faulty)
	if err != nil {
		return notCompiled, err.Error()
	}
	defer remove()
	for _, pkg := range f.packages {
		args := []string{"test", "-short", "-failfast", "-count=1", "-vet=off", "-timeout", timeout.String()}
		output, err := exec.Command("go", append(args, "-overlay", overlay, pkg)...).CombinedOutput()
		if err == nil {
			continue
		}
		return judge(string(output))
	}
	return missed, ""
}

// writeOverlay writes the faulty source and the JSON file by which go build takes it instead of the sound one.
func writeOverlay(file, faulty string) (overlay string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(folder) }
	sound, err := filepath.Abs(file)
	if err != nil {
		return "", remove, err
	}
	replacement := filepath.Join(folder, filepath.Base(file))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{sound: replacement}})
	if err != nil {
		return "", remove, err
	}
	if err := os.WriteFile(replacement, []byte(faulty), 0o666); err != nil {
		return "", remove, err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, remove, os.WriteFile(overlay, replace, 0o666)
}

var (
	buildFailed = regexp.MustCompile(`(?m)^FAIL\s.*\[(build|setup) failed\]$`)
	failedTest  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	hungTest    = regexp.MustCompile(`(?m)^\t+(Test\S+) \(`)
)

// judge reads the output of tests that failed.
func judge(output string) (verdict, by string) {
	if buildFailed.MatchString(output) {
		return notCompiled, "\n" + output
	}
	if strings.Contains(output, "panic: test timed out") {
		if m := hungTest.FindStringSubmatch(output); m != nil {
			return caught, m[1] + " (hangs)"
		}
	}
	if m := failedTest.FindStringSubmatch(output); m != nil {
		return caught, m[1]
	}
	return caught, "the process dies"
}
