package recipes

import (
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	hints := Hints()
	for name, want := range map[string]string{
		"gamma":       `that of CleanRL, Stable-Baselines3, rsl_rl is "discount_factor" here`,
		"e_clip":      "docs/reference/rl-games.md",
		"betas":       `"adam_betas"`,
		"latent_size": "that is a setting of AMP",
	} {
		if got := hints[name]; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", name, got, want)
		}
	}
}
