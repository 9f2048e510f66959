package cli

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/tracking"
)

// The examples train in the simulators that they are of, shortened.
func TestSimulatorsTrainExamples(t *testing.T) {
	python := peers.Simulators(t, "envpool", "mjlab")
	t.Chdir(t.TempDir())
	for name, want := range map[string]struct {
		environment string
		eval        []string // how the example evaluates
	}{
		"envpool": {"envpool:HalfCheetah-v4", nil},
		"mjlab":   {"mjlab:Mjlab-Cartpole-Balance", []string{"--set", "kwargs={episode_length_s: 50}"}},
	} {
		text, _ := gorl(t, 0, "train", "--example", name)
		write(t, name+".yaml", text)
		matches(t, text, `^# `, `(?m)^#   gorl eval runs/`+name)
		stdout, _ := gorl(t, 0, "train", "-c", name+".yaml", "-q", "--timesteps", "64", "--num-envs", "4", "--set",
			"environment.python="+python)
		if stdout != "runs/"+name+"\n" {
			t.Errorf("%s: the run is in %q", name, stdout)
		}
		stdout, _ = gorl(t, 0, append([]string{"eval", "runs/" + name, "--episodes", "1"}, want.eval...)...)
		matches(t, stdout, `1 episodes of `+want.environment, `\nlength +1000 `)
	}
}

// standIn returns the folder of the stand-in for Isaac Lab, and what a command needs to train in it.
func standIn(t *testing.T) (folder string, environment map[string]any, set []string) {
	t.Helper()
	python := peers.Python(t, "gymnasium", "torch")
	folder = get(filepath.Abs(filepath.Join("..", "envs", "wrappers", "gymnasium", "testdata", "isaaclab")))(t)
	return folder, map[string]any{"python": python, "path": []any{folder}, "kwargs": map[string]any{"device": "cpu"}},
		[]string{"--set", "environment.python=" + python, "--set", "environment.path=[" + folder + "]", "--set",
			"environment.kwargs.device=cpu"}
}

// AMP with a file laid out as Isaac Lab's skrl files are, in the stand-in for Isaac Lab: the task rewards the speed
// alone, and from the reference motion the fish learn to undulate. The trained policy swims outside of gorl's trainer.
func TestPeersIsaacLabAMP(t *testing.T) {
	folder, settings, set := standIn(t)
	t.Chdir(t.TempDir())
	gorl(t, 0, append([]string{"train", "-c",
		filepath.Join(folder, "isaaclab_tasks", "agents", "skrl_fish_amp_cfg.yaml"), "-q", "--out", "runs", "--name",
		"fish", "--env", "isaaclab:Standin-Fish-AMP-Direct-v0", "--num-envs", "64"}, set...)...)
	gorl(t, 0, "export", "runs/fish", "fish.safetensors", "--checkpoint", "latest")
	policy := get(infer.Load("fish.safetensors"))(t)
	settings["id"], settings["num_envs"] = "isaaclab:Standin-Fish-AMP-Direct-v0", 32
	swum := swim(t, settings, policy)
	t.Logf("%+v", swum)
	if swum.reward < 0.9 || swum.frequency < 0.7 || swum.frequency > 0.9 || swum.orbit > 0.3 {
		t.Errorf("%+v; want a reward ≥ 0.9, 0.7 to 0.9 Hz, and an orbit error ≤ 0.3", swum)
	}
}

// AMP from a clip alone, with no Python to write: gorl adds the group of observations to the task of a stand-in whose
// joints move at random, and the discriminator tells them from the trot.
func TestPeersIsaacLabAMPOfClips(t *testing.T) {
	_, _, set := standIn(t)
	t.Chdir(t.TempDir())
	clip := get(motions.Trot(0.8))(t)
	file := get(os.Create("trot.npz"))(t)
	must(t, errors.Join(clip.Save(file, ""), file.Close()))
	write(t, "dog.yaml", `
environment:
  id: isaaclab:Standin-Dog-v0
  num_envs: 16
  amp_group: {terms: [joint_pos, joint_vel, projected_gravity]}
  motions: [trot.npz]
models: {mlp: [32], activation: elu}
agent: {class: AMP, rollouts: 8, task_reward_scale: 0, discriminator_learning_rate: 1.0e-3, motion_dataset_size: 500,
  discriminator_optimizer: separate, reply_buffer_size: 500, amp_observation_preprocessor: RunningStandardScaler}
trainer: {timesteps: 160, name: dog}
`)
	gorl(t, 0, append([]string{"train", "-c", "dog.yaml", "-q"}, set...)...)
	scalars := get(tracking.ReadRun("runs/dog"))(t)
	var style []float64
	for _, scalar := range scalars {
		if scalar.Tag == "Reward / Style reward (mean)" {
			style = append(style, scalar.Value)
		}
	}
	if n := len(style); n < 10 || !(style[n-1] < style[0]/2) {
		t.Errorf("style rewards %v; want the last below half of the first", style)
	}
	_, stderr := gorl(t, 1, append([]string{"train", "-c", "dog.yaml", "-q", "--set",
		"environment.motions=[humanoid_walk]"}, set...)...)
	matches(t, stderr, `"motions": `, `the term "joint_pos": the clip has no hinge "FR_hip"`)
}

