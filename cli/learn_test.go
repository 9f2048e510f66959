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

// characterFigures are those of the best checkpoint of an example's run, trained as it stands but for settings, in whole episodes.
func characterFigures(t *testing.T, example, seed string, train, eval []string) map[string]summary {
	t.Helper()
	text, _ := gorl(t, 0, "train", "--example", example)
	write(t, example+".yaml", text)
	name := example + seed + string(rune('a'+len(train)))
	gorl(t, 0, append([]string{"train", "--config", example + ".yaml", "-q", "--seed", seed, "--name", name}, train...)...)
	e := evaluated(t, append([]string{"runs/" + name, "--episodes", "64"}, eval...)...)
	t.Logf("%s, seed %s %v: pose error %.4f m, success %.3f, speed %.3f m/s, velocity error %.3f m/s, phases off by %.3f", example,
		seed, train, e.Figures["pose_error"].Mean, e.Figures["success"].Mean, e.Figures["speed"].Mean,
		e.Figures["velocity_error"].Mean, e.Figures["phase_error"].Mean)
	return e.Figures
}

// TestCharactersHumanoid trains the example humanoid with three seeds: it walks 20 seconds without a fall, as its clip
// does and as fast.
func TestCharactersHumanoid(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, seed := range []string{"1", "2", "3"} {
		f := characterFigures(t, "humanoid", seed, nil, []string{"--set", "episode_length=600"})
		if f["success"].Mean < 0.95 || f["pose_error"].Mean > 0.03 || f["speed"].Mean < 0.9*1.53 || f["speed"].Mean > 1.1*1.53 {
			t.Errorf("seed %s: want a success of 0.95, a pose error of at most 0.03 m, and 1.53 m/s within a tenth", seed)
		}
	}
}

// TestCharactersQuadruped trains the example quadruped with three seeds: it goes where it is told to in the trot's rhythm,
// and without the style reward its motion is further from the trot.
func TestCharactersQuadruped(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, seed := range []string{"1", "2", "3"} {
		with := characterFigures(t, "quadruped", seed, nil, nil)
		if with["velocity_error"].Mean > 0.15 || with["phase_error"].Mean > 0.15 || with["success"].Mean < 0.95 {
			t.Errorf("seed %s: want at most 0.15 m/s and 0.15 of a cycle, and a success of 0.95", seed)
		}
		without := characterFigures(t, "quadruped", seed, []string{"-s", "agent.style_reward_scale=0.0", "-s", "agent.task_reward_scale=1.0"}, nil)
		if without["pose_error"].Mean < 1.5*with["pose_error"].Mean {
			t.Errorf("seed %s: without style the pose error is %.4f m; want at least one and a half times that with it", seed,
				without["pose_error"].Mean)
		}
	}
}
