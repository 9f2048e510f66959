package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// fault is one entry of faults.txt:
//
//	== name
//	file: pbt/state.go
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
	name, file, says, caught string
	packages                 []string
	was, now                 string
}

func parseFaults(text string) ([]fault, error) {
	var faults []fault
	names := map[string]bool{}
	entries := strings.Split("\n"+strings.TrimRight(text, "\n"), "\n== ")
	for _, entry := range entries[1:] {
		head, change, found := strings.Cut(entry, "\n-- was\n")
		was, now, found2 := strings.Cut(change, "\n-- now")
		lines := strings.Split(head, "\n")
		f := fault{name: lines[0], was: was, now: strings.TrimLeft(strings.TrimRight(now, "\n"), "\n")}
		for _, line := range lines[1:] {
			key, value, _ := strings.Cut(line, ": ")
			switch key {
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
		switch {
		case !found || !found2 || f.file == "" || f.says == "" || len(f.packages) == 0:
			return nil, fmt.Errorf("fault %s needs file, tests, says, -- was and -- now", f.name)
		case f.was == f.now:
			return nil, fmt.Errorf("fault %s changes nothing", f.name)
		case names[f.name]:
			return nil, fmt.Errorf("two faults are named %s", f.name)
		}
		names[f.name] = true
		faults = append(faults, f)
	}
	return faults, nil
}

// apply returns the source with the fault in it. It fails unless the text occurs exactly once.
func (f fault) apply(source string) (string, error) {
	if n := strings.Count(source, f.was); n != 1 {
		return "", fmt.Errorf("%s has the text %d times, not once", f.file, n)
	}
	return strings.Replace(source, f.was, f.now, 1), nil
}

// recordCatch writes the test that caught a fault into the list.
func recordCatch(name, test string) error {
	text, err := os.ReadFile(faultList)
	if err != nil {
		return err
	}
	return os.WriteFile(faultList, []byte(setCaught(string(text), name, test)), 0o666)
}

func setCaught(text, name, test string) string {
	head := regexp.MustCompile(`(?m)^== ` + regexp.QuoteMeta(name) + `\n(?:(?:file|tests|says): .*\n)*(?:caught: .*\n)?`)
	return head.ReplaceAllStringFunc(text, func(entry string) string {
		entry, _, _ = strings.Cut(entry, "caught: ")
		return entry + "caught: " + test + "\n"
	})
}
