package docgen

import (
	"fmt"
	"os"
	"strings"
)

// Table writes settings as a Markdown table.
func Table(list []Setting) string {
	var b strings.Builder
	b.WriteString("| key | default | allowed | meaning |\n|---|---|---|---|\n")
	for _, s := range list {
		meaning := s.Meaning
		if meaning == "" {
			meaning = "see `" + s.Same + "`"
		}
		meaning = strings.TrimPrefix(meaning, "`"+s.Key+"` is ") // the row says so already
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Key, s.Default, cell(s.Allowed), cell(meaning))
	}
	return b.String()
}

// Differing returns the settings of list that base lacks, or has with another default.
func Differing(list, base []Setting) []Setting {
	known := map[string]string{}
	for _, s := range base {
		known[s.Key] = s.Default
	}
	var out []Setting
	for _, s := range list {
		if d, ok := known[s.Key]; !ok || d != s.Default {
			out = append(out, s)
		}
	}
	return out
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// Replace puts text between the lines "<!-- begin name -->" and "<!-- end name -->" of a page.
func Replace(page, name, text string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("docgen: the page has no line %q", strings.TrimSpace(begin))
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("docgen: the page has no line %q after %q", end, strings.TrimSpace(begin))
	}
	return before + begin + text + end + after, nil
}

// Hold checks that a page has a text at its place, see [Replace], or, with update, writes it there.
func Hold(path, name, text string, update bool) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("docgen: %w", err)
	}
	wanted, err := Replace(string(page), name, text)
	if err != nil {
		return fmt.Errorf("%w: %s", err, path)
	}
	switch {
	case wanted == string(page):
		return nil
	case update:
		return os.WriteFile(path, []byte(wanted), 0o644)
	}
	was, is := strings.Split(string(page), "\n"), strings.Split(wanted, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return fmt.Errorf("docgen: %s has drifted from the code: line %d is\n%s\nand should be\n%s\nRun this test with -update", path, i+1, was[i], is[i])
		}
	}
	return fmt.Errorf("docgen: %s has drifted from the code; run this test with -update", path)
}
