package docgen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	makes = regexp.MustCompile("(?m)(?:`|^)make ([a-z][a-z0-9-]*)")
	goes  = regexp.MustCompile(`go (?:run|build|test)[^\n` + "`" + `]*? (\./[a-z][a-z0-9_/]*)`)
)

// TestTargetsExist keeps the pages from naming targets of make and packages that are not there.
func TestTargetsExist(t *testing.T) {
	makefile := read(t, filepath.Join(root, "Makefile"))
	found := 0
	for _, page := range pages(t) {
		text := read(t, page)
		for _, m := range makes.FindAllStringSubmatch(text, -1) {
			found++
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no `make %s`", filepath.Base(page), m[1])
			}
		}
		for _, g := range goes.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(g[1]))); err != nil {
				t.Errorf("%s: %q: there is no %s", filepath.Base(page), g[0], g[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d commands were found", found)
	}
}
