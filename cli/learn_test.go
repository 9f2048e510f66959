//go:build learning

package cli

import (
	"maps"
	"math"
	"slices"
	"testing"
)

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

// characterFigures are those of the best checkpoint of an example's run, trained as it stands but for settings, in
// whole episodes.
func characterFigures(t *testing.T, example, name, seed string, train, eval []string) map[string]summary {
	t.Helper()
	text, _ := gorl(t, 0, "train", "--example", example)
	write(t, example+".yaml", text)
	gorl(t, 0, append([]string{"train", "--config", example + ".yaml", "-q", "--seed", seed, "--name", name},
		train...)...)
	e := evaluated(t, append([]string{"runs/" + name, "--episodes", "64"}, eval...)...)
	t.Logf("%s, seed %s %v:", example, seed, train)
	for _, figure := range slices.Sorted(maps.Keys(e.Figures)) {
		t.Logf("%-20s %.4f", figure, e.Figures[figure].Mean)
	}
	return e.Figures
}

// TestCharactersHumanoid trains the example humanoid with three seeds, and goes on from each by the example
// humanoid-amp: both walk 20 seconds without a fall, as the clip does and as fast. So it does when the clip is a run.
func TestCharactersHumanoid(t *testing.T) {
	t.Chdir(t.ArtifactDir())
	long := []string{"--set", "episode_length=600"}
	check := func(t *testing.T, f map[string]summary, poseError, speed float64) {
		t.Helper()
		if f["success"].Mean < 0.95 || f["pose_error"].Mean > poseError || math.Abs(f["speed"].Mean-speed) > 0.1*speed {
			t.Errorf("want a success of 0.95, a pose error of at most %g m, and %g m/s within a tenth", poseError,
				speed)
		}
	}
	for _, seed := range []string{"1", "2", "3"} {
		t.Run("walk"+seed, func(t *testing.T) {
			check(t, characterFigures(t, "humanoid", "walk"+seed, seed, nil, long), 0.03, 1.53)
		})
		t.Run("amp"+seed, func(t *testing.T) {
			check(t, characterFigures(t, "humanoid-amp", "amp"+seed, seed,
				[]string{"-s", "trainer.warm_start=runs/walk" + seed}, long), 0.03, 1.53)
		})
		t.Run("run"+seed, func(t *testing.T) {
			check(t, characterFigures(t, "humanoid", "run"+seed, seed,
				[]string{"-s", "environment.motions=[humanoid_run]"}, long), 0.075, 3.54)
		})
	}
}

// TestCharactersQuadruped trains the example quadruped with three seeds: it goes where it is told to in the trot's
// rhythm, and without the style reward its motion is further from the trot.
func TestCharactersQuadruped(t *testing.T) {
	t.Chdir(t.ArtifactDir())
	for _, seed := range []string{"1", "2", "3"} {
		with := characterFigures(t, "quadruped", "style"+seed, seed, nil, nil)
		if with["velocity_error"].Mean > 0.15 || with["phase_error"].Mean > 0.15 || with["success"].Mean < 0.95 {
			t.Errorf("seed %s: want at most 0.15 m/s and 0.15 of a cycle, and a success of 0.95", seed)
		}
		without := characterFigures(t, "quadruped", "task"+seed, seed,
			[]string{"-s", "agent.style_reward_scale=0.0", "-s", "agent.task_reward_scale=1.0"}, nil)
		if without["pose_error"].Mean < 1.5*with["pose_error"].Mean {
			t.Errorf("seed %s: without style the pose error is %.4f m; want at least one and a half times that with it",
				seed, without["pose_error"].Mean)
		}
	}
}
