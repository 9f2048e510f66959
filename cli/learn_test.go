//go:build learning

package cli

import "testing"

// TestLearnExample trains the example cartpole as it stands: its best checkpoint must balance the pole.
func TestLearnExample(t *testing.T) {
	t.Chdir(t.TempDir())
	text, _ := gorl(t, 0, "train", "--example", "cartpole")
	write(t, "cartpole.yaml", text)
	for _, seed := range []string{"1", "2", "3"} {
		gorl(t, 0, "train", "--config", "cartpole.yaml", "-q", "--seed", seed, "--name", "seed"+seed)
		e := evaluated(t, "runs/seed"+seed)
		t.Logf("seed %s: return %.1f over %d episodes", seed, e.Figures["return"].Mean, e.Episodes)
		if e.Figures["return"].Mean < 475 {
			t.Errorf("seed %s: return %.1f, want 475", seed, e.Figures["return"].Mean)
		}
	}
}
