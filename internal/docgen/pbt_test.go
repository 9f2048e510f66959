package docgen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/pbt/preset"
)

var (
	namedTest = regexp.MustCompile("`([a-z0-9/-]+)\\.(Test[A-Za-z0-9_]+)`")
	marked    = regexp.MustCompile(`^(✔|◐|✘)`)
)

// features is the number of rows of the comparison.
const features = 57

// TestFeaturesNameTests checks that the comparison has all its rows, and that every test that gorl's column names exists.
func TestFeaturesNameTests(t *testing.T) {
	rows := 0
	_, comparison, found := strings.Cut(read(t, filepath.Join(root, "docs", "reference", "systems.md")), "\n## Features\n")
	if !found {
		t.Fatal("docs/reference/systems.md has no comparison of features")
	}
	for line := range strings.Lines(comparison) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		number, err := strconv.Atoi(strings.TrimPrefix(cells[0], "| "))
		if err != nil {
			continue
		}
		if rows++; number != rows || len(cells) != 8 {
			t.Fatalf("row %d has the number %d and %d cells, want 8", rows, number, len(cells))
		}
		gorl := strings.TrimSuffix(cells[7], " |")
		tests := namedTest.FindAllStringSubmatch(gorl, -1)
		switch mark := marked.FindString(gorl); {
		case mark == "":
			t.Errorf("row %d does not begin with ✔, ◐ or ✘: %s", number, gorl)
		case mark == "✔" && len(tests) == 0:
			t.Errorf("row %d names no test: %s", number, gorl)
		case mark == "✘" && len(tests) > 0:
			t.Errorf("row %d names a test of what there is not: %s", number, gorl)
		}
		if n := strings.Count(gorl, "Test"); n != len(tests) {
			t.Errorf("row %d speaks of %d tests, %d can be read: want `package.TestName`: %s", number, n, len(tests), gorl)
		}
		for _, x := range tests {
			if !hasTest(t, x[1], x[2]) {
				t.Errorf("row %d: there is no %s in %s", number, x[2], x[1])
			}
		}
	}
	if rows != features {
		t.Errorf("there are %d rows, want %d", rows, features)
	}
}

// hasTest looks for a test function in the tests of a folder, whatever their build tags.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.Contains(read(t, path), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}

// TestRulesAreInTheReference checks that the table of rules is complete.
func TestRulesAreInTheReference(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "reference", "pbt.md"))
	for _, rule := range explore.RuleNames() {
		if !strings.Contains(page, "\n| `"+rule+"` | ") {
			t.Errorf("docs/reference/pbt.md has no row for rule %s", rule)
		}
	}
}

// TestJournalIsInTheReference checks that the reference names every event and every field of a journal.
func TestJournalIsInTheReference(t *testing.T) {
	_, section, _ := strings.Cut(read(t, filepath.Join(root, "docs", "reference", "journal.md")), "\n## The journal\n")
	section, _, _ = strings.Cut(section, "\n## ")
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "pbt", "journal", "journal.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ValueSpec:
			if kind, ok := x.Type.(*ast.Ident); ok && kind.Name == "Kind" {
				name, err := strconv.Unquote(x.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
		case *ast.Field:
			if x.Tag != nil {
				tag, err := strconv.Unquote(x.Tag.Value)
				if err != nil {
					t.Fatal(err)
				}
				name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				names = append(names, name)
			}
		}
		return true
	})
	if len(names) < 25 {
		t.Errorf("only %d names were found: %q", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("the section on the journal does not name %q", name)
		}
	}
}

// TestContractIsInTheGuide checks what a member process is told and answers.
func TestContractIsInTheGuide(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "pbt-cluster.md"))
	for _, want := range []string{
		"| `" + launch.EnvConfig + "` |", "| `" + launch.EnvMember + "` |", "| `" + launch.EnvSlice + "` |", "| `" + launch.EnvLocal + "` |", "`device: " + launch.LocalDevice + "`",
		fmt.Sprintf("\n| %d | trained", launch.StatusFinished), fmt.Sprintf("\n| %d | gave its place", launch.StatusYielded),
		fmt.Sprintf("\n| %d | start me again at once", launch.StatusRestart), fmt.Sprintf("\n| %d | a signal stopped me", launch.StatusStopped),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/pbt-cluster.md lacks %q", want)
		}
	}
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// TestPopulationFilesAreAccepted reads the files in the guides as launchers and members do.
func TestPopulationFilesAreAccepted(t *testing.T) {
	files := 0
	for _, page := range []string{"pbt.md", "pbt-cluster.md", "reference/pbt-yaml.md"} {
		for i, found := range yamlBlock.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", page)), -1) {
			files++
			if _, err := preset.FromYAML([]byte(found[1])); err != nil {
				t.Errorf("%s, file %d: %v", page, i+1, err)
			}
			f, err := launch.Parse([]byte(found[1]))
			if err != nil {
				t.Errorf("%s, file %d: %v", page, i+1, err)
				continue
			}
			if f.Launcher.Kubernetes.Image != "" {
				if _, err := launch.Kubernetes(f); err != nil {
					t.Errorf("%s, file %d: %v", page, i+1, err)
				}
			}
		}
	}
	if files < 5 {
		t.Errorf("only %d files were found", files)
	}
}
