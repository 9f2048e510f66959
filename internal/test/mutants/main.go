// Command mutants makes deliberate faults, one at a time, and checks that a test fails. It shows that a shorter suite
// catches as much as a longer one did.
//
//	go run ./internal/test/mutants [-run REGEXP] [-list] [-short] [-update]
//
// faults.go reads the list of faults, faults.txt. build.go runs the tests of a fault. The source stays as it is: the
// faulty file replaces the sound one only in the build (go test -overlay).
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"time"
)

func main() {
	run := flag.String("run", "", "make only the faults whose name or file matches this regular expression")
	list := flag.Bool("list", false, "print the faults and make none")
	short := flag.Bool("short", false, "make only the first fault of each folder")
	update := flag.Bool("update", false, "write into the list which test caught each fault")
	flag.Parse()
	faults, err := readFaults()
	if err == nil {
		faults, err = selectFaults(faults, *run, *short)
	}
	if err == nil && *list {
		for _, f := range faults {
			fmt.Printf("%-36s %-40s %s\n", f.name, f.file, f.says)
		}
	} else if err == nil {
		err = makeFaults(faults, *update)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// selectFaults returns the faults that match. With short it returns only the first of each folder.
func selectFaults(faults []fault, pattern string, short bool) ([]fault, error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var selected []fault
	seen := map[string]bool{}
	for _, f := range faults {
		folder := path.Dir(f.file)
		if short && seen[folder] || !match.MatchString(f.name) && !match.MatchString(f.file) {
			continue
		}
		seen[folder] = true
		selected = append(selected, f)
	}
	return selected, nil
}

// makeFaults makes the faults, prints what became of each, and fails unless all were caught.
func makeFaults(faults []fault, update bool) error {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var failed []string
	for _, f := range faults {
		start := time.Now()
		v, detail := makeFault(f, folder)
		fmt.Printf("%-18s %-36s %4.0f s  %s\n", v, f.name, time.Since(start).Seconds(), detail)
		if v != caught {
			failed = append(failed, fmt.Sprintf("%-18s %s (%s): %s", v, f.name, f.file, f.says))
		} else if update {
			if err := recordCatch(f.name, detail); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\n%d of %d faults are caught.\n", len(faults)-len(failed), len(faults))
	if len(failed) > 0 {
		return fmt.Errorf("not caught:\n%s", strings.Join(failed, "\n"))
	}
	return nil
}
