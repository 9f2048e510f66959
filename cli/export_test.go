package cli

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/internal/commandline"
)

func TestExport(t *testing.T) {
	dir := t.TempDir()
	run := train(t, dir, "cartpole", 1, 1)
	in := func(name string) string { return filepath.Join(dir, name) }
	has(t, says(t, "export", run, in("deep/best.onnx")),
		"best", "input   observations   batch × 4  float32  Box(4), raw; normalised within", "output  actions        "+
			"batch × 1  int64    Discrete(2), categorical",
		"output  logits         batch × 2", "output  probabilities  batch × 2")
	says(t, "export", "--name", "pole", "--doc", "of a test", "--metadata", "a=1,b=2",
		filepath.Join(run, "checkpoints", "agent_64"), in("last.onnx"))
	policy := get(infer.Load(filepath.Join(run, "checkpoints", "agent_64.safetensors")))(t)
	want := get(onnx.Encode(policy, onnx.Options{Name: "pole", Doc: "of a test",
		Metadata: map[string]string{"a": "1", "b": "2"}}))(t)
	if text(in("last.onnx")) != string(want) {
		t.Error("the model is not that of package onnx")
	}
	// The policy alone acts as the agent's.
	says(t, "export", filepath.Join(run, "checkpoints", "agent_64"), in("alone.safetensors"))
	alone := get(infer.Load(in("alone.safetensors")))(t)
	observation := []float32{0.1, -0.2, 0.3, 0.4}
	probabilities := func(p *infer.Policy) []float32 {
		out := make([]float32, 2)
		must(t, p.Probabilities(observation, out))
		return out
	}
	if got, want := probabilities(alone), probabilities(policy); !slices.Equal(got, want) {
		t.Errorf("it chooses with %v, the agent with %v", got, want)
	}
	says(t, "export", in("alone.safetensors"), in("again.onnx"))
	// Members of a group are exported one by one.
	group := filepath.Join(train(t, dir, "group", 5, 2), "checkpoints", "agent_64")
	says(t, "export", "--member", "1", group, in("second.onnx"))
	second := get(infer.LoadMember(group+".safetensors", 1))(t)
	if want = get(onnx.Encode(second, onnx.Options{}))(t); text(in("second.onnx")) != string(want) {
		t.Error("the second agent's model is another")
	}
	// So are the agents of MAPPO, by name.
	named := load(t, group+".safetensors").Snapshot
	named.Values[layout.GroupNames] = []any{"left", "right"}
	store := get(checkpoint.NewStore(in("named"), checkpoint.Options{}))(t)
	several := get(store.Save("named", 1, named))(t)
	says(t, "export", "--member", "right", several, in("right.onnx"))
	if text(in("right.onnx")) != text(in("second.onnx")) {
		t.Error("the agent named right is not the second one")
	}
	// A policy that is not described, or acts on nothing, is not exported.
	save := func(name string, change func(s *checkpoint.Snapshot)) string {
		snap := load(t, filepath.Join(run, "checkpoints", "agent_64.safetensors")).Snapshot
		change(snap)
		store := get(checkpoint.NewStore(in("odd"), checkpoint.Options{}))(t)
		return get(store.Save(name, 1, snap))(t)
	}
	undescribed := save("undescribed", func(s *checkpoint.Snapshot) { delete(s.Values, "policy") })
	endless := save("endless", func(s *checkpoint.Snapshot) { // the sums of the last layer overflow
		s.Arrays["policy/net.0.bias"] = checkpoint.ArrayFloat32([]int64{8}, slices.Repeat([]float32{100}, 8))
		s.Arrays["policy/net.2.weight"] = checkpoint.ArrayFloat32([]int64{2, 8}, slices.Repeat([]float32{3e38}, 16))
	})
	t.Chdir(dir)
	refuses(t, commandline.Failed, [][2]string{
		{"export " + undescribed + " out.onnx", "of an earlier gorl"},
		{"export " + endless + " out.onnx", "cannot act on an observation of zeros"},
		{"export --member 2 " + group + " out.onnx", "no agent 2"},
	})
	refuses(t, commandline.WrongUse, [][2]string{
		{"export " + group + " out.onnx", "of a group of 2 agents: choose one of 0 to 1 with --member"},
		{"export " + several + " out.onnx", "choose left or right with --member"},
		{"export --member rigth " + several + " out.onnx", `did you mean "right"?`},
		{"export cartpole last.onnx", "exists; --force replaces it"},
		{"export cartpole out.pt", ".safetensors or .xml"},
		{"export --doc x cartpole out.safetensors", "are for .onnx"},
	})
	says(t, "export", "--force", run, in("last.onnx"))
}
