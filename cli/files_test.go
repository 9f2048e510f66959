package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/commandtest"
	test "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/trainers"
)

// use runs gorl and returns what it says.
func use(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	return commandtest.Run(ctx, command(), args...)
}

var must, same = test.Do, test.Equal

// get returns a value that comes without an error: get(f())(t).
func get[T any](value T, err error) func(t testing.TB) T { return test.Get(value, err) }

// says runs gorl, which must succeed without a warning, and returns its output.
func says(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	status, stdout, stderr := use(t.Context(), args...)
	if status != commandline.Done || stderr != "" {
		t.Fatalf("gorl %q ends with %d and says\n%s%s", args, status, stdout, stderr)
	}
	return stdout
}

// has checks that a text has all parts.
func has(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// globbed returns the files that a pattern matches. It fails unless there are n, or at least one if n is 0.
func globbed(t testing.TB, pattern string, n int) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 || n > 0 && len(names) != n {
		t.Fatalf("%s: %q, %v", pattern, names, err)
	}
	return names
}

// train trains small agents of CartPole for a few steps into directory/name; several make a group.
func train(t *testing.T, directory, name string, seed int64, agentsOf int) (dir string) {
	t.Helper()
	env := get(classic.NewCartPole(classic.Config{NumEnvs: 4 * agentsOf, Seed: seed}))(t)
	defer env.Close()
	var list []agents.Agent
	var scopes []int
	for i := range agentsOf {
		a := get(ppo.New(ppo.Options{
			Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"), Seed: seed + int64(i),
			Dict: map[string]any{"rollouts": 16, "learning_epochs": 2, "mini_batches": 2,
				"observation_preprocessor": "RunningStandardScaler"},
		}))(t)
		defer a.Close()
		list, scopes = append(list, a), append(scopes, 4)
	}
	agent := list[0]
	if agentsOf > 1 {
		agent = get(trainers.NewGroup(list, scopes))(t)
	}
	trainer := get(trainers.New(env, agent, trainers.Config{
		Timesteps: 64, Seed: seed, Directory: directory, Name: name,
		CheckpointInterval: agents.Interval{Steps: 32}, WriteInterval: agents.Interval{Steps: 4},
	}))(t)
	must(t, trainer.Train(t.Context()))
	must(t, trainer.Close())
	return trainer.Dir()
}

func load(t *testing.T, path string) *checkpoint.Saved {
	t.Helper()
	return get(checkpoint.Load(path))(t)
}

// TestExamples runs the examples of every help, in a folder with what they speak of.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for i, name := range []string{"cartpole", "slow", "fast"} {
		train(t, "runs", name, int64(i+1), 1)
	}
	train(t, "runs", "group", 5, 3)
	// The examples' steps are those of longer runs.
	for _, names := range [][2]string{{"runs/cartpole", "agent_64"}, {"runs/group", "agent_64"}} {
		says(t, "convert", filepath.Join(names[0], "checkpoints", names[1]),
			filepath.Join(names[0], "checkpoints", "agent_2048.safetensors"))
	}
	says(t, "convert", "runs/cartpole", "model.pt")
	says(t, "convert", "--to", "skrl", "runs/cartpole", "agent_20000.pt")
	says(t, "convert", "--to", "skrl", "runs/slow", "theirs.pt")
	write(t, "rl_games_ppo_cfg.yaml", games)
	walk := get(motions.Builtin("humanoid_walk"))(t)
	var clip bytes.Buffer
	if err := walk.Save(&clip, ""); err != nil { // what a file holds decides, not its name
		t.Fatal(err)
	}
	write(t, "humanoid3d_walk.txt", clip.String())
	write(t, "g1.xml", mujoco.QuadrupedBody().XML)
	write(t, "g1.yaml", "environment: {id: Character, feet: [\".*_foot\"]}\n")
	ran := map[string]int{}
	for _, c := range []string{"inspect", "convert", "export", "plot", "version"} {
		found, _, err := command().Find([]string{c})
		must(t, err)
		written := map[string]bool{}
		for _, name := range files(t, dir) {
			written[name] = true
		}
		for _, line := range commandline.Examples(found) {
			words := commandtest.Words(line)
			status, stdout, stderr := use(t.Context(), words[1:]...)
			if status != commandline.Done || stdout == "" {
				t.Errorf("%s\nends with %d and says\n%s%s", line, status, stdout, stderr)
			}
			ran[c]++
			for _, name := range files(t, dir) { // examples do not expect what others have written
				if !written[name] {
					must(t, os.Remove(name))
				}
			}
		}
	}
	same(t, "examples run", "map[convert:6 export:4 inspect:7 plot:5 version:1]", fmt.Sprint(ran))
}

// files lists all files below a folder.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path)
		}
		return err
	})
	must(t, err)
	return list
}

// refuses makes calls that do not work, given as to a shell: each ends with the status and says why. Nothing may be
// written into the current folder.
func refuses(t *testing.T, want int, calls [][2]string) {
	t.Helper()
	before := fmt.Sprint(files(t, "."))
	for _, c := range calls {
		status, stdout, stderr := use(t.Context(), commandtest.Words(c[0])...)
		if status != want || !strings.Contains(stderr, c[1]) {
			t.Errorf("gorl %s ends with %d and says %q, %q; want %d and %q", c[0], status, stdout, stderr, want, c[1])
		}
	}
	same(t, "files", before, fmt.Sprint(files(t, ".")))
}
