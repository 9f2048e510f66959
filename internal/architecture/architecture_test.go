package architecture

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// TestNamesAreWhereThePageSays finds what the walks and answers name in the files that they link to.
func TestNamesAreWhereThePageSays(t *testing.T) {
	links := named.FindAllStringSubmatch(read(t, page), -1)
	if len(links) < 60 {
		t.Errorf("only %d links to names in the code were found", len(links))
	}
	for _, link := range links {
		name, path := link[1], link[2]
		text := read(t, path)
		switch {
		case strings.HasSuffix(name, ".go"):
		case !strings.HasSuffix(path, ".go"):
			if !strings.Contains(text, name+"(") {
				t.Errorf("%s has no %s", path, name)
			}
		case !declared(t, path, text)[name]:
			t.Errorf("%s declares no %s", path, name)
		}
	}
}

// declared are the functions, methods and types of a file: methods by themselves and after their type, all else by
// itself and after the package.
func declared(t *testing.T, path, text string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	must.Do(t, err)
	names := map[string]bool{}
	add := func(before, name string) { names[name], names[before+"."+name] = true, true }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			before := file.Name.Name
			if d.Recv != nil {
				of := d.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				before = fmt.Sprint(of)
			}
			add(before, d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					add(file.Name.Name, s.Name.Name)
				}
			}
		}
	}
	return names
}

var described = regexp.MustCompile("(?m)^\\* \\*\\*\\[`([a-z0-9_/-]+)`\\]\\(\\.\\./([a-z0-9_/-]+)\\)\\*\\* ")

// TestEveryPackageIsDescribed checks that the page has a paragraph for every package but the examples and benchmarks,
// and for none that does not exist. A folder of internal packages needs only one.
func TestEveryPackageIsDescribed(t *testing.T) {
	all, err := importsOfModule()
	must.Do(t, err)
	has := map[string]bool{}
	for _, found := range described.FindAllStringSubmatch(read(t, page), -1) {
		if found[1] != found[2] {
			t.Errorf("the paragraph of %s links to %s", found[1], found[2])
		}
		if has[found[1]] {
			t.Errorf("%s has two paragraphs", found[1])
		}
		has[found[1]] = true
		under := func(path string) bool { return path == found[1] || strings.HasPrefix(path, found[1]+"/") }
		if !slices.ContainsFunc(all.names(), under) {
			t.Errorf("the page describes %s, which does not exist", found[1])
		}
	}
	for _, path := range all.names() {
		if folder(path) == "snippets" || folder(path) == "benchmarks" {
			continue
		}
		parent := path
		for strings.HasPrefix(parent, "internal/") && !has[parent] {
			parent = parent[:strings.LastIndex(parent, "/")]
		}
		if !has[parent] {
			t.Errorf("the page does not describe %s", path)
		}
	}
}
