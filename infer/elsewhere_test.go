//go:build cgo

package infer_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/actors"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestAgreesElsewhere builds a program without cgo, runs it on every kind of policy and compares its actions with the
// agents': on this machine, for ARM boards (where QEMU's user mode is installed, or here is one) and for web pages
// (where Node.js is).
func TestAgreesElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("builds for other machines")
	}
	command, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	root := must.Get(exec.Command(command, "env", "GOROOT").Output())(t)
	arm := []string{"qemu-aarch64-static"}
	if runtime.GOOS == "linux" && runtime.GOARCH == "arm64" {
		arm = nil
	}
	dir := t.TempDir()
	tried := writeAgents(t, dir)
	for _, on := range []struct {
		name, goos, goarch string
		runner             []string
	}{
		{"here", runtime.GOOS, runtime.GOARCH, nil},
		{"arm64", "linux", "arm64", arm},
		{"wasm", "js", "wasm", []string{"node", "--stack-size=8192", filepath.Join(strings.TrimSpace(string(root)),
			"lib", "wasm", "wasm_exec_node.js")}},
	} {
		t.Run(on.name, func(t *testing.T) {
			if len(on.runner) > 0 {
				if _, err := exec.LookPath(on.runner[0]); err != nil {
					t.Skipf("%s/%s programs need %s here, which is not installed", on.goos, on.goarch, on.runner[0])
				}
			}
			program := filepath.Join(t.TempDir(), "act")
			build := exec.Command(command, "build", "-o", program, "./testdata/act")
			build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+on.goos, "GOARCH="+on.goarch)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			line := slices.Concat(on.runner, []string{program, dir, fmt.Sprint(actors.Rows)})
			run := exec.Command(line[0], line[1:]...)
			run.Env = []string{"PATH=" + os.Getenv("PATH")} // wasm_exec.js has room for a small environment only
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			worst := 0.0
			for _, c := range tried {
				raw, err := os.ReadFile(c.path + ".actions")
				got := make([]float32, len(c.want))
				if err == nil {
					_, err = binary.Decode(raw, binary.LittleEndian, got)
				}
				if err != nil || len(raw) != 4*len(got) {
					t.Fatalf("%s: %d bytes of actions: %v", c.path, len(raw), err)
				}
				if err := os.Remove(c.path + ".actions"); err != nil { // the next program writes its own
					t.Fatal(err)
				}
				d := difference(t, c.policy, c.rows, got, c.want)
				if worst = max(worst, d); d > 1e-5 {
					t.Errorf("%s: the greatest difference is %g", filepath.Base(c.path), d)
				}
			}
			t.Logf("%d policies, %d observations each: they differ from the agents by at most %.2g", len(tried),
				observations, worst)
		})
	}
}

// tried is a policy that was written down, what it is to see, and what its agent does.
type tried struct {
	path       string
	policy     *infer.Policy
	rows, want []float32
}

// writeAgents writes every kind of policy, with observations for it, into a folder.
func writeAgents(t *testing.T, dir string) (all []tried) {
	t.Helper()
	for i, c := range actors.Cases() {
		agent := c.New(t, int64(i))
		snap := must.Get(agent.Snapshot(agents.SnapshotOptions{}))(t)
		var data bytes.Buffer
		must.Do(t, checkpoint.EncodeSafetensors(&data, snap))
		policy := must.Get(infer.Decode(data.Bytes()))(t)
		one := tried{path: filepath.Join(dir, strings.ReplaceAll(c.Name, "/", "_")), policy: policy}
		played := c.Play(t, agent, rand.New(rand.NewPCG(uint64(i), 8)), observations/actors.Rows, nil)
		one.rows, one.want = played.Observations, played.Actions
		seen := must.Get(binary.Append(nil, binary.LittleEndian, one.rows))(t)
		masks := must.Get(binary.Append(nil, binary.LittleEndian, played.Masks))(t)
		for suffix, content := range map[string][]byte{".safetensors": data.Bytes(), ".observations": seen,
			".masks": masks, ".ended": played.Ended} {
			must.Do(t, os.WriteFile(one.path+suffix, content, 0o600))
		}
		all = append(all, one)
	}
	return all
}
