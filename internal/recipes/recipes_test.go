package recipes

import (
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	hints := Hints()
	for name, want := range map[string]string{
		"gamma":        `that of CleanRL, Stable-Baselines3, rsl_rl, rl_games is "discount_factor" here`,
		"e_clip":       `that of rl_games is "ratio_clip" here`,
		"betas":        `"adam_betas"`,
		"latent_size":  "that is a setting of AMP",
		"score_to_win": `"trainer.stop_at_episode_return"`,
	} {
		if got := hints[name]; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", name, got, want)
		}
	}
}
