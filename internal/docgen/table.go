package docgen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Listed is a table of the settings of a struct in a page of docs.
type Listed struct {
	// Name is what the page calls the table.
	Name string
	// Defaults is the struct.
	Defaults any
	// Common is another struct with a table of its own. Settings with the same default in both are left out. nil: none.
	Common any
}

// HoldTables checks tables in a page of docs against the structs. With update it writes the tables. Root is the
// repository.
func HoldTables(t *testing.T, root, page string, update bool, tables ...Listed) {
	t.Helper()
	for _, x := range tables {
		list, err := settings(root, x.Defaults)
		if err == nil && x.Common != nil {
			var common []setting
			common, err = settings(root, x.Common)
			list = differing(list, common)
		}
		if err == nil {
			err = Hold(filepath.Join(root, "docs", page), x.Name, table(list), update)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// table writes settings as a Markdown table.
func table(list []setting) string {
	var b strings.Builder
	b.WriteString("| key | default | allowed | meaning |\n|---|---|---|---|\n")
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
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

// differing returns the settings of list that base lacks or gives another default.
func differing(list, base []setting) (out []setting) {
	known := map[string]string{}
	for _, s := range base {
		known[s.Key] = s.Default
	}
	for _, s := range list {
		if d, ok := known[s.Key]; !ok || d != s.Default {
			out = append(out, s)
		}
	}
	return out
}

// Hold checks that a page has text between the lines "<!-- begin name -->" and "<!-- end name -->". With update it
// writes the text there.
func Hold(path, name, text string, update bool) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("docgen: %w", err)
	}
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	before, rest, begins := strings.Cut(string(page), begin)
	old, after, ends := strings.Cut(rest, end)
	switch {
	case !begins || !ends:
		return fmt.Errorf("docgen: %s has no lines %q and, after it, %q", path, strings.TrimSpace(begin), end)
	case old == text:
		return nil
	case update:
		return os.WriteFile(path, []byte(before+begin+text+end+after), 0o644)
	}
	was, is := strings.Split(old, "\n"), strings.Split(text, "\n")
	i := 0
	for i < min(len(was), len(is))-1 && was[i] == is[i] {
		i++
	}
	return fmt.Errorf("docgen: %s has drifted from the code: line %d of %q is\n%s\nand should be\n%s\n"+
		"run this test with -update", path, i+1, name, was[i], is[i])
}
