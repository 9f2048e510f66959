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
func TestTablesMatchTheCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("| key | | in gorl |\n|---|---|---|\n")
	for _, k := range keys {
		mark, becomes := map[fate]string{isHonoured: "✔", isIdle: "–", isRefused: "✘"}[k.fate], k.gorl
		if k.fate == isRefused {
			becomes = "refused: " + k.why
			if k.values != "" {
				becomes = "refused but for " + k.values + ": " + k.why
			}
		} else if k.why != "" && k.kind == text {
			becomes += "; others are refused"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.path, mark, strings.ReplaceAll(becomes, "|", `\|`))
	}
	if err := docgen.Hold(page, "rl_games keys", b.String(), *update); err != nil {
		t.Error(err)
	}
}
