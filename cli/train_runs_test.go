package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Every example trains, shortened.
func TestTrainExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	const few = " environment.num_envs=8 agent.discriminator_batch_size=64"
	const pbt, evolution = "pbt.total_steps=1024 pbt.interval_steps=512",
		"training.max_steps=1024 training.evo_steps=512"
	examples := map[string]string{ // the settings that shorten them
		"cartpole":            "trainer.timesteps=64",
		"memory":              "trainer.timesteps=64",
		"pixels":              "trainer.timesteps=128 agent.learning_epochs=1",
		"pendulum":            "trainer.timesteps=256",
		"sb3":                 "trainer.timesteps=2048 agent.learning_epochs=1",
		"walker":              "trainer.timesteps=64" + few,
		"humanoid":            "trainer.timesteps=64 environment.num_envs=8",
		"humanoid-amp":        "trainer.timesteps=64 environment.fade=40" + few,
		"humanoid-population": "pbt.num_policies=2 " + pbt + few,
		"quadruped":           "trainer.timesteps=64" + few,
		"population":          "pbt.total_steps=8192 pbt.interval_steps=4096",
		"evolution":           evolution,
		"self-play":           "pbt.total_steps=8192 pbt.interval_steps=4096",
		"walker-population":   pbt + few,
		"walker-evolution":    evolution + few + " mutation.probabilities.arch_mut=5",
	}
	if robots := os.Getenv("GORL_ROBOTS"); robots != "" {
		examples["g1"] = "trainer.timesteps=64 environment.num_envs=8 environment.model=" +
			filepath.Join(robots, "unitree_g1/xmls/g1.xml")
		examples["go1"] = "trainer.timesteps=24 agent.discriminator_batch_size=64 environment.model=" +
			filepath.Join(robots, "unitree_go1/xmls/go1.xml")
	}
	// humanoid-amp, humanoid-population and g1-amp go on from another run
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		text, _ := gorl(t, 0, "train", "--example", name)
		write(t, name+".yaml", text)
		matches(t, text, `^# `, `(?m)^#   gorl eval runs/`+name)
		args := []string{"train", "--config", name + ".yaml", "-q"}
		for _, set := range strings.Fields(examples[name]) {
			args = append(args, "--set", set)
		}
		stdout, _ := gorl(t, 0, args...)
		if stdout != "runs/"+name+"\n" {
			t.Errorf("%s: the run is in %q", name, stdout)
		}
		stdout, _ = gorl(t, 0, "eval", "runs/"+name, "--episodes", "2")
		matches(t, stdout, `\nreturn +-?\d`, `\nlength +\d`)
		if strings.HasPrefix(name, "walker") || strings.HasPrefix(name, "humanoid") || name == "quadruped" {
			matches(t, stdout, `\nspeed +-?\d`, `\njoint_error +\d`)
		}
	}
}

func TestPeersTrainGymnasium(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	t.Chdir(t.TempDir())
	text, _ := gorl(t, 0, "train", "--example", "gymnasium")
	write(t, "gymnasium.yaml", text)
	gorl(t, 0, "train", "-c", "gymnasium.yaml", "-q", "--timesteps", "256", "--set", "environment.python="+python)
	stdout, _ := gorl(t, 0, "eval", "runs/gymnasium", "--episodes", "1")
	matches(t, stdout, `1 episodes of gymnasium:CartPole-v1`, `\nreturn +\d`)
}

// CleanRL's recipe trains through the bridge, shortened, with films.
func TestPeersTrainCleanRL(t *testing.T) {
	python := peers.Python(t, "gymnasium", "mujoco")
	t.Chdir(t.TempDir())
	text, _ := gorl(t, 0, "train", "--example", "cleanrl-continuous")
	write(t, "cleanrl-continuous.yaml", text)
	_, stderr := gorl(t, 0, "train", "-c", "cleanrl-continuous.yaml", "-q", "--timesteps", "4096", "--set",
		"agent.learning_epochs=1", "--set", "environment.python="+python, "--set", "trainer.video_interval=4096",
		"--set", "trainer.video_length=3")
	decodeGIF(t, "runs/cleanrl-continuous/videos/step-000004096.gif")
	if strings.Contains(stderr, "note:") {
		t.Errorf("%q", stderr)
	}
	stdout, _ := gorl(t, 0, "eval", "runs/cleanrl-continuous", "--episodes", "1")
	matches(t, stdout, `1 episodes of gymnasium:HalfCheetah-v5`, `\nreturn +-?\d`)
}

// The guide shows a part of the example's file.
func TestGymnasiumGuide(t *testing.T) {
	file := text(filepath.Join(fish, "fish.yaml"))
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(text("../docs/gymnasium.md"), -1)
	if !slices.ContainsFunc(blocks, func(b []string) bool { return strings.Contains(file, b[1]) }) {
		t.Errorf("none of the %d blocks of YAML in docs/gymnasium.md stands in fish.yaml, too", len(blocks))
	}
}

