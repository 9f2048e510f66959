package docgen

import (
	"fmt"
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
