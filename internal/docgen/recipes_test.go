package docgen_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/internal/recipes"
)

// TestRecipes holds the tables of other libraries' hyperparameters to those that errors speak of. The page of rl_games'
// files has those of rl_games.
func TestRecipes(t *testing.T) {
	for _, library := range recipes.Libraries() {
		if library == "rl_games" {
			continue
		}
		var table strings.Builder
		table.WriteString("| " + library + " | default | here |\n|---|---|---|\n")
		for _, h := range recipes.Hyperparameters() {
			if h.Library != library {
				continue
			}
			name, def := "`"+h.Name+"`", ""
			if before, after, ok := strings.Cut(h.Name, ", "); ok {
				name = "`" + before + "`, " + after
			}
			here := "✘ " + h.Note
			if h.Key != "" {
				here = "`" + h.Key + "`"
				if h.Note != "" {
					here += ": " + h.Note
				}
			}
			if h.Default != "" {
				def = "`" + h.Default + "`"
			}
			fmt.Fprintf(&table, "| %s | %s | %s |\n", name, def, strings.ReplaceAll(here, "|", `\|`))
		}
		page := filepath.Join(root, "docs", "reference", "recipes.md")
		if err := docgen.Hold(page, library, table.String(), *update); err != nil {
			t.Error(err)
		}
	}
}
