package rlgames

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
)

var update = flag.Bool("update", false, "write the tables in docs anew")

const page = "../../docs/reference/rl-games.md"

// TestTablesMatchTheCode holds the table of keys in docs/reference/rl-games.md against the one that files are read by.
// Neighbours of one meaning share a row; the networks of a central value share the rows of the policy's.
func TestTablesMatchTheCode(t *testing.T) {
	const central = "config.central_value_config."
	cells := map[string]string{}
	for _, k := range keys {
		cells[k.path] = meaning(k)
	}
	var names, texts []string
	for _, k := range keys {
		name, text := "`"+k.path+"`", cells[k.path]
		if base, ok := strings.CutPrefix(k.path, central); ok && cells[base] == text {
			continue
		}
		if also, ok := cells[central+k.path]; ok && also == text {
			name += " †"
		}
		if last := len(texts) - 1; last >= 0 && texts[last] == text {
			names[last] += ", " + name
			continue
		}
		names, texts = append(names, name), append(texts, text)
	}
	var b strings.Builder
	b.WriteString("| key | | in gorl |\n|---|---|---|\n")
	for i, name := range names {
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.ReplaceAll(texts[i], "|", `\|`))
	}
	table := strings.ReplaceAll(b.String(), separator, " | ")
	if err := docgen.Hold(page, "rl_games keys", table, *update); err != nil {
		t.Error(err)
	}
}

const separator = "\x00"

// meaning is the mark of a key and what becomes of it.
func meaning(k key) string {
	mark, becomes := map[fate]string{isHonoured: "✔", isIdle: "–", isRefused: "✘"}[k.fate], k.gorl
	switch {
	case k.fate == isRefused && k.values != "":
		becomes = "only " + k.values + ": " + k.why
	case k.fate == isRefused:
		becomes = k.why
	case k.why != "" && k.kind == text:
		becomes += "; others are refused"
	}
	return mark + separator + becomes
}
