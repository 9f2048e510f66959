package snippets

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/launch"
)

var (
	programs string // the folder of the built programs
	source   string // the folder of the snippets
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gorl-snippets-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if out, err := exec.Command("go", "build", "-o", dir, "./...").CombinedOutput(); err != nil {
			panic("building the snippets: " + err.Error() + "\n" + string(out))
		}
		programs = dir
		if source, err = os.Getwd(); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// run starts a snippet in folder dir and returns what it wrote to standard output; it must exit with 0.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.Command(filepath.Join(programs, name), args...)
	command.Dir, command.Stdout, command.Stderr = dir, &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// want fails unless every regular expression matches a part of the output.
func want(t *testing.T, output string, expressions ...string) {
	t.Helper()
	for _, e := range expressions {
		if !regexp.MustCompile(e).MatchString(output) {
			t.Errorf("the output has no match of %q:\n%s", e, output)
		}
	}
}

// TestOwnCommand uses a program that is gorl with an environment, a network and a rule of its own: alone, as a
// population in one process, and as the members of a population of processes.
func TestOwnCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"push.yaml", "population.yaml"} {
		text := must.Read(t, filepath.Join(source, "own_command", name))
		text = bytes.ReplaceAll(text, []byte("./own_command,"), []byte(filepath.Join(programs, "own_command")+","))
		must.Do(t, os.WriteFile(name, text, 0o644))
	}
	want(t, run(t, dir, "own_command", "list"), `Pendulum, Push`, `MultivariateGaussian, Skip`, `halve_or_double`)
	want(t, run(t, dir, "own_command", "list", "models", "Skip"), `(?m)^Skip +hidden +\[32,32\] +integer ≥ 1`)
	want(t, run(t, dir, "own_command", "train", "--config", "push.yaml", "--timesteps", "600"),
		`Evaluate it: own_command eval runs/push`)
	want(t, run(t, dir, "own_command", "eval", "runs/push", "--episodes", "16"), `16 episodes of Push`)
	want(t, run(t, dir, "own_command", "train", "--config", "population.yaml"), `The population is in runs/pushers`)
	must.Do(t, os.RemoveAll("runs/pushers"))
	f := must.Get(launch.ReadFile("population.yaml"))(t)
	must.Do(t, launch.Run(t.Context(), f, launch.Options{}))
	best, err := filepath.Glob("runs/pushers/best/*/*.safetensors")
	if err != nil || len(best) == 0 {
		t.Fatalf("the processes have published no weights: %v", err)
	}
	want(t, run(t, dir, "own_command", "eval", "--config", "runs/pushers/config.yaml", "--episodes", "8", best[0]),
		`8 episodes of Push`)
}

func TestAgentsBasicUsage(t *testing.T) {
	want(t, run(t, t.TempDir(), "agents_basic_usage", "-ppo-timesteps", "128", "-amp-timesteps", "64"),
		`PPO: 16 episodes of \d+\.\d steps`, `AMP: 64 episodes of \d+\.\d steps`)
}

func TestAMPWalker(t *testing.T) {
	line := `length \d+\.\d of 300 .* joint error 0\.\d+ rad`
	want(t, run(t, t.TempDir(), "amp_walker", "-timesteps", "64"), line)
	want(t, run(t, t.TempDir(), "amp_walker", "-timesteps", "64", "-memory"), line)
}

// An untrained policy hardly ever finds the goal; little training finds it nearly always.
func TestCustomEnvironment(t *testing.T) {
	output := run(t, t.TempDir(), "custom_environment", "-timesteps", "2000")
	want(t, output, `before training: +[0-9]% of the goals`, `after training: +([6-9]\d|100)% of the goals`)
}

// An interrupted run that is resumed must reach the very parameters of one that was not interrupted.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "resume", "-timesteps", "256", "-name", "whole")
	want(t, run(t, dir, "resume", "-timesteps", "256", "-name", "cut", "-interrupt", "100"),
		`agent_100\.safetensors  timestep 100`, `Stopped; continue with -resume`)
	want(t, run(t, dir, "resume", "-timesteps", "256", "-name", "cut", "-resume"), `from timestep 100`,
		`finished at timestep 256`)
	arrays := func(name string) map[string]checkpoint.Array {
		saved := must.Get(checkpoint.Load(filepath.Join(dir, "runs", name, "checkpoints", "agent_256.safetensors")))(t)
		return saved.Snapshot.Arrays
	}
	must.Equal(t, "the resumed run differs", arrays("whole"), arrays("cut"))
}

func TestFromYAML(t *testing.T) {
	dir := t.TempDir()
	want(t, run(t, dir, "from_yaml", "-steps", "64", "-envs", "8"), `AMP trained for 64 timesteps`,
		`run in runs/from_yaml`)
	want(t, run(t, dir, "from_yaml", "-population", "-envs", "4", "-steps", "4096"),
		`Best: member [0-5] after \d+ environment steps, episode\.return -\d+`,
		`The journal is in runs/from_yaml_population`)
}

func TestPBTAMP(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-members", "2", "-envs", "8", "-steps", "2048", "-interval", "1024", "-out", "demo"}
	want(t, run(t, dir, "pbt_amp", args...), `Best: member [01] after \d+ environment steps`, `walk\.gif`,
		`report\.html`, `journal\.jsonl`)
	demo := filepath.Join(dir, "demo")
	if n := frames(t, filepath.Join(demo, "walk.gif")); n < 100 {
		t.Errorf("the film has %d pictures, want 6 seconds", n)
	}
	want(t, string(must.Read(t, filepath.Join(demo, "report.html"))), "Population of 2")
}

// Plain PPO stands still; with a little training already, rewarded velocity brings some members to the flag. The
// shaping is handed on and mutated with the learning rate.
func TestPBTRewardShaping(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-members", "6", "-envs", "16", "-steps", "48000", "-interval", "16000", "-out", "demo"}
	output := run(t, dir, "pbt_reward_shaping", args...)
	want(t, output,
		`member +parent +environment steps +episode\.true_objective +env\.height +env\.velocity +learning_rate`,
		`plain PPO +0\.001 +0 +0 +-\d\.\d +200`, `PBT, member \d .* [6-9]\d\.\d +1?\d\d\n`)
	events := must.Get(journal.Read(filepath.Join(dir, "demo", "population")))(t)
	if !slices.ContainsFunc(events, func(e journal.Event) bool {
		return e.Kind == journal.Replace && e.Before["env.velocity"] != e.After["env.velocity"]
	}) {
		t.Error("no member's shaping was handed on and mutated")
	}
}
