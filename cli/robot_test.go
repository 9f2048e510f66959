package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/commandline"
)

// A run of a character says which robot it trains, and so do its exports. The exported model is the run's.
func TestRobotOfRuns(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	config := strings.Replace(says(t, "train", "--example", "quadruped"), "timesteps: 31232", "timesteps: 32", 1)
	config = strings.Replace(config, "num_envs: 64", "num_envs: 4", 1)
	must(t, os.WriteFile(in("q.yaml"), []byte(config), 0o600))
	gorl(t, 0, "train", "--config", in("q.yaml"), "--out", dir)
	run := in("quadruped")
	says(t, "export", run, in("q.safetensors"))
	policy := get(infer.Load(in("q.safetensors")))(t)
	r, ok := policy.Robot()
	if !ok || r.Name != "quadruped" || len(r.Joints) != 12 {
		t.Fatalf("the exported policy is of %v", r)
	}
	says(t, "export", run, in("q.onnx"))
	has(t, text(in("q.onnx")), "joint_names", "FR_hip,FR_thigh", "run_path", "gorl.robot", "observation_names")
	says(t, "export", run, in("model.xml"))
	m := get(mujoco.LoadModel(in("model.xml")))(t)
	defer m.Close()
	if m.NU() != 12 {
		t.Errorf("the exported model has %d actuators", m.NU())
	}
	// A description that is of another policy is an error before anything is written.
	r.Joints = r.Joints[:5]
	must(t, os.WriteFile(filepath.Join(run, robotFile), get(json.Marshal(r))(t), 0o600))
	status, _, stderr := use(t.Context(), "export", run, in("other.onnx"))
	if _, err := os.Stat(in("other.onnx")); err == nil || status == commandline.Done ||
		!strings.Contains(stderr, robotFile) {
		t.Errorf("%d, %s: it was exported all the same", status, stderr)
	}
}
