package snippets

import (
	"fmt"
	"image/gif"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// The policy alone must do what the agent does, also in the program of a board without libtorch.
func TestDeploy(t *testing.T) {
	dir := t.TempDir()
	output := run(t, dir, "deploy", "-timesteps", "128", "-out", "runs/lean")
	want(t, output, `checkpoint \d+ bytes, policy\.safetensors \d+, policy\.onnx \d+`,
		`return -\d+\.\d by the policy alone`, `differ by \de-0[6-9] at most|differ by 0 at most`)
	policy := filepath.Join(dir, "runs", "lean", "policy.safetensors")
	act := filepath.Join(dir, "act-without-cgo")
	for _, args := range [][]string{
		{"CGO_ENABLED=0", "-o", act, "./deploy/act"},
		{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "-o", filepath.Join(dir, "policy.wasm"), "./deploy/browser"},
	} {
		i := slices.Index(args, "-o")
		build := exec.Command("go", append([]string{"build"}, args[i:]...)...)
		build.Env = append(os.Environ(), args[:i]...)
		must.Run(t, build)
	}
	command := exec.Command(act, policy)
	command.Stdin = strings.NewReader("1 0 0.5\n\n-0.3 0.9 -2\n") // the empty line ends an episode
	actions := must.Run(t, command)
	loaded := must.Get(infer.Load(policy))(t)
	expected := make([]float32, 2)
	must.Do(t, loaded.ActBatch([]float32{1, 0, 0.5, -0.3, 0.9, -2}, expected))
	must.Equal(t, "the board's actions", fmt.Sprintf("%v\n%v\n", expected[0], expected[1]), actions)
}

// AMP learns the style of a clip in an environment that is Python, and the task beside it; without the style reward it
// learns the task alone.
func TestPeersGymnasiumAMP(t *testing.T) {
	want(t, run(t, t.TempDir(), "gymnasium_amp", "-python", "no-such-python"), `needs Python 3\.8 with gymnasium`)
	peers.Python(t, "gymnasium")
	line := regexp.MustCompile(`return (\S+) of 60  speed error \S+ m/s  frequency (\S+) Hz  orbit error (\S+)\n`)
	figures := func(args ...string) (total, frequency, orbit float64) {
		t.Helper()
		output := run(t, t.TempDir(), "gymnasium_amp", args...)
		found := line.FindStringSubmatch(output)
		if found == nil {
			t.Fatalf("no figures in the output:\n%s", output)
		}
		must.Get(fmt.Sscan(strings.Join(found[1:], " "), &total, &frequency, &orbit))(t)
		t.Logf("%v: %s", args, found[0])
		return total, frequency, orbit
	}
	for _, seed := range []string{"1", "2", "3"} {
		if total, frequency, orbit := figures("-seed", seed); total < 54 || frequency < 0.7 || frequency > 0.9 ||
			orbit > 0.3 {
			t.Errorf("seed %s: return %g, frequency %g Hz, orbit error %g; want ≥ 54, 0.7 to 0.9 and ≤ 0.3", seed,
				total, frequency, orbit)
		}
	}
	if total, frequency, orbit := figures("-style", "0"); total < 54 || frequency < -0.2 || frequency > 0.2 ||
		orbit < 0.35 {
		t.Errorf("without the style reward: return %g, frequency %g Hz, orbit error %g; want ≥ 54, -0.2 to 0.2 and "+
			"≥ 0.35", total, frequency, orbit)
	}
}

// frames is the number of pictures in a film.
func frames(t *testing.T, path string) int {
	t.Helper()
	file := must.Open(os.Open(path))(t)
	return len(must.Get(gif.DecodeAll(file))(t).Image)
}

func TestPBTProcesses(t *testing.T) {
	dir := t.TempDir()
	file := `
pbt: {directory: runs, workspace: small, num_policies: 3, objective: episode.return, interval_steps: 256,
  total_steps: 512, synchronous: true, threshold_std: 0.1, threshold_abs: 0.1, mutation_rate: 1,
  mutation: {learning_rate: mutate_float}, sample: {learning_rate: [1e-4, 1e-3]}}
launcher: {name: small, max_parallel: 2}
`
	must.Do(t, os.WriteFile(filepath.Join(dir, "small.yaml"), []byte(file), 0o644))
	args := []string{"-config", "small.yaml", "-envs", "1", "-rollouts", "64"}
	want(t, run(t, dir, "pbt_processes", args...), `member 2: finished`, `waits for its turn`,
		`Best: member [012] after \d+ environment steps, episode\.return -\d+`)
	// Started again it finds everything done.
	want(t, run(t, dir, "pbt_processes", args...), `member 0: finished`, `Best: member`)
}

// The population continues with the architectures that it had evolved to.
func TestEvolvePPO(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-members", "4", "-envs", "4", "-steps", "2048", "-interval", "256", "-out", "demo"}
	first := run(t, dir, "evolve_ppo", args...)
	want(t, first, `last mutation`,
		`Elite: member [0-3] of generation \d, policy 4→\[.*learning rate .* Return \d+\.\d over 64 episodes`,
		`report\.html`)
	must.Equal(t, "the end of a finished run that is resumed", first,
		run(t, dir, "evolve_ppo", append(args, "-resume")...))
}
