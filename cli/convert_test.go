package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// TestConvertFormats takes a checkpoint through all formats and back, to the last bit.
func TestConvertFormats(t *testing.T) {
	dir := t.TempDir()
	run := train(t, dir, "cartpole", 1, 1)
	in := func(name string) string { return filepath.Join(dir, name) }
	has(t, says(t, "convert", run, in("a.npz")), "best", " → "+in("a.npz")+": ", " tensors, ", "; the file has ")
	says(t, "convert", in("a.npz"), in("b.pt"))
	says(t, "convert", in("b.pt"), in("deep/c.safetensors"))
	best := globbed(t, filepath.Join(run, "checkpoints", "best", "*.safetensors"), 1)
	was, is := load(t, best[0]), load(t, in("deep/c.safetensors"))
	same(t, "a checkpoint that has been a .npz and a .pt differs", was.Snapshot, is.Snapshot)
	if is.Manifest.Step != was.Manifest.Step || is.Manifest.WrittenBy != "gorl convert" {
		t.Errorf("its manifest is %+v", is.Manifest)
	}
	// --force replaces, a checkpoint with its manifest.
	older := filepath.Join(run, "checkpoints", "agent_32.safetensors")
	says(t, "convert", "--force", older, in("deep/c.safetensors"))
	if got := load(t, in("deep/c.safetensors")); got.Manifest.Step != 32 {
		t.Errorf("the step is %d", got.Manifest.Step)
	}
	if left := files(t, in("deep")); len(left) != 2 {
		t.Errorf("there are %q", left)
	}
	// An agent of a group becomes one of its own.
	group := train(t, dir, "group", 5, 2)
	says(t, "convert", "--member", "1", filepath.Join(group, "checkpoints", "agent_64"), in("second.safetensors"))
	all, own := load(t, filepath.Join(group, "checkpoints", "agent_64.safetensors")), load(t, in("second.safetensors"))
	if diff := cmp.Diff(all.Snapshot.Arrays["agent_1/policy/net.0.weight"],
		own.Snapshot.Arrays["policy/net.0.weight"]); diff != "" ||
		len(own.Snapshot.Arrays)*2 != len(all.Snapshot.Arrays) {
		t.Errorf("%d of %d arrays; %s", len(own.Snapshot.Arrays), len(all.Snapshot.Arrays), diff)
	}
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
	c := get(skrl.Read("agent.pt"))(t)
	for i, m := range c.Modules[:2] { // policy and value
		c.Modules[i].State = torchfile.NewOrderedDict()
		for name, x := range m.State.All() {
			c.Modules[i].State.Set(strings.Replace(name.(string), "_container", "", 1), x)
		}
	}
	must(t, c.WriteFile("plain.pt"))
	says(t, "convert", "--to", "skrl", "--like", "plain.pt", agent, "like.pt")
	c = get(skrl.Read("like.pt"))(t)
	if _, plain := c.Module("policy").Get("net.0.weight"); !plain {
		t.Error("the names are not those of --like")
	}
	must(t, torchfile.WriteFile("policy_64.pt", c.Module("policy")))
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
	hostile, theirs := text("../checkpoint/torchfile/testdata/script.pt"),
		text("../checkpoint/skrl/testdata/ppo/first.pt")
	t.Chdir(t.TempDir())
	train(t, ".", "run", 1, 1)
	says(t, "convert", "run", "there.npz")
	says(t, "convert", "--to", "skrl", "run", "agent.pt")
	write(t, "hostile.pt", hostile)
	write(t, "first.pt", theirs)
	refuses(t, commandline.Failed, [][2]string{
		{"convert hostile.pt out.safetensors", "hostile.pt cannot be read"},
		{"convert --from skrl --like run first.pt out.safetensors", "first.pt"},
		{"convert --member 0 run out.safetensors", "no member 0"},
	})
	refuses(t, commandline.WrongUse, [][2]string{
		{"convert run there.npz", "exists; --force replaces it"},
		{"convert --force there.npz there.npz", "the same file"},
		{"convert run", "1 argument: want two files"},
		{"convert run a.onnx", ".pt, .safetensors or .npz"},
		{"convert --from skrl --to skrl agent.pt b.pt", "exclude each other"},
		{"convert --from skrl agent.pt out.safetensors", "--like is missing"},
		{"convert --from skrl --like run agent.pt b.npz", "is named *.safetensors"},
		{"convert --to skrl run b.npz", "is named *.pt"},
		{"convert --like run run out.safetensors", "--like needs"},
		{"convert --without-rest run out.safetensors", "--without-rest needs --to skrl"},
		{"convert --partial --to skrl run b.pt", "--partial needs --from skrl"},
		{"convert --member 0 --from skrl --like run agent.pt out.safetensors", "--member is of a group's"},
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
