package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/tracking"
)

// A checkpoint with a manifest is not replaced by what is none, which the manifest would then call damaged.
func TestCheckpointsAreNotSpoilt(t *testing.T) {
	dir := t.TempDir()
	run := train(t, dir, "cartpole", 1, 1)
	path := filepath.Join(run, "checkpoints", "agent_32.safetensors")
	foreign := filepath.Join(dir, "tensors.npz")
	snap := checkpoint.NewSnapshot()
	snap.Arrays["a"] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	plain := filepath.Join(dir, "plain.safetensors")
	if err := checkpoint.WriteFile(plain, func(w io.Writer) error { return checkpoint.EncodeSafetensors(w, snap) }); err != nil {
		t.Fatal(err)
	}
	must(t, "convert", plain, foreign)
	refuses(t, dir, []refusal{
		{[]string{"export", "--force", path, path}, commandline.WrongUse, "agent_32.json"},
		{[]string{"export", "--force", run, path}, commandline.WrongUse, "agent_32.json"},
		{[]string{"convert", "--force", foreign, path}, commandline.WrongUse, "agent_32.json"},
		{[]string{"convert", "--force", strings.TrimSuffix(path, ".safetensors"), path}, commandline.WrongUse, "same file"},
		{[]string{"convert", run, strings.Replace(path, "agent_32", "agent_64", 1)}, commandline.WrongUse, "--force"},
	})
	load(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, []refusal{
		{[]string{"export", run, path}, commandline.WrongUse, "agent_32.json"},
		{[]string{"convert", run, path}, commandline.WrongUse, "agent_32.json exists; --force replaces it"},
	})
	must(t, "convert", "--force", run, path)
	load(t, path)
}

// A run that has just begun keeps no others from being drawn.
func TestPlotBesideBegunRun(t *testing.T) {
	dir := t.TempDir()
	tracked(t, filepath.Join(dir, "old"), 1, 1)
	for name, text := range map[string]string{"begun": `{"time":1,"st`, "empty": "", "damaged": "?\n?\n"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, tracking.ScalarsFile), text)
	}
	status, stdout, stderr := use(t.Context(), "plot", "--list", dir)
	if status != commandline.Done || !strings.Contains(stdout, "Loss / Policy loss") || strings.Count(stderr, "note: ") != 2 || !strings.Contains(stderr, "damaged") || !strings.Contains(stderr, "begun") {
		t.Errorf("it ends with %d and says %q, %q", status, stdout, stderr)
	}
	status, _, stderr = use(t.Context(), "plot", "--list", filepath.Join(dir, "begun"), filepath.Join(dir, "damaged"))
	if status != commandline.Failed || !strings.Contains(stderr, "incomplete") {
		t.Errorf("without a run it ends with %d and says %q", status, stderr)
	}
}

func TestEvalWithoutExtension(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	stdout, _ := gorl(t, 0, "eval", "-e", "2", "runs/pole/checkpoints/agent_32")
	matches(t, stdout, `agent_32\.safetensors, timestep 32: \d+ episodes`)
}

// Names that a run's configuration could not hold, or that lead elsewhere, are refused before anything is written.
func TestTrainNames(t *testing.T) {
	here(t, "short.yaml", short)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, []refusal{
		{[]string{"train", "-c", "short.yaml", "--name", ".."}, commandline.WrongUse, "--name"},
		{[]string{"train", "-c", "short.yaml", "--name", "."}, commandline.WrongUse, "--name"},
		{[]string{"train", "-c", "short.yaml", "--name", "a\nb: c"}, commandline.WrongUse, "a\\nb"},
		{[]string{"train", "-c", "short.yaml", "--name", "a\xff"}, commandline.WrongUse, `a\xff`},
		{[]string{"train", "-c", "short.yaml", "--out", "a\xff"}, commandline.WrongUse, `a\xff`},
		{[]string{"train", "-c", "short.yaml", "-s", "trainer.name=.."}, commandline.WrongUse, ".."},
		{[]string{"train", "extra"}, commandline.WrongUse, `what is "extra" for?`},
		{[]string{"eval"}, commandline.WrongUse, "0 arguments: want"},
	})
	absent(t, "checkpoints")
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--name", "it's mine", "--out", "all of them")
	text, err := os.ReadFile("all of them/it's mine/run.yaml")
	if err != nil || !strings.Contains(string(text), `gorl train --config 'all of them/it'\''s mine/run.yaml'`) {
		t.Errorf("%v:\n%.200s", err, text)
	}
	gorl(t, 0, "train", "--resume", "all of them/it's mine", "--timesteps", "128", "-q")
}

// A run that is resumed from within its folder does not lose its name.
func TestTrainResumesHere(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	t.Chdir("runs/pole")
	gorl(t, 0, "train", "--resume", ".", "--timesteps", "128", "-q")
	c, err := readConfiguration("run.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if name := c.Section("trainer")["name"]; name != "pole" {
		t.Errorf("the run's name is %q now", name)
	}
	loaded(t, "checkpoints/agent_128.safetensors")
}
