package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/commandline"
)

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	run := train(t, dir, "cartpole", 1, 1)
	lacks := func(said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("it lacks %q:\n%s", part, said)
			}
		}
	}
	lacks(says(t, "inspect", "--tensors=false", run), ": run\n", "checkpoints/agent_32.safetensors",
		"checkpoints/best/agent_", "checkpoint of a trainer of PPO\n", "  observations  Box(4), normalised\n",
		"  actions       Discrete(2), categorical\n", "  network       4 → 8 tanh → 2\n", "SHA-256", "learning_rate",
		"Loss / Policy loss", "episode.return", "all finite")
	said := says(t, "inspect", "--stats", "-k", "POLICY/*.weight", filepath.Join(run, "checkpoints", "agent_64"))
	lacks(said, "policy/net.0.weight", "8×4", "mean")
	if strings.Contains(said, "policy/net.0.bias") || strings.Contains(said, "value/net.0.weight") {
		t.Errorf("--key does not choose:\n%s", said)
	}
	// Two paths make two objects.
	d := json.NewDecoder(strings.NewReader(says(t, "inspect", "--json", run,
		filepath.Join(run, "checkpoints", "agent_32.json"))))
	for _, kind := range []string{"run", "checkpoint of a trainer of PPO"} {
		var r inspection.Report
		must(t, d.Decode(&r))
		if c := r.Checkpoint; r.Kind != kind || c.Agents[0].Settings["ratio_clip"] != 0.2 ||
			c.Totals.Tensors != len(c.Tensors) || len(c.SHA256) != 64 {
			t.Errorf("%s: %+v", kind, r.Checkpoint)
		}
	}
}

func TestInspectFindsDamage(t *testing.T) {
	run := train(t, t.TempDir(), "cartpole", 1, 1)
	path := filepath.Join(run, "checkpoints", "agent_32.safetensors")
	data := []byte(text(path))
	data[len(data)-1] ^= 1
	write(t, path, string(data))
	for _, args := range [][]string{{"inspect", run}, {"inspect", "--json", run}} {
		status, stdout, stderr := use(t.Context(), args...)
		if status != commandline.Failed || stderr != "gorl: 1 checkpoint is damaged\n" ||
			!strings.Contains(stdout, "the checksum is not the manifest's") ||
			!strings.Contains(stdout, "policy/net.0.weight") {
			t.Errorf("%q ends with %d and says %s\n%s", args, status, stderr, stdout)
		}
	}
	refuses(t, run, []refusal{
		{[]string{"inspect", path}, commandline.Failed, "agent_32.safetensors is damaged: "},
		{[]string{"inspect", t.TempDir()}, commandline.Failed, "has no checkpoints"},
	})
}

func TestInspectClip(t *testing.T) {
	clip := filepath.Join("..", "motions", "clips", "humanoid_walk.npz")
	said := says(t, "inspect", clip)
	for _, want := range []string{": clip of reference motion\n",
		"  frames      32 at 30 a second, 1.033 s, loop wrap\n", "  skeleton    humanoid: 15 bodies, 28 joints\n",
		"  faults      none found\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q:\n%s", want, said)
		}
	}
	var r inspection.Report
	if err := json.Unmarshal([]byte(says(t, "inspect", "--json", clip)), &r); err != nil || r.Clip == nil ||
		r.Clip.Joints != 28 || r.Checkpoint != nil {
		t.Errorf("%+v, %v", r, err)
	}
	bad := filepath.Join(t.TempDir(), "bad.bvh")
	write(t, bad, "HIERARCHY\nROOT")
	if _, said := gorl(t, 1, "inspect", bad); !strings.Contains(said, "bad.bvh: line 2: a joint has no name") {
		t.Error(said)
	}
}
