package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/durable"
)

// robotFile is the name of the description of the robot that a run trains, in the run's folder, and modelFile that of
// its model. Environments of one robot have them.
const (
	robotFile = "robot.json"
	modelFile = "model.xml"
)

// writeRobot writes the description and the model of the robot that the run trains. An environment that has none, or
// one whose policies cannot drive a robot, leaves them out.
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
	text, err := json.MarshalIndent(robot, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{robotFile: string(text) + "\n"}
	if model, ok := envs.As[interface{ MJCF() string }](env); ok {
		files[modelFile] = model.MJCF()
	}
	for name, text := range files {
		err := durable.WriteFile(filepath.Join(r.dir, name), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
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