var fish = filepath.Join("..", "snippets", "gymnasium_amp")

// AMP from a YAML file, an environment that is Python and a file of reference motion: it learns the style, and is
// filmed.
func TestPeersTrainGymnasiumAMP(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	dir := t.TempDir()
	for _, name := range []string{"fish.py", "fish.yaml"} {
		write(t, filepath.Join(dir, name), text(filepath.Join(fish, name)))
	}
	t.Chdir(dir)
	peers.Run(t, python, "fish.py")
	train := []string{"train", "-c", "fish.yaml", "-q", "--set", "environment.python=" + python}
	peers.Run(t, python, "-c", "import numpy as np; np.save('narrow.npy', np.load('reference.npy')[:, :3])")
	_, stderr := gorl(t, commandline.Failed, append(train, "--set", "environment.reference_motions=narrow.npy")...)
	matches(t, stderr, `"reference_motions": the rows of narrow\.npy have 3 numbers, the AMP observations 4`)
	_, stderr = gorl(t, commandline.WrongUse, append(train, "--set", "environment.reference_motions=")...)
	matches(t, stderr, `has no reference motion`, `reference_motions`, `collect_reference_motions`)

	gorl(t, 0, train...)
	e := evaluated(t, "runs/fish", "--checkpoint", "latest", "--episodes", "32")
	total, frequency, orbit := e.Figures["return"].Mean, e.Figures["frequency"].Mean, e.Figures["orbit_error"].Mean
	t.Logf("return %.1f of 60, frequency %.2f Hz, orbit error %.2f", total, frequency, orbit)
	if total < 54 || frequency < 0.7 || frequency > 0.9 || orbit > 0.3 {
		t.Errorf("return %g, frequency %g Hz, orbit error %g; want ≥ 54, 0.7 to 0.9 and ≤ 0.3", total, frequency, orbit)
	}
	gorl(t, 0, "eval", "runs/fish", "--checkpoint", "latest", "--record", "fish.gif", "--episodes", "2")
	if film := decodeGIF(t, "fish.gif"); len(film.Image) != 60 || film.Delay[0] != 10 { // render_fps
		t.Errorf("the film has %d pictures of %d/100 s, want 60 of 10/100 s", len(film.Image), film.Delay[0])
	}
}

const crew = `
preset: isaaclab
pbt: {num_policies: 3, objective: episode.return, interval_steps: 512, total_steps: 1536, mutation_rate: 1,
  threshold_std: 0.1, threshold_abs: 0.1, mutation: {learning_rate: mutate_float},
  sample: {learning_rate: [1e-4, 1e-2]}, directory: runs, workspace: crew}
environment: {id: Stopping, num_envs: 4}
models: {mlp: [16], activation: tanh}
agent: {class: PPO, rollouts: 16, learning_epochs: 2, mini_batches: 2}
trainer: {save_buffers: true}
`

const tribe = `
seed: 4
environment: {id: Stopping, num_envs: 4}
agent: {class: PPO, rollouts: 16, learning_epochs: 2, mini_batches: 2}
network: {latent_dim: 0, head_config: {hidden_size: [4], activation: Tanh, min_mlp_nodes: 4},
  encoder_config: {activation: Tanh}}
mutation: {probabilities: {no_mut: 0, arch_mut: 1, params_mut: 0, act_mut: 0, rl_hp_mut: 0}}
training: {pop_size: 3, evo_steps: 512, max_steps: 1536, directory: runs/tribe}
`

