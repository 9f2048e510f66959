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
	b.WriteString("| key | | what becomes of it |\n|---|---|---|\n")
	for _, k := range Keys() {
		mark, becomes := map[Fate]string{Honoured: "✔", Idle: "–", Refused: "✘"}[k.Fate], k.Gorl
		if k.Fate == Refused {
			becomes = "refused: " + k.Why
			if k.values != "" {
				becomes = "refused but for " + k.values + ": " + k.Why
			}
		} else if k.Why != "" && k.kind == text {
			becomes += "; others are refused"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Path, mark, strings.ReplaceAll(becomes, "|", `\|`))
	}
	if err := docgen.Hold(page, "rl_games keys", b.String(), *update); err != nil {
		t.Error(err)
	}
}
