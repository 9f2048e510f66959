package cli

import (
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
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/commandtest"
	test "github.com/gorl-dev/gorl/internal/test/must"
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

// files lists all files below a folder.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path)
		}
		return err
	}))
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
