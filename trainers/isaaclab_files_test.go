package trainers_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// isaacSpaces are those of an environment that a file of Isaac Lab is for, by its path. The sizes are Isaac Lab's where
// they matter.
func isaacSpaces(path string) spaces.Set {
	set := spaces.Set{Observation: spaces.Unbounded(48), State: spaces.Unbounded(60), Action: spaces.Unbounded(8)}
	name := filepath.Base(path)
	camera := spaces.Unbounded(100, 100, 3)
	switch {
	case strings.Contains(name, "amp"):
		return spaces.Set{Observation: spaces.Unbounded(81), Action: spaces.Unbounded(28),
			AMPObservation: spaces.Unbounded(162)}
	case strings.Contains(name, "camera"):
		set.Observation = camera
	case strings.Contains(path, "showcase"):
		film := strings.Contains(path, "camera")
		words := strings.Split(name, "_") // skrl_<observation>_<action>_ppo_cfg.yaml
		four, two := spaces.Unbounded(4), spaces.Unbounded(2)
		set.State = spaces.Space{}
		switch words[1] {
		case "box":
			if set.Observation = four; film {
				set.Observation = camera
			}
		case "discrete":
			set.Observation = spaces.NewDiscrete(16)
		case "multidiscrete":
			set.Observation = spaces.NewMultiDiscrete(2, 2, 2, 2)
		case "dict":
			set.Observation = spaces.NewDict(map[string]spaces.Space{"joint-positions": two, "joint-velocities": two})
			if film {
				set.Observation = spaces.NewDict(map[string]spaces.Space{"camera": camera, "joint-velocities": two})
			}
		case "tuple":
			if set.Observation = spaces.NewTuple(two, two); film {
				set.Observation = spaces.NewTuple(camera, two)
			}
		}
		set.Action = map[string]spaces.Space{
			"box": spaces.NewBox(-1, 1, 1), "discrete": spaces.NewDiscrete(3),
			"multidiscrete": spaces.NewMultiDiscrete(3, 2),
		}[words[2]]
	}
	return set
}

// Isaac Lab's files of skrl are built as they are, and make a step.
// GORL_ISAACLAB names a folder that has them in it, for instance Isaac Lab's package from PyPI, unpacked.
func TestIsaacLabFiles(t *testing.T) {
	root := os.Getenv("GORL_ISAACLAB")
	if root == "" {
		t.Skip("GORL_ISAACLAB does not name a folder with Isaac Lab's skrl_*.yaml")
	}
	built := 0
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "skrl_") || filepath.Ext(path) != ".yaml" {
			return err
		}
		sections, err := runfile.Read(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		set := isaacSpaces(path)
		if class := sections.Section("agent")["class"]; class == "IPPO" || class == "MAPPO" {
			set = spaces.NewSeats(set.State, spaces.Seat{Name: "cart", Observation: set.Observation, Action: set.Action},
				spaces.Seat{Name: "pendulum", Observation: spaces.Unbounded(3), Action: set.Action})
		}
		env := agenttest.NewRoom(set, 8)
		tr, err := trainers.FromDict(sections, env, func(c *trainers.Config) {
			*c = trainers.Config{Timesteps: 1}
		})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		if err := tr.Train(t.Context()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := tr.Agent().Close(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		built++
		return nil
	}))
	t.Logf("%d files are built", built)
	if built == 0 {
		t.Errorf("there are no skrl_*.yaml in %s", root)
	}
}
