//go:build cgo

package infer_test

import (
	"bytes"
	"encoding/gob"
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
	root := must.Run(t, exec.Command("go", "env", "GOROOT"))
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
		{"wasm", "js", "wasm", []string{"node", "--stack-size=8192",
			filepath.Join(strings.TrimSpace(root), "lib/wasm/wasm_exec_node.js")}},
	} {
		t.Run(on.name, func(t *testing.T) {
			if len(on.runner) > 0 {
				if _, err := exec.LookPath(on.runner[0]); err != nil {
					t.Skipf("%s/%s programs need %s here, which is not installed", on.goos, on.goarch, on.runner[0])
				}
			}
			program := filepath.Join(t.TempDir(), "act")
			build := exec.Command("go", "build", "-o", program, "./testdata/act")
			build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+on.goos, "GOARCH="+on.goarch)
			must.Run(t, build)
			line := slices.Concat(on.runner, []string{program, dir, fmt.Sprint(actors.Rows)})
			run := exec.Command(line[0], line[1:]...)
			run.Env = []string{"PATH=" + os.Getenv("PATH")} // wasm_exec.js has room for a small environment only
			must.Run(t, run)
			var got [][]float32
			path := filepath.Join(dir, "actions")
			must.Do(t, gob.NewDecoder(must.Open(os.Open(path))(t)).Decode(&got))
			must.Do(t, os.Remove(path)) // the next program writes its own
			for i, c := range tried {
				must.Is(t, len(got[i]), len(c.want), "%s: actions", c.name)
				if d := difference(t, c.policy, c.rows, got[i], c.want); d > 1e-5 {
					t.Errorf("%s: the greatest difference is %g", c.name, d)
				}
			}
		})
	}
}

// tried is a policy that was written down, what it is to see, and what its agent does.
type tried struct {
	name       string
	policy     *infer.Policy
	rows, want []float32
}

// writeAgents writes every kind of policy, with observations for it, into a folder, as testdata/act reads them.
func writeAgents(t *testing.T, dir string) (all []tried) {
	t.Helper()
	type seen struct {
		Policy              []byte
		Observations, Masks []float32
		Ended               []byte
	}
	var list []seen
	for i, c := range actors.Cases() {
		agent := c.New(t, int64(i))
		snap := must.Get(agent.Snapshot(agents.SnapshotOptions{}))(t)
		var data bytes.Buffer
		must.Do(t, checkpoint.EncodeSafetensors(&data, snap))
		policy := must.Get(infer.Decode(data.Bytes()))(t)
		played := c.Play(t, agent, rand.New(rand.NewPCG(uint64(i), 8)), observations/actors.Rows, nil)
		all = append(all, tried{c.Name, policy, played.Observations, played.Actions})
		list = append(list, seen{data.Bytes(), played.Observations, played.Masks, played.Ended})
	}
	file := must.Open(os.Create(filepath.Join(dir, "seen")))(t)
	must.Do(t, gob.NewEncoder(file).Encode(list))
	return all
}
