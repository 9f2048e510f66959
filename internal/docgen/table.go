package docgen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Listed is a table of the settings of a struct in a page of docs.
type Listed struct {
	// Name is what the page calls the table.
	Name string
	// Defaults is the struct.
	Defaults any
	// Common are structs with tables of their own. Settings with the same default in the last of them that has the
	// setting are left out; those with another default refer to it.
	Common []any
}

// HoldTables checks tables in a page of docs against the structs. With update it writes the tables. Root is the
// repository.
func HoldTables(t *testing.T, root, page string, update bool, tables ...Listed) {
	t.Helper()
	for _, x := range tables {
		list, err := settings(x.Defaults)
		var common []setting
		for _, c := range x.Common {
			more, problem := settings(c)
			common, err = append(common, more...), errors.Join(err, problem)
		}
		list = differing(list, common)
		if err == nil {
			err = Hold(filepath.Join(root, "docs", page), x.Name, table(list), update)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// table writes settings as a Markdown table. Settings of one meaning that take the same values share a row.
func table(list []setting) string {
	var b strings.Builder
	b.WriteString("| key | default | allowed | meaning |\n|---|---|---|---|\n")
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	for len(list) > 0 {
		s := list[0]
		of := s.Same
		if of == "" {
			of = s.Key
		}
		meaning := s.Meaning
		if meaning == "" {
			meaning = "see `" + s.Same + "`"
		}
		names, defaults, same := "`"+s.Key+"`", s.Default, true
		var others []setting
		for _, o := range list[1:] {
			if o.Same != of || o.Allowed != s.Allowed || o.Meaning != "" {
				others = append(others, o)
				continue
			}
			names, defaults, same = names+", `"+o.Key+"`", defaults+", "+o.Default, same && o.Default == s.Default
		}
		if same {
			defaults = s.Default
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", names, defaults, cell(s.Allowed),
			cell(withoutSubject(meaning, names)))
		list = others
	}
	return b.String()
}

var (
	subject = regexp.MustCompile("^`[^`]+`((, `[^`]+`)* and `[^`]+`)? (is |are |says )?")
	quoted  = regexp.MustCompile("`([^`]+)`")
)

// withoutSubject leaves the keys out that a meaning begins with, if they are those of its row.
func withoutSubject(meaning, row string) string {
	of := subject.FindString(meaning)
	if rest := meaning[len(of):]; of == "" || strings.HasPrefix(rest, "and ") || strings.HasPrefix(rest, "to ") ||
		strings.HasPrefix(rest, "(") {
		return meaning
	}
	for _, key := range quoted.FindAllStringSubmatch(of, -1) {
		if !strings.Contains(row, "`"+key[1]+"`") && !strings.Contains(row, "."+key[1]+"`") {
			return meaning
		}
	}
	return meaning[len(of):]
}

// differing returns the settings of list that base lacks or gives another default. Those that base has say so.
func differing(list, base []setting) (out []setting) {
	known := map[string]string{}
	for _, s := range base {
		known[s.Key] = s.Default
	}
	for _, s := range list {
		d, ok := known[s.Key]
		if ok && d == s.Default {
			continue
		}
		if ok {
			s.Meaning, s.Same = "only the default differs", ""
		}
		out = append(out, s)
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
	return fmt.Errorf("docgen: %q in %s has drifted from the code; run this test with -update, and look at the diff",
		name, path)
}
