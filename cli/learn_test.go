//go:build learning

package cli

import "testing"

// TestLearnExamples trains examples as they stand, with three seeds: the best checkpoint must balance the pole.
func TestLearnExamples(t *testing.T) {
	for _, x := range []struct {
		name string
		want float64
	}{{"cartpole", 475}, {"memory", 475}, {"pixels", 400}} {
		t.Run(x.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text, _ := gorl(t, 0, "train", "--example", x.name)
			write(t, "run.yaml", text)
			for _, seed := range []string{"1", "2", "3"} {
				gorl(t, 0, "train", "--config", "run.yaml", "-q", "--seed", seed, "--name", "seed"+seed)
				e := evaluated(t, "runs/seed"+seed)
				t.Logf("seed %s: return %.1f over %d episodes", seed, e.Figures["return"].Mean, e.Episodes)
				if e.Figures["return"].Mean < x.want {
					t.Errorf("seed %s: return %.1f, want %g", seed, e.Figures["return"].Mean, x.want)
				}
			}
		})
	}
}
