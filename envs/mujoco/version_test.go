package mujoco

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestVersion(t *testing.T) {
	var major, minor, patch int
	if _, err := fmt.Sscanf(Version(), "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatalf("version %q: %v", Version(), err)
	}
	if asked := os.Getenv("GORL_TEST_MUJOCO"); asked != "" && asked != Version() {
		t.Errorf("scripts/test-mujoco.sh asked for version %s, and the library has %s", asked, Version())
	}
	must.Is(t, headerVersion, major*1000000+minor*1000+patch, "of version %s the headers' version", Version())
}

// TestLibraryOfAnotherVersion loads a model in a process whose mj_version differs from the headers' version.
func TestLibraryOfAnotherVersion(t *testing.T) {
	if os.Getenv("GORL_TEST_OTHER_MUJOCO") != "" {
		m, err := ParseModel(cartPoleXML)
		if err == nil {
			m.Close()
		}
		fmt.Println("error:", err)
		return
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "other.c"), filepath.Join(dir, "libother.so")
	must.Do(t, os.WriteFile(source, []byte("int mj_version(void) { return 210; }\n"), 0o600))
	compiler := cmp.Or(os.Getenv("CC"), "cc") // cgo needs it too
	must.Run(t, exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-o", library, source))
	run := func(preload string) string {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLibraryOfAnotherVersion$")
		c.Env = append(os.Environ(), "GORL_TEST_OTHER_MUJOCO=1", "LD_PRELOAD="+os.Getenv("LD_PRELOAD")+" "+preload)
		return must.Run(t, c)
	}
	other, own := run(library), run("")
	must.Not(t, !strings.Contains(other, "compiled with the headers of MuJoCo "+Version()) ||
		!strings.Contains(other, "the loaded libmujoco is 2.1.0: compile it again"), "with another library: %s", other)
	must.Not(t, !strings.Contains(own, "error: <nil>"), "with its own library: %s", own)
}

// TestNewerFeatures steps models with features that MuJoCo 2.2 lacks as mj_step does, and goes on from a saved state.
func TestNewerFeatures(t *testing.T) {
	plain := strings.Replace(cartPoleXML, `timestep="0.01"`, `timestep="0.01" integrator="implicit"`, 1)
	must.Not(t, !must.Open(ParseModel(plain))(t).Fast(), "the model has features that the fast integrator is not for")
	for _, c := range []struct {
		name     string
		since    int
		from, to string
		state    bool
	}{
		{"delay", 3005000, `name="push"`, `name="push" nsample="5" delay="0.05"`, true},
		{"actuator's damping", 3007000, `name="push"`, `name="push" damping="0.5"`, false},
		{"damping by a polynomial", 3007000, `name="hinge"`, `name="hinge" damping="0.1 0.2"`, false},
		{"plastic spring", 4000000, `name="hinge"`, `name="hinge" stiffness="5" springyield="0.01"`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if headerVersion < c.since {
				t.Skipf("MuJoCo %s has no such feature", Version())
			}
			xml := strings.Replace(plain, c.from, c.to, 1)
			m := must.Open(ParseModel(xml))(t)
			must.Not(t, m.Fast(), "the fast integrator does not know it")
			with, without := swing(t, xml, false), swing(t, plain, false)
			must.Near(t, farthest(with, swing(t, xml, true)), 0, 1e-12, "the step leaves mj_step's trajectory by")
			must.Not(t, farthest(with, without) < 1e-3, "the feature does not move the trajectory")
			if c.state {
				envtest.ConformLearning(t, func(seed int64, workers int) (envs.Env, error) {
					return New(Config{XML: xml, NumEnvs: 2, Seed: seed, Workers: workers, EpisodeLength: 50}, balance{})
				})
			}
		})
	}
}

// swing pushes a cart with a pole to and fro for a second.
func swing(t *testing.T, xml string, reference bool) (out []float64) {
	t.Helper()
	b := must.Open(NewBatch(must.Open(ParseModel(xml))(t), 1, 1))(t)
	b.reference = reference
	b.QPos(0)[1] = 0.1
	must.Do(t, b.Reset(0))
	for k := range 50 {
		b.Ctrl(0)[0] = math.Sin(0.3 * float64(k))
		must.Do(t, b.Step(2))
		out = append(append(out, b.QPos(0)...), b.QVel(0)...)
	}
	return out
}

var rewrite = flag.Bool("rewrite", false, "write testdata/trajectories.json; with MuJoCo 2.2.2 only")

// TestTrajectoriesOfAllVersions holds characters to their trajectories in MuJoCo 2.2.2. With contacts solved to the
// end, all versions agree. The humanoid and the quadruped as they are stop their solver, PGS, after ten iterations.
// What remains then depends on the order of the constraint rows, which changed after MuJoCo 3.1.6.
func TestTrajectoriesOfAllVersions(t *testing.T) {
	const path = "testdata/trajectories.json"
	solved := strings.NewReplacer(`solver="PGS" iterations="10"`, `solver="Newton" iterations="100" tolerance="0"`)
	var want map[string][]float64
	must.Do(t, json.Unmarshal(must.Read(t, path), &want))
	must.Not(t, *rewrite && Version() != "2.2.2", "the trajectories are of MuJoCo 2.2.2, and this is %s", Version())
	for _, c := range []struct {
		name, xml string
		substeps  int
		all       bool
	}{
		{"walker", walkerXML, walkerSubsteps, true},
		{"humanoid, solved to the end", solved.Replace(humanoidXML), 4, true},
		{"quadruped, solved to the end", solved.Replace(quadrupedXML), 4, true},
		{"humanoid", humanoidXML, 4, false},
		{"quadruped", quadrupedXML, 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.all && headerVersion > 3001006 {
				t.Skip("PGS visits the rows in another order after MuJoCo 3.1.6")
			}
			b := must.Open(NewBatch(must.Open(ParseModel(c.xml))(t), 1, 1))(t)
			must.Do(t, b.Reset(0))
			contacts := 0
			for step := range 20 {
				for j := range b.Ctrl(0) {
					b.Ctrl(0)[j] = 0.3 * math.Sin(0.7*float64(step)+float64(j))
				}
				must.Do(t, b.Step(c.substeps))
				contacts += int(b.data[0].ncon)
				if step != 0 && step != 4 && step != 19 {
					continue
				}
				name := fmt.Sprintf("%s, step %d", c.name, step+1)
				got := slices.Concat(b.QPos(0), b.QVel(0))
				if *rewrite {
					want[name] = got
				}
				must.Not(t, !(farthest(got, want[name]) <= 1e-9), "%s: MuJoCo %s differs from 2.2.2", name, Version())
			}
			must.Not(t, contacts == 0, "it touches nothing")
		})
	}
	if *rewrite {
		must.Do(t, os.WriteFile(path, must.Get(json.MarshalIndent(want, "", " "))(t), 0o600))
	}
}
