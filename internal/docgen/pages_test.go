package docgen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// pages lists README.md, CONTRIBUTING.md, the guides and the reference.
func pages(t *testing.T) []string {
	t.Helper()
	return slices.Concat(within(t, "docs"), within(t, "docs/reference"),
		[]string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")})
}

// within lists the pages of a folder, without those of its folders.
func within(t *testing.T, folder string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.md"))
	if err != nil || len(list) == 0 {
		t.Fatalf("pages of %s: %v, %v", folder, list, err)
	}
	return list
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Read(t, path))
}

// imports are the packages that a fragment may use.
var imports = strings.Fields(`context fmt log os errors math math/rand/v2 os/signal time agents agents/amp
	agents/ippo agents/ppo checkpoint checkpoint/skrl envs envs/catalog envs/classic envs/mujoco envs/wrappers
	envs/wrappers/gymnasium infer infer/onnx memory models models/description motions motions/metrics pbt pbt/evolution
	pbt/explore pbt/journal pbt/launch pbt/preset pbt/report pbt/strategy pbt/timeline spaces tensor tracking
	tracking/plot tracking/progress tracking/trackers trainers`)

// parameters are what a fragment finds declared.
const parameters = "ctx context.Context, env *mujoco.Walker, agent *amp.Agent, trainer *trainers.Trainer, " +
	"s *tensor.Scope, rng *rand.Rand, clip *motions.Clip, seed int64"

// program makes a Go file of a block: a whole program is left as it is, declarations get a package clause, and
// statements a function around them, in which a line "// ..." stands for returning the error.
func program(block string) string {
	if strings.HasPrefix(block, "package ") {
		return block
	}
	body := block
	if !declares.MatchString(block) {
		body = "func fragment(" + parameters + ") error {\n{\n" + handled(block) + "\n}\nreturn nil\n}\n"
	}
	return "package fragment\n\n" + importsOf(body) + body
}

var declares = regexp.MustCompile(`^(//[^\n]*\n)*(type|func|const|var) `)

// handled lets errors be returned where the guides say so.
func handled(block string) string {
	return regexp.MustCompile(`(?m)^(\s*)// \.\.\.$`).ReplaceAllString(block, "${1}if err != nil { return err }")
}

// importsOf are the import clauses that a body needs.
func importsOf(body string) string {
	var b bytes.Buffer
	for _, path := range imports {
		name := filepath.Base(strings.TrimSuffix(path, "/v2"))
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			path = module + "/" + path
		}
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(withoutStrings(body)) {
			fmt.Fprintf(&b, "import %s %q\n", name, path)
		}
	}
	return b.String()
}

var quoted = regexp.MustCompile(`"[^"\n]*"|//[^\n]*`)

func withoutStrings(code string) string { return quoted.ReplaceAllString(code, "") }

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// writeModule makes a module of its own that imports gorl from this repository.
func writeModule(t *testing.T, dir string) {
	t.Helper()
	repository, err := filepath.Abs(root)
	must.Do(t, err)
	_, requirements, _ := strings.Cut(read(t, filepath.Join(root, "go.mod")), "\n\n")
	write(t, filepath.Join(dir, "go.mod"), "module example.com/pages\n\n"+requirements+"\nrequire "+module+
		" v0.0.0\n\nreplace "+module+" => "+repository+"\n")
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
}

// TestGoBlocksCompile type-checks every Go block of the pages, in a module of its own.
func TestGoBlocksCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles")
	}
	dir := t.TempDir()
	writeModule(t, dir)
	blocks := 0
	for _, page := range pages(t) {
		name, err := filepath.Rel(root, strings.TrimSuffix(page, ".md"))
		must.Do(t, err)
		if slices.Contains(columns, filepath.ToSlash(name)+".md") { // their blocks are one program
			continue
		}
		for i, found := range goBlock.FindAllStringSubmatch(read(t, page), -1) {
			blocks++
			write(t, filepath.Join(dir, strings.ToLower(name), fmt.Sprintf("block%d", i+1), "block.go"),
				program(found[1]))
		}
	}
	write(t, filepath.Join(dir, "migrating", "main.go"), column(readAll(t, columns)))
	if blocks < 10 {
		t.Errorf("only %d Go blocks were found", blocks)
	}
	command := exec.Command("go", "vet", "./...")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("Go blocks, by page and number: %v\n%s", err, out)
	}
}

var (
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)|<img[^>]* src="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	blocks  = regexp.MustCompile("(?ms)^```.*?^```")
	fenced  = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`") // code, in blocks and within lines
)

// TestLinks checks that every relative link and picture leads to a file, and every anchor to a heading.
func TestLinks(t *testing.T) {
	for _, page := range append(pages(t), filepath.Join(root, "CHANGELOG.md")) {
		for _, found := range mdLink.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			target := found[1] + found[2]
			if regexp.MustCompile(`^[a-z]+:`).MatchString(target) {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			path := page
			if file != "" {
				path = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which is not there", filepath.Base(page), target)
				continue
			}
			if anchor != "" && !anchors(read(t, path))[anchor] {
				t.Errorf("%s links to %s, but there is no such heading", filepath.Base(page), target)
			}
		}
	}
}

// TestIndexIsComplete keeps docs/index.md leading to every guide and every page of the reference.
func TestIndexIsComplete(t *testing.T) {
	index := read(t, filepath.Join(root, "docs", "index.md"))
	for _, page := range slices.Concat(within(t, "docs"), within(t, "docs/reference")) {
		name, err := filepath.Rel(filepath.Join(root, "docs"), page)
		must.Do(t, err)
		if name != "index.md" && !strings.Contains(index, "("+filepath.ToSlash(name)+")") {
			t.Errorf("docs/index.md does not link to %s", name)
		}
	}
}

// anchors are a page's headings as GitHub names them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(blocks.ReplaceAllString(page, ""), -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, found[1])
		all[slug] = true
	}
	return all
}
