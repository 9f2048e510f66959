package cli

import (
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// The models are those of package onnx; TestEvalUsesStatistics plays a policy alone.
func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	train(t, ".", "cartpole", 1, 1)
	const agent = "cartpole/checkpoints/agent_64.safetensors"
	has(t, says(t, "export", "cartpole", "deep/best.onnx"), "best",
		"input   observations   batch × 4  float32  Box(4), raw; normalised within",
		"output  actions        batch × 1  int64    Discrete(2), categorical",
		"output  logits         batch × 2", "output  probabilities  batch × 2")
	model := func(path string, policy *infer.Policy) {
		t.Helper()
		if want := get(onnx.Encode(policy, onnx.Options{}))(t); text(path) != string(want) {
			t.Errorf("%s is not the model of package onnx", path)
		}
	}
	says(t, "export", agent, "last.onnx")
	model("last.onnx", get(infer.Load(agent))(t))
	says(t, "export", agent, "alone.safetensors")
	says(t, "export", "alone.safetensors", "again.onnx")
	// Members of a group are exported one by one, those of MAPPO by name.
	train(t, ".", "group", 5, 2)
	const group = "group/checkpoints/agent_64"
	says(t, "export", "--member", "1", group, "second.onnx")
	model("second.onnx", get(infer.LoadMember(group+".safetensors", 1))(t))
	save := func(name string, snap *checkpoint.Snapshot) string {
		return get(get(checkpoint.NewStore("changed", checkpoint.Options{}))(t).Save(name, 1, snap))(t)
	}
	named := load(t, group+".safetensors").Snapshot
	named.Values[layout.GroupNames] = []any{"left", "right"}
	several := save("named", named)
	says(t, "export", "--member", "right", several, "right.onnx")
	same(t, "the agent named right", text("second.onnx"), text("right.onnx"))
	snap := load(t, agent).Snapshot // the sums of the last layer overflow
	snap.Arrays["policy/net.0.bias"] = checkpoint.ArrayFloat32([]int64{8}, slices.Repeat([]float32{100}, 8))
	snap.Arrays["policy/net.2.weight"] = checkpoint.ArrayFloat32([]int64{2, 8}, slices.Repeat([]float32{3e38}, 16))
	endless := save("endless", snap)
	refuses(t, commandline.Failed, [][2]string{
		{"export " + endless + " out.onnx", "cannot act on an observation of zeros"},
		{"export --member 2 " + group + " out.onnx", "no agent 2"},
	})
	refuses(t, commandline.WrongUse, [][2]string{
		{"export " + group + " out.onnx", "of a group of 2 agents: choose one of 0 to 1 with --member"},
		{"export " + several + " out.onnx", "choose left or right with --member"},
		{"export --member rigth " + several + " out.onnx", `did you mean "right"?`},
		{"export cartpole last.onnx", "exists; --force replaces it"},
		{"export cartpole out.pt", ".safetensors or .xml"},
	})
}
