package snippets

import (
	"bytes"
	"encoding/json"
	"image/gif"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/tracking"
)

var programs string // the folder of the built programs

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

// TestEverySnippetIsTested keeps the list below complete.
func TestEverySnippetIsTested(t *testing.T) {
	mains, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("snippets_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range mains {
		name := filepath.Dir(path)
		if !strings.Contains(string(text), `t.TempDir(), "`+name+`"`) && !strings.Contains(string(text), `dir, "`+name+`"`) {
			t.Errorf("no test runs snippets/%s", name)
		}
	}
}

func TestAgentsBasicUsage(t *testing.T) {
	want(t, run(t, t.TempDir(), "agents_basic_usage", "-ppo-timesteps", "128", "-amp-timesteps", "64"),
		`PPO: 16 episodes of \d+\.\d steps`, `AMP: 64 episodes of \d+\.\d steps`)
}

func TestAMPWalker(t *testing.T) {
	want(t, run(t, t.TempDir(), "amp_walker", "-timesteps", "64"), `length \d+\.\d of 300 .* joint error 0\.\d+ rad`)
}

// An untrained policy hardly ever finds the goal; little training finds it nearly always.
func TestCustomEnvironment(t *testing.T) {
	output := run(t, t.TempDir(), "custom_environment", "-timesteps", "2000")
	want(t, output, `before training: +[0-9]% of the goals`, `after training: +([6-9]\d|100)% of the goals`)
}

func TestCustomModel(t *testing.T) {
	want(t, run(t, t.TempDir(), "custom_model", "-timesteps", "128"), `return -\d+\.\d over 32 episodes, with 17 parameter tensors`)
}

func TestMotionClips(t *testing.T) {
	want(t, run(t, t.TempDir(), "motion_clips"), `gait: 55 frames, 1\.100 s, loop wrap, 9 positions`, `8 rows of AMP observations: 34 values each`)
}

func TestMotionClipsFromFile(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("..", "motions", "testdata", "tiny.npz"))
	if err != nil {
		t.Fatal(err)
	}
	clip, err := motions.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want(t, run(t, t.TempDir(), "motion_clips", path), regexp.QuoteMeta(clip.Name())+`: \d+ frames`, `8 rows of AMP observations`)
}

func TestStepByStep(t *testing.T) {
	output := run(t, t.TempDir(), "step_by_step", "-timesteps", "128")
	found := regexp.MustCompile(`with a trainer: (.*)\nby hand: (.*)\n`).FindStringSubmatch(output)
	if found == nil || found[1] != found[2] {
		t.Errorf("the two loops are not the same run:\n%s", output)
	}
}

func TestPPOPendulum(t *testing.T) {
	dir := t.TempDir()
	want(t, run(t, dir, "ppo_pendulum", "-timesteps", "128", "-out", "film"), `return -\d+\.\d over 64 episodes`, `film in film`)
	films, err := filepath.Glob(filepath.Join(dir, "film", "*.gif"))
	if err != nil || len(films) != 1 {
		t.Fatalf("films: %v, %v; want one", films, err)
	}
	if n := frames(t, films[0]); n < 100 {
		t.Errorf("the film has %d pictures, want an episode's", n)
	}
}

