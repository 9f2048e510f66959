package architecture

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

const (
	root   = "../.."
	module = "github.com/gorl-dev/gorl"
)

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Read(t, filepath.Join(root, filepath.FromSlash(path))))
}

const page = "docs/architecture.md"

// named is a link whose text is a name in the code: of a function, a method or a type, with or without its package or
// type.
var named = regexp.MustCompile("\\[`([A-Za-z_][A-Za-z0-9_.]*)`\\]\\(\\.\\./([a-z0-9_/.-]+\\.(?:go|cc))\\)")

func TestNamesAreWhereThePageSays(t *testing.T) {
	links := named.FindAllStringSubmatch(read(t, page), -1)
	if len(links) < 60 {
		t.Errorf("only %d links to names in the code were found", len(links))
	}
	for _, link := range links {
		name, text := link[1], read(t, link[2])
		last := name[strings.LastIndex(name, ".")+1:]
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |\t)` + last + `\b`)
		switch {
		case strings.HasSuffix(name, ".go"):
		case strings.HasSuffix(link[2], ".go") && !declared.MatchString(text), !strings.Contains(text, last):
			t.Errorf("%s declares no %s", link[2], name)
		}
	}
}

var described = regexp.MustCompile("(?m)^\\* \\*\\*\\[`([a-z0-9_/-]+)`\\]\\(\\.\\./([a-z0-9_/-]+)\\)\\*\\* ")

// TestEveryPackageIsDescribed checks that the page has a paragraph for every package but the examples and benchmarks,
// and for none that does not exist. A folder of internal packages needs only one.
func TestEveryPackageIsDescribed(t *testing.T) {
	list := exec.Command("go", "list", "./...")
	list.Dir = root
	packages := strings.Fields(strings.ReplaceAll(must.Run(t, list), module+"/", ""))
	has := map[string]bool{}
	for _, found := range described.FindAllStringSubmatch(read(t, page), -1) {
		has[found[1]] = true
		under := func(path string) bool { return path == found[1] || strings.HasPrefix(path, found[1]+"/") }
		if found[1] != found[2] || !slices.ContainsFunc(packages, under) {
			t.Errorf("the page describes %s, which does not exist, or links to %s", found[1], found[2])
		}
	}
	for _, path := range packages {
		parent := path
		for strings.HasPrefix(parent, "internal/") && !has[parent] {
			parent = parent[:strings.LastIndex(parent, "/")]
		}
		if !has[parent] && !strings.HasPrefix(path, "snippets") && !strings.HasPrefix(path, "benchmarks") {
			t.Errorf("the page does not describe %s", path)
		}
	}
}
