package onnx

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/envs"
)

// describeRobot adds a robot to a model's metadata: whole as JSON, and under the keys of mjlab's exporter
// (mjlab/rl/exporter_utils.py), which programs for robots read. Names with a comma would be two there.
func describeRobot(metadata map[string]string, r envs.Robot) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("onnx: %w", err)
	}
	var names, stiffness, damping, position, scale, terms, commands []string
	for _, j := range r.Joints {
		if names = append(names, j.Name); strings.Contains(j.Name, ",") {
			return fmt.Errorf("onnx: the joint %q has a comma in its name, which the list joint_names cannot hold; "+
				"rename it in the model", j.Name)
		}
		stiffness, damping = append(stiffness, shortest(j.Stiffness)), append(damping, shortest(j.Damping))
		position, scale = append(position, shortest(j.Default)), append(scale, shortest(j.Scale))
	}
	for _, t := range r.Observation {
		terms = append(terms, t.Name)
	}
	for _, c := range r.Commands {
		commands = append(commands, c.Name)
	}
	lists := map[string][]string{"joint_names": names, "joint_stiffness": stiffness, "joint_damping": damping,
		"default_joint_pos": position, "action_scale": scale, "observation_names": terms, "command_names": commands}
	for key, list := range lists {
		metadata[key] = strings.Join(list, ",")
	}
	metadata["gorl.robot"] = string(text)
	return nil
}

// shortest is the shortest text that reads as the same number.
func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