// A population in the words of Isaac Lab's command line, with a file laid out as its rl_games files are: four members,
// each with a simulator of its own, are judged by what the simulator logs.
func TestPeersIsaacLabPopulation(t *testing.T) {
	folder, settings, set := standIn(t)
	t.Chdir(t.TempDir())
	gorl(t, 0, append([]string{"train", "--config",
		filepath.Join(folder, "isaaclab_tasks", "agents", "rl_games_fish_cfg.yaml"), "-q", "--task",
		"Standin-Fish-Direct-v0", "--num_envs", "64", "--headless", "--seed", "1", "--max_iterations", "40",
		"agent.pbt.enabled=True", "agent.pbt.num_policies=4", "agent.pbt.workspace=fish",
		"agent.pbt.directory=runs"}, set...)...)
	stdout, _ := gorl(t, 0, "inspect", "--json", "runs/fish")
	var about inspection.Report
	must(t, json.Unmarshal([]byte(stdout), &about))
	population := about.Population
	if population.Objective != "episode.Episode_Reward/speed" || len(population.Lanes) != 4 {
		t.Fatalf("%+v; want four members judged by episode.Episode_Reward/speed", population)
	}
	for i, m := range population.Lanes {
		if m.Steps != 40*32*64 || m.Last < 0.8 {
			t.Errorf("member %d: %+v; want an objective of at least 0.8 after %d environment steps", i, m, 40*32*64)
		}
	}
	// The task rewards the speed alone, so the fish swim straight.
	gorl(t, 0, "export", "runs/fish", "fish.safetensors")
	policy := get(infer.Load("fish.safetensors"))(t)
	settings["id"], settings["num_envs"] = "isaaclab:Standin-Fish-Direct-v0", 32
	swum := swim(t, settings, policy)
	t.Logf("%+v", swum)
	if swum.reward < 0.9 || math.Abs(swum.frequency) > 0.1 {
		t.Errorf("%+v; want a reward ≥ 0.9, and no undulation", swum)
	}
}

// swum says how the fish of the stand-in swam in the second half of an episode.
type swum struct {
	reward    float64 // of a step, at most 1
	frequency float64 // Hz; 0.8 in the reference motion
	orbit     float64 // mean distance from the reference's orbit in place and velocity, in amplitudes
}

func swim(t *testing.T, settings map[string]any, policy *infer.Policy) (s swum) {
	t.Helper()
	env := get(catalog.New(settings))(t)
	defer env.Close()
	step := get(env.Reset(1))(t)
	const steps, dt, amplitude, omega = 58, 0.1, 0.3, 2 * math.Pi * 0.8
	n := env.NumEnvs()
	actions, angle := make([]float32, 2*n), make([]float64, n)
	for k := range steps {
		must(t, policy.ActBatch(step.Observations, actions))
		step = get(env.Step(actions))(t)
		for i := range n {
			if step.Terminated[i] || step.Truncated[i] {
				t.Fatalf("fish %d ended in step %d of %d", i, k+1, steps)
			}
			y, v := float64(step.Observations[4*i]), float64(step.Observations[4*i+1])/omega
			before := angle[i]
			angle[i] = math.Atan2(v, y)
			if k < steps/2 {
				continue
			}
			s.reward += float64(step.Rewards[i])
			s.frequency += math.Remainder(before-angle[i], 2*math.Pi) / (2 * math.Pi) / dt
			s.orbit += math.Abs(math.Hypot(y, v)/amplitude - 1)
		}
	}
	all := float64(n * (steps - steps/2))
	return swum{s.reward / all, s.frequency / all, s.orbit / all}
}
