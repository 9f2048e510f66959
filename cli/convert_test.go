package cli

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// TestConvertFormats takes a checkpoint through all formats and back, to the last bit.
func TestConvertFormats(t *testing.T) {
	t.Chdir(t.TempDir())
	train(t, ".", "run", 1, 1)
	has(t, says(t, "convert", "run", "a.npz"), "best", " → a.npz: ", " tensors, ", "; the file has ")
	says(t, "convert", "a.npz", "b.pt")
	says(t, "convert", "b.pt", "deep/c.safetensors")
	was, is := load(t, globbed(t, "run/checkpoints/best/*.safetensors", 1)[0]), load(t, "deep/c.safetensors")
	same(t, "a checkpoint that has been a .npz and a .pt differs", was.Snapshot, is.Snapshot)
	if is.Manifest.Step != was.Manifest.Step || is.Manifest.WrittenBy != "gorl convert" {
		t.Errorf("its manifest is %+v", is.Manifest)
	}
	// An agent of a group becomes one of its own.
	train(t, ".", "group", 5, 2)
	says(t, "convert", "--member", "1", "group/checkpoints/agent_64", "second.safetensors")
	all, own := loaded(t, "group/checkpoints/agent_64.safetensors"), loaded(t, "second.safetensors")
	same(t, "the second agent", all["agent_1/policy/net.0.weight"], own["policy/net.0.weight"])
	same(t, "the number of arrays", len(all), 2*len(own))
}

// TestConvertSkrl takes an agent to skrl and back into another one, and a policy alone into a part of it.
func TestConvertSkrl(t *testing.T) {
	t.Chdir(t.TempDir())
	train(t, ".", "run", 1, 1)
	train(t, ".", "other", 2, 1)
	const agent, like = "run/checkpoints/agent_64.safetensors", "other/checkpoints/agent_64.safetensors"
	has(t, says(t, "convert", "--to", "skrl", agent, "agent.pt"),
		"For skrl's agent.load: policy, value, optimizer, observation_preprocessor.")
	has(t, says(t, "convert", "--from", "skrl", "--like", like, "agent.pt", "back.safetensors"),
		"Carried over: policy, value, optimizer, observation_preprocessor. The rest is that of "+like)
	mine, theirs, back := loaded(t, agent), loaded(t, like), loaded(t, "back.safetensors")
	same(t, "the weights", mine["value/net.0.weight"], back["value/net.0.weight"])
	same(t, "the environment's state", theirs["environment/state"], back["environment/state"])
	must(t, torchfile.WriteFile("policy_64.pt", get(skrl.Read("agent.pt"))(t).Module("policy")))
	from := []string{"convert", "--from", "skrl", "--like", like, "policy_64.pt", "part.safetensors"}
	gorl(t, commandline.Failed, from...)
	has(t, says(t, append(from, "--partial")...), "Carried over: policy. ", "value")
	part := loaded(t, "part.safetensors")
	same(t, "the policy is the file's", mine["policy/net.0.weight"], part["policy/net.0.weight"])
	same(t, "the value network is the agent's", theirs["value/net.0.weight"], part["value/net.0.weight"])
}

// TestConvertSkrlWrappers: what skrl's file has no place for is said.
func TestConvertSkrlWrappers(t *testing.T) {
	here(t, "short.yaml", strings.Replace(short, "num_envs: 4", "num_envs: 4, wrappers: [normalize_observation, "+
		"clip_observation: {low: -3, high: 4}, normalize_reward: {discount: 0.99}]", 1))
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	said, _ := gorl(t, 0, "convert", "--to", "skrl", "runs/pole", "agent.pt")
	has(t, said, "note: the file does not hold what the wrappers", "normalize_observation (epsilon 1e-08), "+
		"clip_observation (-3 to 4)", "arrays environment/statistics/", "gorl export",
		"note: the file does not hold the statistics of normalize_reward")
}

// TestConvertRefuses what is wrong, and writes nothing.
func TestConvertRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	train(t, ".", "run", 1, 1)
	says(t, "convert", "run", "there.npz")
	write(t, "broken.pt", "no archive")
	refuses(t, commandline.Failed, [][2]string{
		{"convert broken.pt out.safetensors", "a damaged one"},
		{"convert --member 0 run out.safetensors", "no member 0"},
	})
	refuses(t, commandline.WrongUse, [][2]string{
		{"convert --force there.npz there.npz", "the same file"},
		{"convert run", "1 argument: want two files"},
		{"convert run a.onnx", ".pt, .safetensors or .npz"},
		{"convert --from skrl --to skrl agent.pt b.pt", "exclude each other"},
		{"convert --from skrl agent.pt out.safetensors", "--like is missing"},
		{"convert --to skrl run b.npz", "is named *.pt"},
		{"convert --without-rest run out.safetensors", "--without-rest needs --to skrl"},
	})
}

// TestConvertSkrlByConfiguration makes a checkpoint of skrl's file without a training before, and plays it. What is no
// such checkpoint is refused with the call that makes one.
func TestConvertSkrlByConfiguration(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	said, _ := gorl(t, 0, "convert", "--to", "skrl", "runs/pole", "agent_2000.pt")
	if strings.Contains(said, "note: ") {
		t.Errorf("without wrappers it says %s", said)
	}
	said, _ = gorl(t, 0, "convert", "--from", "skrl", "--like", "short.yaml", "agent_2000.pt", "a.safetensors")
	matches(t, said, `The rest is that of a new agent; play it with: gorl eval --config short.yaml TO`)
	was := load(t, globbed(t, "runs/pole/checkpoints/best/*.safetensors", 1)[0])
	same(t, "the weights", was.Snapshot.Arrays["policy/net.0.weight"],
		load(t, "a.safetensors").Snapshot.Arrays["policy/net.0.weight"])
	played, _ := gorl(t, 0, "eval", "--config", "short.yaml", "a.safetensors", "--episodes", "1")
	matches(t, played, `^a.safetensors, timestep 2000: `)
	said, _ = gorl(t, 0, "convert", "agent_2000.pt", "tensors.safetensors")
	matches(t, said, `note: the file holds tensors and is no checkpoint of an agent`)
	for call, want := range map[string]string{
		"eval --config short.yaml tensors.safetensors": `no manifest \(tensors.json\): .*convert --from skrl --like`,
		"eval --config short.yaml agent_2000.pt":       `gorl convert --from skrl --like CONFIG.yaml agent_2000.pt`,
		"convert short.yaml other.yaml": `is a file of gorl or skrl and needs no conversion: gorl train --config ` +
			`short.yaml$`,
		"train -c agent_2000.pt": `agent_2000.pt is no configuration but a file of tensors`,
	} {
		_, stderr := gorl(t, commandline.WrongUse, strings.Fields(call)...)
		matches(t, stderr, `(?m)`+strings.TrimSuffix(want, "$"))
	}
}

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
		{"convert run " + path, "exists; --force replaces it"},
	})
	says(t, "convert", "--force", "run/checkpoints/agent_64", path)
	same(t, "the step", int64(64), load(t, path).Manifest.Step)
}
