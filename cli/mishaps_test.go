package cli

import (
	"os"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// A checkpoint with a manifest is not replaced by what is none, which the manifest would then call damaged.
func TestCheckpointsAreNotSpoilt(t *testing.T) {
	t.Chdir(t.TempDir())
	train(t, ".", "run", 1, 1)
	const path = "run/checkpoints/agent_32.safetensors"
	snap := checkpoint.NewSnapshot()
	snap.Arrays["a"] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	must(t, convert.Write("tensors.npz", snap))
	refuses(t, commandline.WrongUse, [][2]string{
		{"export --force " + path + " " + path, "agent_32.json"},
		{"convert --force tensors.npz " + path, "agent_32.json"},
		{"convert --force run/checkpoints/agent_32 " + path, "same file"},
	})
	load(t, path)
	must(t, os.Remove(path))
	refuses(t, commandline.WrongUse, [][2]string{
		{"export run " + path, "agent_32.json"}, {"convert run " + path, "agent_32.json exists; --force replaces it"},
	})
	says(t, "convert", "--force", "run", path)
	load(t, path)
}

// A run that is resumed from within its folder does not lose its name.
func TestTrainResumesHere(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	t.Chdir("runs/pole")
	gorl(t, 0, "train", "--resume", ".", "--timesteps", "128", "-q")
	same(t, "the run's name", "pole", value(t, "run.yaml", "trainer.name"))
	loaded(t, "checkpoints/agent_128.safetensors")
}