// An interrupted run that is resumed must reach the very parameters of one that was not interrupted.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "resume", "-timesteps", "256", "-name", "whole")
	want(t, run(t, dir, "resume", "-timesteps", "256", "-name", "cut", "-interrupt", "100"), `agent_100\.safetensors  timestep 100`, `Stopped; continue with -resume`)
	want(t, run(t, dir, "resume", "-timesteps", "256", "-name", "cut", "-resume"), `from timestep 100`, `finished at timestep 256`)
	arrays := func(name string) map[string]checkpoint.Array {
		saved, err := checkpoint.Load(filepath.Join(dir, "runs", name, "checkpoints", "agent_256.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		return saved.Snapshot.Arrays
	}
	if diff := cmp.Diff(arrays("whole"), arrays("cut")); diff != "" {
		t.Errorf("the resumed run differs (-whole +cut):\n%.2000s", diff)
	}
}

func TestFromYAML(t *testing.T) {
	dir := t.TempDir()
	want(t, run(t, dir, "from_yaml", "-timesteps", "64", "-envs", "8"), `AMP trained for 64 timesteps`, `run in runs/from_yaml`)
	written := filepath.Join(dir, "runs", "from_yaml")
	scalars, err := tracking.ReadFile(filepath.Join(written, tracking.ScalarsFile))
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{}
	for _, s := range scalars {
		tags[s.Tag] = true
	}
	for _, tag := range []string{"Loss / Policy loss", "Loss / Discriminator loss", "Reward / Style reward (mean)", "Discriminator / Accuracy (motion)"} {
		if !tags[tag] {
			t.Errorf("the run did not track %q", tag)
		}
	}
	if _, err := checkpoint.Load(filepath.Join(written, "checkpoints", "agent_64.safetensors")); err != nil {
		t.Error(err)
	}
	path, err := filepath.Abs(filepath.Join("from_yaml", "walker_amp.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, run(t, dir, "from_yaml", "-config", path, "-timesteps", "32", "-envs", "4", "-out", "other"), `AMP trained for 32 timesteps`, `run in other/from_yaml`)
}

func TestPBTAMP(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-members", "2", "-envs", "8", "-steps", "2048", "-interval", "1024", "-out", "demo"}
	want(t, run(t, dir, "pbt_amp", args...), `Best: member [01] after \d+ steps`, `walk\.gif`, `population\.png`, `journal\.jsonl`)
	demo := filepath.Join(dir, "demo")
	if n := frames(t, filepath.Join(demo, "walk.gif")); n < 100 {
		t.Errorf("the film has %d pictures, want 6 seconds", n)
	}
	file, err := os.Open(filepath.Join(demo, "population.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if picture, err := png.Decode(file); err != nil || picture.Bounds().Dx() < 300 {
		t.Errorf("population.png: %v", err)
	}
	events, err := pbt.ReadJournal(filepath.Join(demo, "population", pbt.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[pbt.EventKind]int{}
	for _, e := range events {
		kinds[e.Kind]++
	}
	if kinds[pbt.EventPopulation] != 1 || kinds[pbt.EventStart] != 2 || kinds[pbt.EventFinal] != 2 {
		text, _ := json.Marshal(kinds)
		t.Errorf("the journal has %s, want one population, two members started and two at their end", text)
	}
}

// frames is the number of pictures in a film.
func frames(t *testing.T, path string) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	film, err := gif.DecodeAll(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return len(film.Image)
}

// The population continues with the architectures that it had evolved to.
func TestEvolvePPO(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-members", "4", "-envs", "4", "-steps", "2048", "-interval", "256", "-out", "demo"}
	first := run(t, dir, "evolve_ppo", args...)
	want(t, first, `last mutation`, `Elite: member [0-3] of generation \d, policy 4→\[.*learning rate .* Return \d+\.\d over 64 episodes`, `population\.png`)
	if again := run(t, dir, "evolve_ppo", append(args, "-resume")...); again != first {
		t.Errorf("a finished run that is resumed ends as\n%s\nafter\n%s", again, first)
	}
	events, err := pbt.ReadJournal(filepath.Join(dir, "demo", "population", pbt.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	shapes, mutations := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		shapes[e.Architecture], mutations[e.Mutation] = true, true
	}
	if len(shapes) < 3 || !mutations["learning_rate"] { // one of them is none
		t.Errorf("architectures %v, mutations %v", shapes, mutations)
	}
	elites, err := filepath.Glob(filepath.Join(dir, "demo", "elite", "*.safetensors"))
	if err != nil || len(elites) != 1 {
		t.Errorf("elites %v, %v", elites, err)
	}
}

func TestEvolveAMP(t *testing.T) {
	dir := t.TempDir()
	want(t, run(t, dir, "evolve_amp", "-members", "2", "-envs", "4", "-steps", "512", "-interval", "128", "-out", "demo"),
		`style_reward_scale`, `Elite: member [01] of generation \d, return \d+\.\d: policy 17→\[.*discriminator 34→\[.* A film is in demo`)
	if n := frames(t, filepath.Join(dir, "demo", "walk.gif")); n < 100 {
		t.Errorf("the film has %d pictures, want 6 seconds", n)
	}
}
