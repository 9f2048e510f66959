package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/commandline"
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
	must(t, checkpoint.WriteFile(plain, func(w io.Writer) error { return checkpoint.EncodeSafetensors(w, snap) }))
	says(t, "convert", plain, foreign)
	refuses(t, dir, []refusal{
		{[]string{"export", "--force", path, path}, commandline.WrongUse, "agent_32.json"},
		{[]string{"convert", "--force", foreign, path}, commandline.WrongUse, "agent_32.json"},
		{[]string{"convert", "--force", strings.TrimSuffix(path, ".safetensors"), path}, commandline.WrongUse,
			"same file"},
	})
	load(t, path)
	must(t, os.Remove(path))
	refuses(t, dir, []refusal{
		{[]string{"export", run, path}, commandline.WrongUse, "agent_32.json"},
		{[]string{"convert", run, path}, commandline.WrongUse, "agent_32.json exists; --force replaces it"},
	})
	says(t, "convert", "--force", run, path)
	load(t, path)
}

// A run that is resumed from within its folder does not lose its name.
func TestTrainResumesHere(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	t.Chdir("runs/pole")
	gorl(t, 0, "train", "--resume", ".", "--timesteps", "128", "-q")
	if name := value(t, "run.yaml", "trainer.name"); name != "pole" {
		t.Errorf("the run's name is %q now", name)
	}
	loaded(t, "checkpoints/agent_128.safetensors")
}
