//go:build learning

package snippets

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestLearnWalker trains snippets/amp_walker as it stands with three seeds: the biped must walk, and like the gait;
// also where the policy sees no velocities.
func TestLearnWalker(t *testing.T) {
	line := regexp.MustCompile(`length ([\d.]+) of 300 +return ([\d.]+) +speed ([\d.]+) m/s +joint error ([\d.]+) rad`)
	for _, x := range []struct {
		name     string
		args     []string
		shortest float64
	}{{"Perceptron", nil, 290}, {"Memory", []string{"-memory"}, 285}} {
		t.Run(x.name, func(t *testing.T) {
			for seed := 1; seed <= 3; seed++ {
				output := run(t, t.TempDir(), "amp_walker", append(x.args, "-seed", fmt.Sprint(seed))...)
				var length, total, speed, jointError float64
				found := line.FindStringSubmatch(output)
				if found == nil {
					t.Fatalf("seed %d: no figures in the output:\n%s", seed, output)
				}
				must.Get(fmt.Sscan(strings.Join(found[1:], " "), &length, &total, &speed, &jointError))(t)
				t.Logf("seed %d: %s", seed, found[0])
				if length < x.shortest || jointError > 0.11 {
					t.Errorf("seed %d: length %.1f and joint error %.3f rad, want ≥ %g and ≤ 0.11", seed, length,
						jointError, x.shortest)
				}
			}
		})
	}
}
