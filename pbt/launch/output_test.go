package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Files end with whole lines, a new process goes on where the last one ended, and so many files are kept.
func TestOutputIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "000.log")
	write := func(texts ...string) {
		t.Helper()
		o := must.Get(openOutput(path, 20, 2))(t)
		for _, text := range texts {
			fmt.Fprint(o, text)
		}
		must.Do(t, o.close())
	}
	write("line 1\nline 2\nline 3\nline 4\nline 5\n", "line 6\n", strings.Repeat("x", 30)+"\nafter\nhalf")
	write(" a line\n", "more\n")
	for suffix, want := range map[string]string{
		".2": strings.Repeat("x", 30) + "\n", ".1": "after\nhalf a line\nmore\n", "": "",
	} {
		if got, err := os.ReadFile(path + suffix); string(got) != want {
			t.Errorf("%s%s holds %q (%v), want %q", filepath.Base(path), suffix, got, err, want)
		}
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 3 {
		t.Errorf("there are %d files, want the present one and 2 put aside", len(files))
	}
}
