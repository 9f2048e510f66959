package launch

import (
	"fmt"
	"os"
	"path/filepath"
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
