package cli

import (
	"context"
	"errors"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// short is a configuration that trains in a moment.
const short = `
environment: {id: CartPole, num_envs: 4}
models: {mlp: [16], activation: tanh}
agent: {class: PPO, rollouts: 16, learning_epochs: 2, mini_batches: 2}
trainer: {timesteps: 96, checkpoint_interval: 32, directory: runs, name: pole, save_buffers: true}
`

// gorl runs the command in the folder of the test and returns what it wrote.
func gorl(t testing.TB, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	return gorlWith(context.Background(), t, want, args...)
}

func gorlWith(ctx context.Context, t testing.TB, want int, args ...string) (string, string) {
	t.Helper()
	got, stdout, stderr := use(ctx, args...)
	if got != want {
		t.Fatalf("gorl %s ended with status %d, want %d:\n%s%s", strings.Join(args, " "), got, want, stdout, stderr)
	}
	return stdout, stderr
}

// value is what the file of a run has at a dotted key.
func value(t *testing.T, path, key string) any {
	t.Helper()
	return at(get(readConfiguration(path, nil))(t), key)
}

// here makes a folder of the test's own the working directory, with a file in it.
func here(t *testing.T, name, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, name, text)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

// text is what is in a file, "" without one.
func text(name string) string {
	data, _ := os.ReadFile(name)
	return string(data)
}

func matches(t testing.TB, text string, expressions ...string) {
	t.Helper()
	for _, e := range expressions {
		if !regexp.MustCompile(e).MatchString(text) {
			t.Errorf("no match of %q in\n%s", e, text)
		}
	}
}

// loaded are the arrays of a checkpoint.
func loaded(t testing.TB, path ...string) map[string]checkpoint.Array {
	t.Helper()
	return get(checkpoint.Load(filepath.Join(path...)))(t).Snapshot.Arrays
}

func absent(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there (%v)", path, err)
	}
}

// A run has its configuration, its figures and its checkpoints, and its configuration repeats it, drawn seed included.
func TestTrainRepeats(t *testing.T) {
	here(t, "short.yaml", short)
	stdout, stderr := gorl(t, 0, "train", "--config", "short.yaml")
	matches(t, stdout, `environment steps +episodes +return +length +best checkpoint +environment steps/s`,
		`\n +384 +[1-9]\d* +\d+\.\d +\d+\.\d +timestep \d+ \(episode\.return `, `gorl eval runs/pole`)
	matches(t, stderr, `runs/pole: PPO in CartPole, seed \d+`, `384/384`)
	stdout, stderr = gorl(t, 0, "train", "-c", "runs/pole/run.yaml", "--quiet")
	if stdout != "runs/pole-2\n" || stderr != "" {
		t.Errorf("quiet, it wrote %q and %q", stdout, stderr)
	}
	const last = "checkpoints/agent_96.safetensors"
	same(t, "the run from run.yaml differs", loaded(t, "runs/pole", last), loaded(t, "runs/pole-2", last))
	gorl(t, 0, "train", "-c", "runs/pole/run.yaml", "-q", "--seed", "5")
	if cmp.Equal(loaded(t, "runs/pole", last), loaded(t, "runs/pole-3", last)) {
		t.Error("another seed is the same run")
	}
}

// What the command line says wins, and stands in run.yaml.
func TestTrainFlags(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--out", "all/of them", "--name", "one", "--timesteps", "16",
		"--seed", "9", "--device", "cpu", "--set", "agent.learning_rate=1e-3", "-s", "models.mlp=[8, 4]", "-s",
		"environment.wrappers=[{reward_scale: {scale: 0.5}}]", "-s", "agent.experiment.wandb_kwargs.a=b")
	for path, want := range map[string]any{
		"seed": 9, "agent.learning_rate": 1e-3, "models.mlp": []any{8, 4}, "trainer.timesteps": 16,
		"trainer.name": "one", "trainer.directory": "all/of them", "agent.gae_lambda": 0.95,
		"environment.wrappers":          []any{map[string]any{"reward_scale": map[string]any{"scale": 0.5}}},
		"environment.max_episode_steps": 0,
	} {
		same(t, path, want, value(t, "all/of them/one/run.yaml", path))
	}
	// A registered network trains.
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "-n", "two", "-s", "models={policy: {class: Bilinear, width: 4}, "+
		"value: {class: Bilinear}}")
	same(t, "the layer's shape", []int64{4, 4},
		loaded(t, "runs/two/checkpoints/agent_96.safetensors")["policy/net.0.weight"].Shape)
	// A name that nobody gives is the time and the agent's.
	stdout, _ := gorl(t, 0, "train", "-c", "short.yaml", "-q", "-s", "trainer.name=", "--timesteps", "1")
	matches(t, stdout, `^runs/\d\d-\d\d-\d\d_\d\d-\d\d-\d\d_PPO\n$`)
}

