// Package dialogue runs golden tests that read as dialogues: files of cases, each a line with its name, what is given,
// "----", and the answer expected.
//
//	go test ./pbt -run Golden -rewrite
//
// writes what the cases that ran answered into their files; every changed line is then judged in the difference.
package dialogue

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what golden dialogues answer into their files; then judge the difference")

// Case is one case of a file.
type Case struct {
	// Name is the first word of the case's first line, Rest what follows it.
	Name, Rest string
	// Input are the lines between the first one and "----".
	Input []string
}

// Words are those of Rest.
func (c Case) Words() []string { return strings.Fields(c.Rest) }

// Args are the words of Rest as key=value; a word without = has an empty value.
func (c Case) Args() map[string]string {
	args := make(map[string]string)
	for _, word := range c.Words() {
		key, value, _ := strings.Cut(word, "=")
		args[key] = value
	}
	return args
}

// Run runs every case of the files that match the pattern, as subtests named after file and case. Cases are parted by
// empty lines; lines that begin with # before a case are comments. An answer ends with a line's end.
func Run(t *testing.T, pattern string, answer func(t *testing.T, c Case) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files %s (%v)", pattern, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { file(t, path, answer) })
	}
}

func file(t *testing.T, path string, answer func(t *testing.T, c Case) string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimRight(string(data), "\n"), "\n\n")
	for i, block := range blocks {
		lines := strings.Split(block, "\n")
		begin := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
		if begin < 0 {
			continue
		}
		rule := slices.Index(lines, "----")
		if rule <= begin {
			t.Fatalf("%s: the case %q has no ----", path, lines[begin])
		}
		c := Case{Input: lines[begin+1 : rule]}
		c.Name, c.Rest, _ = strings.Cut(lines[begin], " ")
		want := strings.Join(lines[rule+1:], "\n") + "\n"
		t.Run(c.Name, func(t *testing.T) {
			got := answer(t, c)
			if *rewrite { // cases that do not run keep their text
				blocks[i] = strings.Join(lines[:rule+1], "\n") + "\n" + strings.TrimSuffix(got, "\n")
			} else if got != want {
				t.Errorf("%s\n%s", strings.Join(lines[begin:rule], "\n"), cmp.Diff(want, got))
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
