package cli

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/commandline"
)

func TestInspect(t *testing.T) {
	run := train(t, t.TempDir(), "cartpole", 1, 1)
	has(t, says(t, "inspect", "--key", "", run), ": run\n", "checkpoints/agent_32.safetensors",
		"checkpoints/best/agent_", "checkpoint of a trainer of PPO\n", "  observations  Box(4), normalised\n",
		"  actions       Discrete(2), categorical\n", "SHA-256", "Loss / Policy loss", "all finite")
	path := filepath.Join(run, "checkpoints", "agent_32.safetensors")
	said := says(t, "inspect", "-k", "POLICY/*.weight", path)
	has(t, said, "policy/net.0.weight", "8×4")
	if strings.Contains(said, "policy/net.0.bias") || strings.Contains(said, "value/net.0.weight") {
		t.Errorf("--key does not choose:\n%s", said)
	}
	// Two paths make two objects.
	d := json.NewDecoder(strings.NewReader(says(t, "inspect", "--json", run, path)))
	for _, kind := range []string{"run", "checkpoint of a trainer of PPO"} {
		var r inspection.Report
		must(t, d.Decode(&r))
		if c := r.Checkpoint; r.Kind != kind || c.Agents[0].Settings["ratio_clip"] != 0.2 || len(c.SHA256) != 64 {
			t.Errorf("%s: %+v", kind, r.Checkpoint)
		}
	}
	must(t, os.Truncate(path, 1000))
	for _, args := range [][]string{{"inspect", run}, {"inspect", "--json", run}} {
		stdout, stderr := gorl(t, commandline.Failed, args...)
		has(t, stderr, "1 checkpoint is damaged")
		has(t, stdout, "agent_32.safetensors", "policy/net.0.weight")
	}
}

func TestInspectClip(t *testing.T) {
	clip := filepath.Join("..", "motions", "clips", "humanoid_walk.npz")
	has(t, says(t, "inspect", clip), ": clip of reference motion\n",
		"  frames      32 at 30 a second, 1.033 s, loop wrap\n", "  skeleton    humanoid: 15 bodies, 28 joints\n",
		"  faults      none found\n")
}

// inspect says what a model lacks, and with the settings of a run file nothing is missing.
func TestInspectModel(t *testing.T) {
	dir := t.TempDir()
	model, config := filepath.Join(dir, "leg.xml"), filepath.Join(dir, "run.yaml")
	write(t, model, `<mujoco model="hopper"><worldbody><body name="trunk" pos="0 0 1"><freejoint/>
<geom size=".1" mass="2"/><body name="leg"><joint name="knee" axis="0 1 0"/><geom name="shin" type="capsule"
size=".02 .1" pos="0 0 -.2"/><geom name="foot" size=".05" pos="0 0 -.35"/></body></body></worldbody></mujoco>`)
	has(t, says(t, "inspect", model), "model of MuJoCo", "hopper", "0.400 m in the default pose", "foot (proposed)",
		"knee", "feet: [foot]", `actuators: [{joints: "knee", stiffness`)
	write(t, config, `environment: {id: Character, feet: [foot], default_pose: {knee: 0.1}, time_step: 0.004,
  actuators: [{joints: knee, stiffness: 20, damping: 1, effort_limit: 9}]}`)
	picture := filepath.Join(dir, "leg.png")
	has(t, says(t, "inspect", model, "--config", config, "--image", picture), "Nothing is missing", "20")
	get(png.Decode(strings.NewReader(text(picture))))(t)
	var r inspection.Report
	must(t, json.Unmarshal([]byte(says(t, "inspect", "--json", model)), &r))
	if r.Model == nil || len(r.Model.Bodies) != 2 || len(r.Model.Missing) != 2 {
		t.Errorf("%+v", r.Model)
	}
}
