package docgen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// synonym is an expression for which docs/concepts.md has one word.
type synonym struct {
	wrong *regexp.Regexp
	right string
	// code confines it to strings of the program's own code in these folders; without, it is looked for in pages, comments
	// and strings.
	code []string
}

// counted are the folders whose numbers of steps are the trainer's or a member's, not an episode's or an algorithm's.
var counted = []string{"agents/", "cli/", "cmd/", "memory/", "pbt/", "snippets/pbt", "snippets/evolve"}

var synonyms = []synonym{
	{regexp.MustCompile(`(?i)\bpolic(y|ies) (%d|\d+)( of| is| did| was| never|:)`), "member", nil},
	{regexp.MustCompile(`(?i)\b(policies|individuals|trials) of (a|the|one) population\b`), "members", nil},
	{regexp.MustCompile(`(?i)\b(best|worst|slowest) (polic(y|ies) of (a|the) (population|run)|trials?|individuals?)\b`), "member", nil},
	{regexp.MustCompile(`(?i)\b(a|an|the|every|each) individual\b`), "member", nil},
	{regexp.MustCompile(`(?i)[^_]\benv[ -]steps?\b`), "environment steps", nil},
	{regexp.MustCompile(`(?i)\bsteps? of the (whole )?batch\b`), "timesteps", nil},
	{regexp.MustCompile(`(?i)\bown steps\b`), "own environment steps", nil},
	{regexp.MustCompile(`(?i)(%d|\b[\d ]{5,}|\bmillion) (samples|frames|interactions|transitions) (of|a) (experience|member|second)\b`), "environment steps", nil},
	{regexp.MustCompile(`%d (own )?steps\b|\| ((from|at|its) )?steps?(/s)? \||\b(at|from) step %d`), "timesteps or environment steps", counted},
	{regexp.MustCompile(`\b(Measure|Mutations|Copy|Experiment)\.[A-Z]\w+ (is|are)\b`), "the key in YAML", []string{"agents/", "cli/", "pbt/", "trainers/"}},
}

// passages are the texts of a file: the lines of a page, and a Go file's comments and strings.
func passages(t *testing.T, path string) (lines map[int]string, inStrings map[int][]string) {
	t.Helper()
	lines, inStrings = map[int]string{}, map[int][]string{}
	text := read(t, path)
	if filepath.Ext(path) == ".md" {
		for i, line := range strings.Split(text, "\n") {
			lines[i+1] = line
		}
		return lines, inStrings
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			lines[files.Position(c.Pos()).Line] = c.Text
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BasicLit:
			if x.Kind == token.STRING {
				at := files.Position(x.Pos()).Line
				inStrings[at] = append(inStrings[at], strings.Trim(x.Value, "`\""))
			}
		case *ast.CompositeLit: // the columns of a table
			var columns []string
			for _, e := range x.Elts {
				if cell, ok := e.(*ast.BasicLit); ok && cell.Kind == token.STRING {
					columns = append(columns, strings.Trim(cell.Value, "\""))
				}
			}
			if slices.Contains(columns, "member") || slices.Contains(columns, "return") {
				at := files.Position(x.Pos()).Line
				inStrings[at] = append(inStrings[at], "| "+strings.Join(columns, " | ")+" |")
			}
		}
		return true
	})
	return lines, inStrings
}

// TestOneWordEach holds the words of docs/concepts.md: a unit of a population is a member, a step of all environments a
// timestep, a step of one environment an environment step. Errors name YAML's keys.
func TestOneWordEach(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".."
		if d.IsDir() && (hidden || d.Name() == "testdata" || d.Name() == "build" || d.Name() == "shared") {
			return filepath.SkipDir
		}
		ext := filepath.Ext(path)
		if d.IsDir() || ext != ".go" && ext != ".md" || d.Name() == "words_test.go" {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		lines, inStrings := passages(t, path)
		for _, s := range synonyms {
			for _, found := range s.in(name, lines, inStrings) {
				t.Errorf("%s; docs/concepts.md says %s", found, s.right)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// in returns where a file has the synonym, with its line.
func (s synonym) in(name string, lines map[int]string, inStrings map[int][]string) (found []string) {
	if s.code != nil {
		lines = nil
		of := func(folder string) bool { return strings.HasPrefix(name, folder) }
		if strings.HasSuffix(name, "_test.go") || !slices.ContainsFunc(s.code, of) {
			return nil
		}
	}
	for n, text := range lines {
		if w := s.wrong.FindString(text); w != "" {
			found = append(found, fmt.Sprintf("%s:%d: %q", name, n, w))
		}
	}
	for n, texts := range inStrings {
		for _, text := range texts {
			if w := s.wrong.FindString(text); w != "" {
				found = append(found, fmt.Sprintf("%s:%d: %q", name, n, w))
			}
		}
	}
	slices.Sort(found)
	return found
}

// The test above must notice each of the words that it is about.
func TestSynonymsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"policy %d did not train": "member", "the policies of a population": "members", "the best trial": "member", "an individual": "member",
		"a million env steps": "environment steps", "a step of the batch": "timesteps", "its own steps": "own environment steps",
		"after %d steps": "timesteps or environment steps", "| member | steps | return |": "timesteps or environment steps", "Measure.Window is 3": "the key in YAML",
	} {
		var got []string
		for _, s := range synonyms {
			if len(s.in("pbt/x.go", nil, map[int][]string{1: {text}})) > 0 {
				got = append(got, s.right)
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q is found as a synonym of %q, want %q", text, got, want)
		}
	}
	right := "policy 4→[20] tanh of member 3 after %d environment steps, 100 timesteps of the policy"
	for _, s := range synonyms {
		if found := s.in("pbt/x.go", map[int]string{1: right}, map[int][]string{1: {right}}); len(found) > 0 {
			t.Errorf("%v is no synonym", found)
		}
	}
}
