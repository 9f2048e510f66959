package cli

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// TestAbsurdSettings checks that settings that no machine could hold, or no float32 or file system, are refused by
// --check before anything is allocated, in words that say what is too much.
func TestAbsurdSettings(t *testing.T) {
	here(t, "short.yaml", short)
	write(t, "walker.yaml", strings.NewReplacer("CartPole", "Walker", "PPO", "AMP").Replace(short))
	write(t, "evolution.yaml", populations["evolution"].text)
	long := strings.Repeat("n", 300)
	for _, x := range []struct{ file, set, words string }{
		{"short", "agent.rollouts=1000000000000",
			`a rollout of 1000000000000 timesteps × 4 environments would need \d{15,} bytes of memory \(\S+ PiB\); ` +
				`there are \d+ \(`},
		{"short", "agent.rollouts=576460752303423488",
			`a rollout of 576460752303423488 timesteps × 4 environments would need \S+ bytes`},
		{"short", "models.mlp=[1048576, 1048576]",
			`a layer of 1048576 inputs and 1048576 outputs would need 2199025\d* bytes`},
		{"walker", "agent.motion_dataset_size=1000000000000",
			`a replay of 1000000000000 rows × \d+ values would need \d+ bytes`},
		{"walker", "environment.num_envs=1048576", `a batch of 1048576 simulations would need \d+ bytes`},
		{"short", "agent.mini_batches=65",
			`agent.mini_batches is 65, but a rollout has only 64 rows \("rollouts" 16 × 4 environments\)`},
		{"short", "agent.entropy_loss_scale=1e39",
			`agent.entropy_loss_scale is 1e\+39; gorl computes in float32, whose greatest number is 3.4e38`},
		{"short", "trainer.name=" + long, `n{20}"\.\.\. has 300 bytes; a file or folder may have 255`},
		{"evolution", "training.directory=" + long, `has 300 bytes`},
	} {
		status, stdout, stderr := use(t.Context(), "train", "-c", x.file+".yaml", "--check", "--set", x.set)
		if status != commandline.WrongUse || stdout != "" {
			t.Errorf("%s with %.80s ends with status %d, want %d:\n%s", x.file, x.set, status, commandline.WrongUse,
				stderr)
		}
		matches(t, stderr, x.words)
	}
	absent(t, "runs")
}
