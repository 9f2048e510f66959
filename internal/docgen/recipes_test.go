package docgen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/recipes"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/trainers"
)

// TestRecipes holds the tables of other libraries' hyperparameters to those that errors speak of.
func TestRecipes(t *testing.T) {
	for _, library := range recipes.Libraries() {
		var table strings.Builder
		table.WriteString("| " + library + " | default | here | note |\n|---|---|---|---|\n")
		for _, h := range recipes.Hyperparameters() {
			if h.Library != library {
				continue
			}
			name, key, def := "`"+h.Name+"`", "no", ""
			if before, after, ok := strings.Cut(h.Name, ", "); ok {
				name = "`" + before + "`, " + after
			}
			if h.Key != "" {
				key = "`" + h.Key + "`"
			}
			if h.Default != "" {
				def = "`" + h.Default + "`"
			}
			fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", name, def, key, strings.ReplaceAll(h.Note, "|", `\|`))
		}
		holds(t, "reference/recipes.md", library, table.String())
	}
}

// TestRecipesNameSettings checks that every key there exists, and that no name is there twice.
func TestRecipesNameSettings(t *testing.T) {
	known := []string{"class", "seed", "pbt", "environment.id", "environment.num_envs", "environment.wrappers", "models.mlp", "models.activation",
		"models.separate", "models.value", "models.policy.network", "models.policy.output"}
	add := func(section string, defaults any) {
		for _, f := range config.Keys(defaults) {
			known = append(known, section+f.Key)
		}
	}
	add("", ppo.DefaultConfig())
	add("trainer.", trainers.DefaultConfig())
	add("models.", models.Initialization{})
	add("models.policy.", models.DefaultGaussianConfig())
	seen := map[string]bool{}
	for _, h := range recipes.Hyperparameters() {
		if h.Key != "" && !slices.Contains(known, h.Key) {
			t.Errorf("%s %s is %q here, which is no setting", h.Library, h.Name, h.Key)
		}
		if h.Key == "" && h.Note == "" {
			t.Errorf("%s %s: there is neither a key nor what gorl has instead", h.Library, h.Name)
		}
		if seen[h.Library+h.Name] {
			t.Errorf("%s has %s twice", h.Library, h.Name)
		}
		seen[h.Library+h.Name] = true
		if !slices.Contains(recipes.Libraries(), h.Library) {
			t.Errorf("%s is no library", h.Library)
		}
	}
}
