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
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// imports are what a fragment may use, by the name before the dot.
var imports = map[string]string{
	"context": "context", "fmt": "fmt", "log": "log", "os": "os", "errors": "errors", "math": "math", "rand": "math/rand/v2", "signal": "os/signal",
	"time": "time", "preset": module + "/pbt/preset", "launch": module + "/pbt/launch", "timeline": module + "/pbt/timeline", "report": module + "/pbt/report",
	"agents": module + "/agents", "amp": module + "/agents/amp", "ppo": module + "/agents/ppo", "models": module + "/models",
	"envs": module + "/envs", "catalog": module + "/envs/catalog", "classic": module + "/envs/classic", "mujoco": module + "/envs/mujoco", "wrappers": module + "/envs/wrappers", "gymnasium": module + "/envs/wrappers/gymnasium",
	"strategy": module + "/pbt/strategy", "explore": module + "/pbt/explore", "journal": module + "/pbt/journal",
	"motions": module + "/motions", "metrics": module + "/motions/metrics", "trainers": module + "/trainers", "pbt": module + "/pbt", "tracking": module + "/tracking", "trackers": module + "/tracking/trackers",
	"plot": module + "/tracking/plot", "progress": module + "/tracking/progress",
	"evolution": module + "/pbt/evolution", "checkpoint": module + "/checkpoint", "skrl": module + "/checkpoint/skrl", "infer": module + "/infer", "onnx": module + "/infer/onnx", "description": module + "/models/description", "tensor": module + "/tensor", "spaces": module + "/spaces", "memory": module + "/memory",
}

// parameters are what a fragment finds declared.
const parameters = "ctx context.Context, env *mujoco.Walker, agent *amp.Agent, trainer *trainers.Trainer, s *tensor.Scope, rng *rand.Rand, clip *motions.Clip, seed int64"

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
	for name, path := range imports {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(withoutStrings(body)) {
			fmt.Fprintf(&b, "import %s %q\n", name, path)
		}
	}
	return b.String()
}

var quoted = regexp.MustCompile(`"[^"\n]*"|//[^\n]*`)

func withoutStrings(code string) string { return quoted.ReplaceAllString(code, "") }

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// goMod is that of a module of its own that imports gorl from the folder repository.
func goMod(t *testing.T, repository string) string {
	t.Helper()
	_, requirements, _ := strings.Cut(read(t, filepath.Join(root, "go.mod")), "\n\n")
	return "module example.com/pages\n\n" + requirements + "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + repository + "\n"
}

// TestGoBlocksCompile type-checks every Go block of the pages, in a module of its own.
func TestGoBlocksCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles")
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "go.mod"), goMod(t, repository))
	write(filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	blocks := 0
	for _, page := range pages(t) {
		name, err := filepath.Rel(root, strings.TrimSuffix(page, ".md"))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(columns, filepath.ToSlash(name)+".md") { // their blocks are one program
			continue
		}
		for i, found := range goBlock.FindAllStringSubmatch(read(t, page), -1) {
			blocks++
			write(filepath.Join(dir, strings.ToLower(name), fmt.Sprintf("block%d", i+1), "block.go"), program(found[1]))
		}
	}
	write(filepath.Join(dir, "migrating", "main.go"), column(readAll(t, columns)))
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
		if err != nil {
			t.Fatal(err)
		}
		if name != "index.md" && !strings.Contains(index, "("+filepath.ToSlash(name)+")") {
			t.Errorf("docs/index.md does not link to %s", name)
		}
	}
}

// TestGuidesAreShort keeps tables that are only looked up out of the guides: they belong to docs/reference.
func TestGuidesAreShort(t *testing.T) {
	const most = 400
	for _, page := range within(t, "docs") {
		text := read(t, page)
		if n := strings.Count(text, "\n"); n > most {
			t.Errorf("%s has %d lines, at most %d are allowed: move what is only looked up to docs/reference", filepath.Base(page), n, most)
		}
		if strings.Contains(text, "<!-- begin ") {
			t.Errorf("%s has a generated table: move it to docs/reference", filepath.Base(page))
		}
	}
}

// TestReferenceLeadsBack checks that every page of the reference says first what it is and ends with a link to its guide.
func TestReferenceLeadsBack(t *testing.T) {
	back := regexp.MustCompile(`\n\nBack to \[([^\]]+)\]\(\.\./([a-z-]+\.md)\)\n$`)
	for _, page := range within(t, "docs/reference") {
		text := read(t, page)
		opens(t, page, text)
		found := back.FindStringSubmatch(text)
		if found == nil {
			t.Errorf("%s must end with \"Back to [title](../guide.md)\"", filepath.Base(page))
			continue
		}
		if title, _, _ := strings.Cut(read(t, filepath.Join(root, "docs", found[2])), "\n"); title != "# "+found[1] {
			t.Errorf("%s ends with the title %q, %s has %q", filepath.Base(page), found[1], found[2], title)
		}
	}
}

// opens checks that a page begins with a title and a paragraph.
func opens(t *testing.T, page, text string) {
	t.Helper()
	if paragraphs := strings.SplitN(text, "\n\n", 3); !strings.HasPrefix(text, "# ") || strings.ContainsAny(paragraphs[1][:1], "#|<") {
		t.Errorf("%s must begin with a title and a paragraph that says what it is for", filepath.Base(page))
	}
}

// TestReadingOrder checks that every guide ends with a link to the next of docs/index.md's, and says first what it is.
func TestReadingOrder(t *testing.T) {
	index := read(t, filepath.Join(root, "docs", "index.md"))
	var order []string
	for _, found := range regexp.MustCompile(`(?m)^(?:\d+\.|\*) \[[^\]]*\]\(([a-z-]+\.md)\)`).FindAllStringSubmatch(index, -1) {
		order = append(order, found[1])
	}
	if len(order) < 15 {
		t.Fatalf("docs/index.md names %q", order)
	}
	for i, name := range order {
		page := read(t, filepath.Join(root, "docs", name))
		last := "Back to [the guides](index.md)"
		if i+1 < len(order) {
			title, _, _ := strings.Cut(read(t, filepath.Join(root, "docs", order[i+1])), "\n")
			last = "Next: [" + strings.TrimPrefix(title, "# ") + "](" + order[i+1] + ")"
		}
		if !strings.HasSuffix(page, "\n\n"+last+"\n") {
			t.Errorf("%s must end with %q", name, last)
		}
		opens(t, name, page)
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
