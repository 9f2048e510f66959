package architecture

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/internal/test/must"
)

const (
	root   = "../.."
	module = "github.com/gorl-dev/gorl"
)

var update = flag.Bool("update", false, "draw the picture in docs again")

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Read(t, filepath.Join(root, filepath.FromSlash(path))))
}

// TestPicture draws the folders and compares with the picture on the page.
func TestPicture(t *testing.T) {
	imports, err := importsOfModule()
	must.Do(t, err)
	must.Do(t, docgen.Hold(filepath.Join(root, page), "picture", draw(visible(imports)), *update))
}

// draw makes the picture, a flowchart of Mermaid: a box for each folder with its packages, and arrows to what it
// imports, without those that follow from others.
func draw(imports graph) string {
	within, between := map[string][]string{}, graph{}
	for _, path := range imports.names() {
		of := folder(path)
		within[of] = append(within[of], strings.Replace(path, of+"/", "<br>", 1))
		between.add(of, "")
		for _, to := range imports.next(path) {
			between.add(of, folder(to))
		}
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart\n")
	for _, of := range between.names() {
		packages := strings.TrimPrefix(strings.Join(within[of], ""), of) // perhaps with one in the folder itself
		fmt.Fprintf(&b, "%s[\"<b>%[1]s</b>%s\"]\n", of, packages)
	}
	for _, of := range between.names() {
		if next := between.reduced().next(of); len(next) > 0 {
			fmt.Fprintf(&b, "%s --> %s\n", of, strings.Join(next, " & "))
		}
	}
	return b.String() + "```\n"
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

func TestEveryPackageIsDescribed(t *testing.T) {
	all, err := importsOfModule()
	must.Do(t, err)
	has := map[string]bool{}
	for _, found := range described.FindAllStringSubmatch(read(t, page), -1) {
		has[found[1]] = true
		under := func(path string) bool { return path == found[1] || strings.HasPrefix(path, found[1]+"/") }
		if found[1] != found[2] || !slices.ContainsFunc(all.names(), under) {
			t.Errorf("the page describes %s, which does not exist, or links to %s", found[1], found[2])
		}
	}
	for _, path := range all.names() {
		parent := path
		for strings.HasPrefix(parent, "internal/") && !has[parent] {
			parent = parent[:strings.LastIndex(parent, "/")]
		}
		if folder(path) != "snippets" && folder(path) != "benchmarks" && !has[parent] {
			t.Errorf("the page does not describe %s", path)
		}
	}
}