// stopping is a pole that calls stop at a timestep.
type stopping struct {
	envs.Env
	at, steps int
}

var stop func()

func (s *stopping) Unwrap() envs.Env { return s.Env }

func (s *stopping) Step(actions []float32) (*envs.Step, error) {
	if s.steps++; s.steps == s.at {
		stop()
	}
	return s.Env.Step(actions)
}

type stoppingSettings struct {
	catalog.Batch `yaml:",inline"`
	// At is the step.
	At int `yaml:"at"`
}

func init() {
	catalog.Register("Stopping", stoppingSettings{Batch: catalog.Defaults()},
		func(s stoppingSettings) (envs.Env, error) {
			env, err := classic.NewCartPole(classic.Config{NumEnvs: s.NumEnvs, Seed: s.Seed})
			return &stopping{Env: env, at: s.At}, err
		})
	catalog.Register("Blind", catalog.Defaults(), func(s catalog.Batch) (envs.Env, error) { // it cannot draw itself
		env, err := classic.NewCartPole(classic.Config{NumEnvs: s.NumEnvs, Seed: s.Seed})
		return struct{ envs.Env }{env}, err
	})
	catalog.Register("Unlit", catalog.Defaults(), func(s catalog.Batch) (envs.Env, error) {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: s.NumEnvs})
		return unlit{env}, err
	})
}

// unlit fails to draw itself.
type unlit struct{ envs.Env }

func (unlit) Render(int) (image.Image, error) { return nil, errors.New("no light") }

// A run that is stopped ends with status 78 and words how to go on; gone on with, it ends as one that was not stopped.
func TestTrainStopped(t *testing.T) {
	here(t, "stopping.yaml", strings.Replace(short, "id: CartPole", "id: Stopping", 1))
	gorl(t, 0, "train", "-c", "stopping.yaml", "-q", "--seed", "3", "--name", "whole")
	for _, at := range []string{"1", "41", "48"} { // 48 ends a rollout: the update is interrupted
		ctx, cancel := context.WithCancel(context.Background())
		stop = cancel
		_, stderr := gorlWith(ctx, t, commandline.Stopped, "train", "-c", "stopping.yaml", "--seed", "3", "--name",
			"cut"+at, "--set", "environment.at="+at)
		cancel()
		dir := "runs/cut" + at
		matches(t, stderr, `stopped at timestep `+at+` of 96; the run is saved in `+
			dir+`\. Go on with: gorl train --resume `+dir)
		loaded(t, dir, "checkpoints/agent_"+at+".safetensors")
		stdout, _ := gorl(t, 0, "train", "--resume", dir+"/", "--set", "environment.at=0", "-q")
		same(t, "the resumed run's folder", dir+"\n", stdout)
		const last = "checkpoints/agent_96.safetensors"
		same(t, "stopped at "+at+", the resumed run differs", loaded(t, "runs/whole", last), loaded(t, dir, last))
	}
	// A finished run can go on for longer, also elsewhere.
	must(t, os.Rename("runs/whole", "moved"))
	stdout, _ := gorl(t, 0, "train", "--resume", "moved", "--timesteps", "128")
	matches(t, stdout, `\n +512 `, `The run is in moved`)
	same(t, "timesteps in run.yaml of the longer run", 128, value(t, "moved/run.yaml", "trainer.timesteps"))
}

// What a run cannot go on with leaves its configuration as it is, and so does a run that has nothing left to do.
func TestTrainResumedWrongly(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	before := text("runs/pole/run.yaml")
	_, stderr := gorl(t, commandline.Failed, "train", "--resume", "runs/pole", "--set", "models.mlp=[7]", "--timesteps",
		"128")
	matches(t, stderr, `agent_96.safetensors: .* shape`)
	_, stderr = gorl(t, 0, "train", "--resume", "runs/pole", "--timesteps", "50")
	matches(t, stderr, `the run has 96 timesteps, and 50 were asked for`)
	same(t, "run.yaml changed", before, text("runs/pole/run.yaml"))
}
