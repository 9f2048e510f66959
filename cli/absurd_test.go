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
	write(t, "population.yaml", populations["isaaclab"].text)
	long := strings.Repeat("n", 300)
	for _, x := range []struct{ file, set, words string }{
		{"short", "agent.rollouts=1000000000000", `a rollout of 1000000000000 timesteps × 4 environments would need \d{15,} bytes of memory \(\S+ PiB\); there are \d+ \(`},
		{"short", "agent.rollouts=576460752303423488", `a rollout of 576460752303423488 timesteps × 4 environments would need \S+ bytes`},
		{"short", "agent.rollouts=9223372036854775807", `would need \S+ bytes`},
		{"short", "models.mlp=[1048576, 1048576]", `a layer of 1048576 inputs and 1048576 outputs would need 2199025\d* bytes`},
		{"evolution", "network.head_config={hidden_size: [1000000, 1000000], max_mlp_nodes: 1000000}", `outputs would need \d+ bytes`},
		{"population", "agent.rollouts=1000000000000", `would need \d+ bytes`},
		{"walker", "agent.motion_dataset_size=1000000000000", `a replay of 1000000000000 rows × \d+ values would need \d+ bytes`},
		{"walker", "agent.reply_buffer_size=576460752303423488", `a replay of 576460752303423488 rows`},
		{"walker", "environment.num_envs=1048576", `a batch of 1048576 simulations would need \d+ bytes`},
		{"short", "agent.mini_batches=65", `"mini_batches" is 65, but a rollout has only 64 rows \("rollouts" 16 × 4 environments\)`},
		{"short", "agent.learning_rate=1e308", `learning_rate(\[0\])?" is 1e\+308: gorl computes in float32`},
		{"short", "agent.entropy_loss_scale=1e39", `entropy_loss_scale" is 1e\+39: gorl computes in float32, whose greatest number is 3.4e38`},
		{"short", "trainer.name=" + long, `n{20}"\.\.\. has 300 bytes; a file or folder may have 255`},
		{"short", "trainer.directory=a/" + long + "/b", `has 300 bytes`},
		{"population", "pbt.workspace=" + long, `has 300 bytes`},
		{"evolution", "training.directory=" + long, `has 300 bytes`},
	} {
		status, stdout, stderr := use(t.Context(), "train", "-c", x.file+".yaml", "--check", "--set", x.set)
		if status != commandline.WrongUse || stdout != "" {
			t.Errorf("%s with %.80s ends with status %d, want %d:\n%s", x.file, x.set, status, commandline.WrongUse, stderr)
		}
		matches(t, stderr, x.words)
	}
	if _, stderr := gorl(t, commandline.WrongUse, "train", "-c", "short.yaml", "--name", long); !strings.Contains(stderr, "has 300 bytes") {
		t.Error(stderr)
	}
	absent(t, "runs")
}
