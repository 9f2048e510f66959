package docgen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// columns are the pages whose blocks make one program in either language, in the order of the program.
var columns = []string{"docs/migrating.md", "docs/reference/skrl-map.md", "docs/skrl-differences.md"}

// readAll joins pages, named from the repository's root.
func readAll(t *testing.T, names []string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		all.WriteString(read(t, filepath.Join(root, filepath.FromSlash(name))) + "\n")
	}
	return all.String()
}

// column makes one Go program of all Go blocks of a page: declarations stand by themselves, statements one after the
// other in a function.
func column(page string) string {
	var declarations, statements strings.Builder
	for _, found := range goBlock.FindAllStringSubmatch(page, -1) {
		if declares.MatchString(found[1]) {
			declarations.WriteString(found[1] + "\n")
		} else {
			statements.WriteString(handled(found[1]))
		}
	}
	body := declarations.String() + "func run(ctx context.Context) error {\n" + statements.String() +
		"return nil\n}\n\n" +
		"func main() {\n\tif err := run(context.Background()); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n"
	return "package main\n\n" + importsOf(body) + "\n" + body
}

var pythonBlock = regexp.MustCompile("(?ms)^```python\n(.*?)^```")

// walker is the environment that the page supposes.
const walker = `
import gymnasium
import numpy as np
import torch

BOX = gymnasium.spaces.Box

class Walker(gymnasium.Env):
    observation_space = BOX(-np.inf, np.inf, (5,), np.float32)
    action_space = BOX(-1.0, 1.0, (2,), np.float32)
    amp_observation_space = BOX(-np.inf, np.inf, (4,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps = self.np_random.normal(size=5).astype(np.float32), 0
        return self.x.copy(), {"amp_obs": self.x[:4].copy()}

    def step(self, action):
        self.x[:2] += 0.1 * np.asarray(action, np.float32)
        self.steps += 1
        return self.x.copy(), float(-np.abs(self.x).sum()), False, self.steps == 50, {"amp_obs": self.x[:4].copy()}

    def collect_reference_motions(self, n):
        return np.zeros((n, 4), np.float32)

class Walkers(gymnasium.vector.VectorEnv):
    single_observation_space, single_action_space = Walker.observation_space, Walker.action_space
    amp_observation_space = Walker.amp_observation_space

    def __init__(self, n):
        self.walkers, self.num_envs = [Walker() for _ in range(n)], n

    def reset(self, *, seed=None, options=None):
        return np.stack([w.reset(seed=seed)[0] for w in self.walkers]), {}

    def step(self, actions):
        rows = [w.step(a) for w, a in zip(self.walkers, actions)]
        observations = [w.reset()[0] if r[3] else r[0] for w, r in zip(self.walkers, rows)]
        infos = {"amp_obs": torch.tensor(np.stack([r[4]["amp_obs"] for r in rows]))}
        columns = [np.array([r[i] for r in rows]) for i in (1, 2, 3)]
        return np.stack(observations), *columns, infos

    def collect_reference_motions(self, n):
        return torch.tensor(self.walkers[0].collect_reference_motions(n))

def make_walker(num_envs):
    return Walkers(num_envs)
`

// TestPeersMigrating runs both columns of the pages for users of skrl, shortened: skrl's, then gorl's, which reads what
// skrl's has saved, and skrl's once more, which then reads what gorl's has saved.
func TestPeersMigrating(t *testing.T) {
	python := peers.Python(t, "skrl", "gymnasium", "yaml")
	page := readAll(t, columns)
	page = regexp.MustCompile(`(?i)("?timesteps"?: +)\d[\d_]*`).ReplaceAllString(page, "${1}64")
	dir := t.TempDir()
	var before, all strings.Builder
	for _, found := range pythonBlock.FindAllStringSubmatch(page, -1) {
		all.WriteString(found[1] + "\n")
		if !strings.Contains(found[1], "from_gorl") {
			before.WriteString(found[1] + "\n")
		}
	}
	write(t, filepath.Join(dir, "walker.py"), walker)
	write(t, filepath.Join(dir, "before.py"), before.String())
	write(t, filepath.Join(dir, "all.py"), all.String())
	write(t, filepath.Join(dir, "pendulum.yaml"), yamlBlock.FindStringSubmatch(page)[1])
	writeModule(t, filepath.Join(dir, "gorl"))
	write(t, filepath.Join(dir, "gorl", "main.go"), column(page))

	run := func(folder string, words ...string) {
		t.Helper()
		command := exec.Command(words[0], words[1:]...)
		command.Dir = filepath.Join(dir, folder)
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"),
			"PYTHONDONTWRITEBYTECODE=1", "OPENBLAS_NUM_THREADS=1")
		must.Run(t, command)
	}
	run("", python, "-W", "ignore", "before.py")
	run("gorl", "go", "build", "-o", "../gorl-column", ".")
	run("", filepath.Join(dir, "gorl-column"))
	run("", python, "-W", "ignore", "all.py")
	for _, name := range []string{"gorl", "skrl"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "runs", name, "events.out.tfevents.*")); len(found) == 0 {
			t.Errorf("%s's column has left no event file", name)
		}
	}
}