// A population, too, is stopped, gone on with, repeated, and its best evaluated.
func TestTrainPopulations(t *testing.T) {
	for name, text := range map[string]string{"crew": crew, "tribe": tribe} {
		t.Run(name, func(t *testing.T) {
			here(t, "p.yaml", text)
			dir := filepath.Join("runs", name)
			seed := []string{"--seed", "6"}
			stdout, stderr := gorl(t, 0, append([]string{"train", "-c", "p.yaml"}, seed...)...)
			matches(t, stdout, `(?m)^member +parent`,
				`Best: member [012] after \d+ environment steps, episode\.return \d`, `gorl eval `+dir)
			matches(t, stderr, dir+`: 3 members in Stopping`, `member 2 +100 %`)
			recorded := func(dir string) (list []journal.Event) {
				t.Helper()
				return get(journal.Read(dir))(t)
			}
			whole := recorded(dir)
			if whole[0].Run.Members != 3 || whole[0].Run.Seed != 6 {
				t.Errorf("the population is %+v", whole[0].Run)
			}
			gorl(t, 0, "train", "-c", filepath.Join(dir, "run.yaml"), "-q")
			same(t, "the population of run.yaml differs", whole, recorded(dir+"-2"))
			ctx, cancel := context.WithCancel(context.Background())
			stop = cancel
			_, stderr = gorlWith(ctx, t, commandline.Stopped,
				append([]string{"train", "-c", "p.yaml", "--name", "cut", "--set", "environment.at=150"}, seed...)...)
			cancel()
			matches(t, stderr, `stopped in interval \d; the run is saved in runs/cut\. Go on with: gorl train `+
				`--resume runs/cut`)
			stdout, _ = gorl(t, 0, "train", "--resume", "runs/cut", "-q", "--set", "environment.at=0")
			if stdout != "runs/cut\n" {
				t.Errorf("the resumed population is in %q", stdout)
			}
			same(t, "the resumed population differs", whole, recorded("runs/cut"))
			stdout, _ = gorl(t, 0, "eval", dir, "--episodes", "4")
			matches(t, stdout, dir+`/best/\d+/\d+\.safetensors, environment step \d+: 4 episodes of Stopping`)
			members := globbed(t, filepath.Join(dir, "001", "state", "*.safetensors"), 0)
			stdout, _ = gorl(t, 0, "eval", members[len(members)-1], "--episodes", "4")
			matches(t, stdout, members[len(members)-1]+`, environment step 1536: 4 episodes`)
			_, stderr = gorl(t, commandline.WrongUse, "eval", dir, "--checkpoint", "latest")
			matches(t, stderr, "is a population")
		})
	}
}

// playsBest evaluates and exports the best member of a population that keeps a folder a member, and holds them against
// the member and the objective of the journal.
func playsBest(t *testing.T, dir string) {
	t.Helper()
	member, at, ok := get(journal.ReadHistory(dir))(t).Best()
	if !ok {
		t.Fatal("no member was the best")
	}
	best := fmt.Sprintf(`%s/best/%03d/%06d\.safetensors`, dir, member, at.Iteration)
	for _, flags := range [][]string{nil, {"--checkpoint", "best"}} {
		stdout, _ := gorl(t, 0, append([]string{"eval", dir, "--episodes", "4"}, flags...)...)
		matches(t, stdout, best+`, environment step \d+: 4 episodes of `)
		stdout, _ = gorl(t, 0, append([]string{"export", dir, "best.onnx", "--force"}, flags...)...)
		matches(t, stdout, best+` → best.onnx`)
	}
	files := globbed(t, filepath.Join(dir, "001", "*.safetensors"), 0)
	stdout, _ := gorl(t, 0, "eval", files[len(files)-1], "--episodes", "4")
	matches(t, stdout, files[len(files)-1]+`, environment step \d+: 4 episodes of `)
}

// A synchronous: false of the user has no effect in one process, which is noted, also when run.yaml is used again.
func TestTrainPace(t *testing.T) {
	here(t, "p.yaml", crew)
	_, stderr := gorl(t, commandline.WrongUse, "train", "-c", "p.yaml", "--set", "pbt.asynchronous=true", "--set",
		"pbt.synchronous=true")
	matches(t, stderr, `pbt\.asynchronous is true; synchronous is true`)
	const note = "note: pbt.synchronous: false has no effect: members of one process wait for each other"
	for set, noted := range map[string]bool{"pbt.mutation_rate=1": false, "pbt.synchronous=false": true} {
		printed, stderr := gorl(t, 0, "train", "-c", "p.yaml", "--check", "--set", set)
		write(t, "effective.yaml", printed)
		_, again := gorl(t, 0, "train", "-c", "effective.yaml", "--check")
		if strings.Contains(stderr, note) != noted || strings.Contains(again, note) != noted {
			t.Errorf("%s: it says %q, and from run.yaml %q", set, stderr, again)
		}
	}
}

// A run that is evaluated has a curve and a best checkpoint of it, ends where the return is reached, and says so.
func TestTrainEvaluates(t *testing.T) {
	here(t, "short.yaml", short)
	args := []string{"train", "-c", "short.yaml", "--seed", "3", "-s", "trainer.evaluate_every=16", "-s",
		"trainer.evaluation_episodes=4"}
	stdout, _ := gorl(t, 0, args...)
	matches(t, stdout, `timestep \d+ \(evaluation\.return `)
	stdout, _ = gorl(t, 0, "plot", "--list", "runs/pole", "--tag", "Evaluation / *")
	matches(t, stdout, `Evaluation / Return \(mean\) +6 +16 +96 `)
	_, stderr := gorl(t, 0, append(args, "--name", "early", "-s", "trainer.stop_at_return=1")...)
	matches(t, stderr, `The run ended at timestep 16 of 96, when an evaluation reached stop_at_return \(1\)`)
}
