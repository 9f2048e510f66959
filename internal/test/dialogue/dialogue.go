// Package dialogue runs golden tests that read as dialogues: files of cases, each a line with its name, what is given,
// "----", and the answer expected. Cases are parted by empty lines; lines that begin with # are comments. The files are
// those of github.com/cockroachdb/datadriven.
//
//	go test ./pbt -run Golden -rewrite
//
// writes what the cases that ran answered into their files; every changed line is then judged in the difference.
package dialogue

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Case is one case of a file.
type Case struct {
	// Words are those of the case's first line after its name.
	Words []string
	// Input are the lines between the first one and "----".
	Input []string
}

// Args are the words as key=value; a word without = has an empty value.
func (c Case) Args() map[string]string {
	args := make(map[string]string)
	for _, word := range c.Words {
		key, value, _ := strings.Cut(word, "=")
		args[key] = value
	}
	return args
}

// Run runs every case of the files that match the pattern, as subtests named after file and case. An answer ends with a
// line's end.
func Run(t *testing.T, pattern string, answer func(t *testing.T, c Case) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files %s (%v)", pattern, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				got := d.Expected // of a case that -run leaves out
				t.Run(d.Cmd, func(t *testing.T) { got = answer(t, caseOf(d)) })
				return got
			})
		})
	}
}

func caseOf(d *datadriven.TestData) Case {
	var c Case
	for _, a := range d.CmdArgs {
		word := a.Key
		if len(a.Vals) > 0 {
			word += "=" + strings.Join(a.Vals, ",")
		}
		c.Words = append(c.Words, word)
	}
	if d.Input != "" {
		c.Input = strings.Split(d.Input, "\n")
	}
	return c
}
