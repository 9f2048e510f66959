// Command mutants makes deliberate faults, one at a time, and checks that a test fails. It shows that a shorter suite
// catches as much as a longer one did.
//
//	go run ./internal/test/mutants [-run REGEXP] [-list] [-short] [-update]
//
// faults.go reads the list of faults, faults.txt. test.go runs the tests of a fault. The source is not changed: the
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

const faultList = "internal/test/mutants/faults.txt"

func main() {
	run := flag.String("run", "", "make only the faults whose name or file matches this regular expression")
	list := flag.Bool("list", false, "print the faults and make none")
	short := flag.Bool("short", false, "make only the first fault of each folder")
	update := flag.Bool("update", false, "write into the list which test caught each fault")
	timeout := flag.Duration("timeout", 8*time.Minute, "limit for the tests of one fault; a hang counts as caught")
	flag.Parse()
	if err := makeFaults(*run, *list, *short, *update, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func makeFaults(pattern string, list, short, update bool, timeout time.Duration) error {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(faultList)
	if err != nil {
		return fmt.Errorf("run this command in the root of the repository: %w", err)
	}
	faults, err := parseFaults(string(text))
	if err != nil {
		return err
	}
	faults = selectFaults(faults, match, short)
	if list {
		for _, f := range faults {
			fmt.Printf("%-36s %-40s %s\n", f.name, f.file, f.says)
		}
		return nil
	}
	counts, failed := map[string]int{}, []string{}
	for _, f := range faults {
		start := time.Now()
		verdict, by := testFault(f, timeout)
		fmt.Printf("%-18s %-36s %4.0f s  %s\n", verdict, f.name, time.Since(start).Seconds(), by)
		counts[verdict]++
		if verdict != caught {
			failed = append(failed, fmt.Sprintf("%-18s %s (%s): %s", verdict, f.name, f.file, f.says))
		} else if update {
			if err := recordCatch(f.name, by); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\n%d faults:", len(faults))
	for _, v := range []string{caught, missed, notCompiled, notFound} {
		fmt.Printf("  %d %s", counts[v], v)
	}
	fmt.Printf("\n%s\n", strings.Join(failed, "\n"))
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d faults are not caught", len(failed), len(faults))
	}
	return nil
}

// selectFaults returns the faults that match. With short it returns only the first of each folder.
func selectFaults(faults []fault, match *regexp.Regexp, short bool) []fault {
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
	return selected
}
