package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
)

// robotFile is the name of the description of the robot that a run trains, in the run's folder.
const robotFile = "robot.json"

// writeRobot writes the description of the robot that the run trains. An environment that has none, or one whose
// policies cannot drive a robot, leaves it out.
func (r *singleRun) writeRobot(env envs.Env) error {
	describer, ok := envs.As[envs.RobotDescriber](env)
	if !ok || r.with.group.Rank() > 0 {
		return nil
	}
	robot, err := describer.Robot()
	_, clips := envs.As[*wrappers.ClipAction](env)
	_, rescales := envs.As[*wrappers.RescaleAction](env)
	if err != nil || clips || rescales || robot.Width() != env.Spaces().Observation.Width() {
		return nil //nolint:nilerr // its policies act in simulators alone
	}
	return durable.WriteFile(filepath.Join(r.dir, robotFile), func(w io.Writer) error { return writeJSON(w, robot) })
}

// withRobot returns a policy with the description of the robot in the folder of its run, if there is one. run is the
// name of that folder.
func withRobot(p *infer.Policy, checkpoint string) (described *infer.Policy, run string, err error) {
	if _, has := p.Robot(); has {
		return p, "", nil
	}
	config, err := findRunFile(filepath.Dir(checkpoint))
	if err != nil {
		return p, "", nil //nolint:nilerr // a checkpoint away from its run
	}
	dir, err := filepath.Abs(filepath.Dir(config))
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, robotFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, "", nil
	} else if err != nil {
		return nil, "", err
	}
	defer file.Close()
	robot, err := envs.ReadRobot(file)
	if err == nil {
		described, err = p.WithRobot(robot)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return described, filepath.Base(dir), nil
}

// exportModel writes the model that a run simulates, and its meshes into a folder beside it.
func exportModel(target, out string, stdout io.Writer) error {
	config, err := findRunFile(target)
	if err != nil {
		return err
	}
	c, err := readConfiguration(config, nil)
	if err != nil {
		return err
	}
	section := c.Section("environment")
	section["num_envs"], section["workers"] = 1, 1
	env, err := makeEnvironment(c)
	if err != nil {
		return fmt.Errorf("%s: %w", config, err)
	}
	defer func() { _ = env.Close() }()
	model, ok := envs.As[interface {
		MJCF() (string, map[string][]byte)
	}](env)
	if !ok {
		return commandline.Usagef("%s: the environment %v has no model to export; Character, Humanoid and Quadruped have",
			config, section["id"])
	}
	text, assets := model.MJCF()
	folder := strings.TrimSuffix(out, ".xml") + "_assets"
	if len(assets) > 0 {
		text = strings.Replace(text, ">", fmt.Sprintf(">\n  <compiler meshdir=%[1]q texturedir=%[1]q/>",
			filepath.Base(folder)), 1)
	}
	files := map[string][]byte{out: []byte(text)}
	for name, data := range assets {
		files[filepath.Join(folder, name)] = data
	}
	for path, data := range files {
		if err := writeFile(path, data); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%s → %s and %d files of meshes and textures\n", config, out, len(assets))
	return err
}
