package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

const faultList = "internal/test/mutants/faults.txt"

// fault is one entry of faults.txt:
//
//	== name
//	file: pbt/exploit.go
//	tests: ./pbt ./internal/test/populations
//	says: what goes wrong for a user
//	caught: TestThatFails
//	-- was
//	the exact text, which occurs once in the file
//	-- now
//	the faulty text
//
// Lines before the first entry are comments.
type fault struct {
	name, file, says string
	caught           string // the test that failed last time; empty if none is known
	packages         []string
	was, now         string
}

// readFaults reads the list. The present folder is the root of the repository.
func readFaults() ([]fault, error) {
	text, err := os.ReadFile(faultList)
	if err != nil {
		return nil, fmt.Errorf("run this command in the root of the repository: %w", err)
	}
	var faults []fault
	entries := strings.Split("\n"+strings.TrimRight(string(text), "\n"), "\n== ")
	for _, entry := range entries[1:] {
		head, change, _ := strings.Cut(entry, "\n-- was\n")
		was, now, _ := strings.Cut(change, "\n-- now")
		lines := strings.Split(head, "\n")
		f := fault{name: lines[0], was: was, now: strings.Trim(now, "\n")}
		for _, line := range lines[1:] {
			switch key, value, _ := strings.Cut(line, ": "); key {
			case "file":
				f.file = value
			case "tests":
				f.packages = strings.Fields(value)
			case "says":
				f.says = value
			case "caught":
				f.caught = value
			default:
				return nil, fmt.Errorf("fault %s: unknown line %q", f.name, line)
			}
		}
		if f.file == "" || f.says == "" || len(f.packages) == 0 || f.was == f.now {
			return nil, fmt.Errorf("fault %s needs file, tests, says, -- was and -- now", f.name)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// apply returns the file with the fault in it. It fails unless the text occurs exactly once.
func (f fault) apply() (string, error) {
	source, err := os.ReadFile(f.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), f.was); n != 1 {
		return "", fmt.Errorf("%s has the text %d times, not once", f.file, n)
	}
	return strings.Replace(string(source), f.was, f.now, 1), nil
}

// recordCatch writes into the list which test caught a fault.
func recordCatch(name, test string) error {
	text, err := os.ReadFile(faultList)
	if err != nil {
		return err
	}
	entry := `(?m)^(== ` + regexp.QuoteMeta(name) + `\n(?:(?:file|tests|says): .*\n)*)(?:caught: .*\n)?`
	text = regexp.MustCompile(entry).ReplaceAll(text, []byte("${1}caught: "+test+"\n"))
	return os.WriteFile(faultList, text, 0o666)
}
