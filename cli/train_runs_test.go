package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// The examples of Gymnasium train through the bridge, shortened, CleanRL's recipe with films.
func TestPeersTrainCleanRL(t *testing.T) {
	python := peers.Python(t, "gymnasium", "mujoco")
	t.Chdir(t.TempDir())
	for name, id := range map[string]string{"gymnasium": "CartPole-v1", "cleanrl-continuous": "HalfCheetah-v5"} {
		text, _ := gorl(t, 0, "train", "--example", name)
		write(t, name+".yaml", text)
		_, stderr := gorl(t, 0, "train", "-c", name+".yaml", "-q", "--timesteps", "4096", "--set",
			"agent.learning_epochs=1", "--set", "environment.python="+python, "--set", "trainer.video_interval=4096",
			"--set", "trainer.video_length=3")
		decodeGIF(t, "runs/"+name+"/videos/step-000004096.gif")
		if name != "gymnasium" && strings.Contains(stderr, "note:") {
			t.Errorf("%s: %q", name, stderr)
		}
		stdout, _ := gorl(t, 0, "eval", "runs/"+name, "--episodes", "1")
		matches(t, stdout, `1 episodes of gymnasium:`+id, `\nreturn +-?\d`)
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
	_, stderr := gorl(t, commandline.WrongUse, append(train, "--set", "environment.reference_motions=")...)
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
			stdout, stderr := gorl(t, 0, "train", "-c", "p.yaml", "--seed", "6")
			matches(t, stdout, `(?m)^member +parent`,
				`Best: member [012] after \d+ environment steps, episode\.return \d`, `gorl eval `+dir)
			matches(t, stderr, dir+`: 3 members in Stopping`, `member 2 +100 %`)
			recorded := func(dir string) []journal.Event { return get(journal.Read(dir))(t) }
			whole := recorded(dir)
			same(t, "members and seed", [2]int64{3, 6}, [2]int64{int64(whole[0].Run.Members), whole[0].Run.Seed})
			gorl(t, 0, "train", "-c", filepath.Join(dir, "run.yaml"), "-q")
			same(t, "the population of run.yaml differs", whole, recorded(dir+"-2"))
			ctx, cancel := context.WithCancel(context.Background())
			stop = cancel
			_, stderr = gorlWith(ctx, t, commandline.Stopped, "train", "-c", "p.yaml", "--name", "cut", "--set",
				"environment.at=150", "--seed", "6")
			matches(t, stderr, `stopped in interval \d; the run is saved in runs/cut\. Go on with: gorl train `+
				`--resume runs/cut`)
			gorl(t, 0, "train", "--resume", "runs/cut", "-q", "--set", "environment.at=0")
			same(t, "the resumed population differs", whole, recorded("runs/cut"))
			stdout, _ = gorl(t, 0, "eval", dir, "--episodes", "4")
			matches(t, stdout, dir+`/best/\d+/\d+\.safetensors, environment step \d+: 4 episodes of Stopping`)
		})
	}
}

// playsBest evaluates and exports the best member of a population that keeps a folder a member, by the journal.
func playsBest(t *testing.T, dir string) {
	t.Helper()
	member, at, _ := get(journal.ReadHistory(dir))(t).Best()
	best := fmt.Sprintf(`%s/best/%03d/%06d\.safetensors`, dir, member, at.Iteration)
	stdout, _ := gorl(t, 0, "eval", dir, "--episodes", "4")
	matches(t, stdout, best+`, environment step \d+: 4 episodes of `)
	stdout, _ = gorl(t, 0, "export", dir, "best.onnx", "--checkpoint", "best")
	matches(t, stdout, best+` → best.onnx`)
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
