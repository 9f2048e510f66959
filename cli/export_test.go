package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/internal/commandline"
)

func TestExport(t *testing.T) {
	dir := t.TempDir()
	run := train(t, dir, "cartpole", 1, 1)
	in := func(name string) string { return filepath.Join(dir, name) }
	said := must(t, "export", run, in("deep/best.onnx"))
	for _, want := range []string{
		"best", "input   observations   batch × 4  float32  Box(4), raw; normalised within", "output  actions        batch × 1  int64    Discrete(2), categorical",
		"output  logits         batch × 2", "output  probabilities  batch × 2",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q:\n%s", want, said)
		}
	}
	must(t, "export", "--name", "pole", "--doc", "of a test", "--metadata", "a=1,b=2", filepath.Join(run, "checkpoints", "agent_64"), in("last.onnx"))
	policy, err := infer.Load(filepath.Join(run, "checkpoints", "agent_64.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := onnx.Encode(policy, onnx.Options{Name: "pole", Doc: "of a test", Metadata: map[string]string{"a": "1", "b": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(in("last.onnx")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the model is not that of package onnx: %d bytes, want %d (%v)", len(got), len(want), err)
	}
	// The policy alone acts as the agent's.
	must(t, "export", filepath.Join(run, "checkpoints", "agent_64"), in("alone.safetensors"))
	alone, err := infer.Load(in("alone.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	observation := []float32{0.1, -0.2, 0.3, 0.4}
	probabilities := func(p *infer.Policy) []float32 {
		out := make([]float32, 2)
		if err := p.Probabilities(observation, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got, want := probabilities(alone), probabilities(policy); !slices.Equal(got, want) {
		t.Errorf("it chooses with %v, the agent with %v", got, want)
	}
	if said := must(t, "export", in("alone.safetensors"), in("again.onnx")); !strings.Contains(said, "again.onnx: ") {
		t.Errorf("it says %q", said)
	}
	// Members of a group are exported one by one.
	group := filepath.Join(train(t, dir, "group", 5, 2), "checkpoints", "agent_64")
	must(t, "export", "--member", "1", group, in("second.onnx"))
	second, err := infer.LoadMember(group+".safetensors", 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err = onnx.Encode(second, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(in("second.onnx")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the second agent's model: %v", err)
	}

	// What does not say what it computes, acts on nothing, or is damaged, is not exported.
	save := func(name string, change func(s *checkpoint.Snapshot)) string {
		snap := load(t, filepath.Join(run, "checkpoints", "agent_64.safetensors")).Snapshot
		change(snap)
		store, err := checkpoint.NewStore(in("odd"), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		path, err := store.Save(name, 1, snap)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	undescribed := save("undescribed", func(s *checkpoint.Snapshot) { delete(s.Values, "policy") })
	unsaid := save("unsaid", func(s *checkpoint.Snapshot) {
		s.Values["policy"] = map[string]any{"format": 1, "undescribed": "the model is one's own"}
	})
	endless := save("endless", func(s *checkpoint.Snapshot) {
		bias, err := s.Float32s("policy/net.0.bias", 8)
		if err != nil {
			t.Fatal(err)
		}
		for i := range bias {
			bias[i] = 100 // whose hyperbolic tangent is 1, so that the next layer's sums overflow
		}
		weight, err := s.Float32s("policy/net.2.weight", 2, 8)
		if err != nil {
			t.Fatal(err)
		}
		for i := range weight {
			weight[i] = 3e38
		}
	})
	damaged := filepath.Join(run, "checkpoints", "agent_32.safetensors")
	if err := os.Truncate(damaged, 500); err != nil {
		t.Fatal(err)
	}
	out := in("out.onnx")
	refuses(t, dir, []refusal{
		{[]string{"export", undescribed, out}, commandline.Failed, "of an earlier gorl"},
		{[]string{"export", unsaid, out}, commandline.Failed, "the model is one's own"},
		{[]string{"export", endless, out}, commandline.Failed, "cannot act on an observation of zeros"},
		{[]string{"export", damaged, out}, commandline.Failed, "agent_32.safetensors"},
		{[]string{"export", group, out}, commandline.WrongUse, "of a group of 2 agents: choose one of 0 to 1 with --member"},
		{[]string{"export", "--member", "2", group, out}, commandline.Failed, "no agent 2"},
		{[]string{"export", run, in("last.onnx")}, commandline.WrongUse, "exists; --force replaces it"},
		{[]string{"export", run, in("out.pt")}, commandline.WrongUse, ".onnx or .safetensors"},
		{[]string{"export", "--doc", "x", run, in("out.safetensors")}, commandline.WrongUse, "are for .onnx"},
		{[]string{"export", run}, commandline.WrongUse, "1 argument"},
		{[]string{"export", filepath.Join(dir, "nowhere"), out}, commandline.Failed, "nowhere"},
	})
	must(t, "export", "--force", run, in("last.onnx"))
}
