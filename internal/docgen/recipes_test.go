package docgen_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/internal/recipes"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/trainers"
)

// TestRecipes holds the tables of other libraries' hyperparameters to those that errors speak of.
func TestRecipes(t *testing.T) {
	for _, library := range recipes.Libraries {
		var table strings.Builder
		table.WriteString("| " + library + " | default | here |\n|---|---|---|\n")
		for _, h := range recipes.Hyperparameters {
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

// TestRecipesNameSettings checks that every key there exists.
func TestRecipesNameSettings(t *testing.T) {
	known := strings.Fields(`class seed pbt environment.id environment.num_envs environment.wrappers models.mlp
		models.activation models.separate models.value models.policy.network models.policy.output`)
	for section, defaults := range map[string]any{"": ppo.DefaultConfig(), "trainer.": trainers.DefaultConfig(),
		"models.": models.Initialization{}, "models.policy.": models.DefaultGaussianConfig()} {
		for _, f := range config.Keys(defaults) {
			known = append(known, section+f.Key)
		}
	}
	for _, h := range recipes.Hyperparameters {
		if h.Key != "" && !slices.Contains(known, h.Key) || h.Key == "" && h.Note == "" {
			t.Errorf("%s %s is %q here, which is no setting, or says nothing", h.Library, h.Name, h.Key)
		}
	}
}
