package rlgames_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
	"github.com/gorl-dev/gorl/trainers/rlgames"
)

// Isaac Lab's and IsaacGymEnvs' files become configurations that can be built in environments of their kind, or are
// refused by errors that name the key; the table in docs lists those that are refused. GORL_RLGAMES_FILES names a
// folder that has them in it: Isaac Lab's package from PyPI, unpacked, and IsaacGymEnvs' cfg/train.
func TestFiles(t *testing.T) {
	root := os.Getenv("GORL_RLGAMES_FILES")
	if root == "" {
		t.Skip("GORL_RLGAMES_FILES does not name a folder with files of rl_games")
	}
	var table strings.Builder
	table.WriteString("| file | keys |\n|---|---|\n")
	built, refused := 0, 0
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || strings.HasPrefix(d.Name(), "skrl") {
			return err
		}
		file, err := runfile.Read(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		if file["params"] == nil { // something else's
			return nil
		}
		name := path
		for _, folder := range []string{"isaaclab_tasks/", "cfg/train/"} {
			if at := strings.LastIndex(path, folder); at >= 0 {
				name = path[at+len(folder):]
			}
		}
		if err := build(t, path); err != nil {
			refused++
			fmt.Fprintf(&table, "| `%s` | %s |\n", name, keys(t, err))
		} else {
			built++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files are built, %d are refused", built, refused)
	if err := docgen.Hold("../../docs/reference/rl-games.md", "rl_games files", table.String(),
		flag.Lookup("update").Value.String() == "true"); err != nil {
		t.Error(err)
	}
}

// build makes the trainer of a file. A file that is refused gives the error of the reader; what the reader lets through
// must be built.
func build(t *testing.T, path string) error {
	t.Helper()
	const many = 1 << 20 // rows of a rollout, of which a minibatch is a part
	c, err := rlgames.Read(path, rlgames.Options{})
	if err != nil { // what counts environments needs their number
		if c, err = rlgames.Read(path, rlgames.Options{NumEnvs: 8192}); err != nil {
			return err
		}
	}
	agent := c.Sections["agent"].(map[string]any)
	n := 4
	if size, ok := agent["mini_batch_size"].(int); ok { // as few environments as a minibatch of this size needs
		for n = 1; n*agent["rollouts"].(int)%size != 0; n++ {
		}
	}
	if n*agent["rollouts"].(int) > many {
		t.Errorf("%s: %d environments", path, n)
		return nil
	}
	set := spaces.Set{Observation: spaces.Unbounded(12), State: spaces.Unbounded(16), Action: spaces.Unbounded(3)}
	if strings.Contains(fmt.Sprint(c.Sections["models"]), "conv2d") {
		set.Observation = spaces.Unbounded(36, 36, 3)
	}
	if agent["class"] == "AMP" {
		set.AMPObservation = spaces.Unbounded(8)
	}
	trained := runfile.Sections(c.Sections).Of(runfile.Trainers)
	tr, err := trainers.FromDict(trained, agenttest.NewRoom(set, n),
		func(c *trainers.Config) { *c = trainers.Config{Timesteps: 1} })
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return nil
	}
	defer tr.Agent().Close()
	if err := tr.Train(t.Context()); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	// With its population, where it has one.
	c, err = rlgames.Read(path, rlgames.Options{NumEnvs: n, Overrides: []string{"pbt.enabled=True"}})
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return nil
	}
	if section, _ := c.Sections["pbt"].(map[string]any); len(section) > 2 { // enabled and total_steps
		if _, err := preset.FromDict(c.Sections); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	return nil
}

// keys are the keys that an error names, with their values.
func keys(t *testing.T, err error) string {
	t.Helper()
	var list []string
	var collect func(err error)
	collect = func(err error) {
		switch e := err.(type) { //nolint:errorlint // the tree of errors is walked
		case *config.Error:
			given := fmt.Sprintf("`%v`", e.Given)
			if _, ok := e.Given.(map[string]any); ok {
				given = "keys of its own"
			}
			if list = append(list, fmt.Sprintf("`%s`: %s", strings.TrimPrefix(e.Path, "params."), given)); e.Unknown {
				t.Errorf("%v", err)
			}
		case interface{ Unwrap() error }:
			collect(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, x := range e.Unwrap() {
				collect(x)
			}
		default:
			t.Errorf("%v", err)
		}
	}
	collect(err)
	return strings.Join(list, ", ")
}
