package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOutputIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "000.log")
	o, err := openOutput(path, 20, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 { // 8 bytes each
		fmt.Fprintf(o, "line %02d\n", i)
	}
	fmt.Fprint(o, strings.Repeat("x", 30), "\nafter\nhalf")
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	for suffix, want := range map[string]string{
		".2": "line 06\nline 07\nline 08\n", ".1": strings.Repeat("x", 30) + "\n", "": "after\nhalf",
	} {
		if got, err := os.ReadFile(path + suffix); string(got) != want {
			t.Errorf("%s%s holds %q (%v), want %q", filepath.Base(path), suffix, got, err, want)
		}
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 3 {
		t.Errorf("there are %d files, want the present one and 2 put aside", len(files))
	}
	// Another process goes on where the last one ended.
	if o, err = openOutput(path, 20, 2); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(o, " a line\n")
	fmt.Fprint(o, "more\n")
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path + ".1"); string(got) != "after\nhalf a line\nmore\n" {
		t.Errorf("put aside is %q, want what was there and what was added", got)
	}
}

func TestOutputRemembersTheLastLines(t *testing.T) {
	o, err := openOutput(filepath.Join(t.TempDir(), "000.log"), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	for i := range 20 {
		fmt.Fprintf(o, "line %d\n", i)
	}
	fmt.Fprint(o, "not en")
	fmt.Fprint(o, "ded")
	last := o.last()
	if len(last) != lastLines || last[0] != "line 9" || last[lastLines-1] != "not ended" {
		t.Errorf("the last lines are %q", last)
	}
	fmt.Fprint(o, strings.Repeat("progress\r", 10_000))
	if last = o.last(); len(last[lastLines-1]) > 1000 {
		t.Errorf("a line that never ends takes %d bytes", len(last[lastLines-1]))
	}
	if !slices.Contains(last, "line 19") {
		t.Errorf("the last lines are %q", last)
	}
}
