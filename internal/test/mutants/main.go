// Command mutants makes deliberate faults, one at a time, and checks that a test fails. It shows that a shorter suite
// catches as much as a longer one did.
//
//	go run ./internal/test/mutants [-run REGEXP] [-update]
//
// faults.go reads the list of faults, faults.txt. build.go runs the tests of a fault. The source stays as it is: the
// faulty file replaces the sound one only in the build (go test -overlay).
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	run := flag.String("run", "", "make only the faults whose name or file matches this regular expression")
	update := flag.Bool("update", false, "write into the list which test caught each fault")
	flag.Parse()
	if err := makeFaults(*run, *update); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// makeFaults makes the faults that match, prints what became of each, and fails unless all were caught.
func makeFaults(pattern string, update bool) error {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	faults, err := readFaults()
	if err != nil {
		return err
	}
	faults = slices.DeleteFunc(faults, func(f fault) bool {
		return !match.MatchString(f.name) && !match.MatchString(f.file)
	})
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
