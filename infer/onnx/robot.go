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
	lists := map[string][]string{"command_names": nil}
	add := func(key, value string) { lists[key] = append(lists[key], value) }
	for _, j := range r.Joints {
		if strings.Contains(j.Name, ",") {
			return fmt.Errorf("onnx: the joint %q has a comma in its name, which the list joint_names cannot hold; "+
				"rename it in the model", j.Name)
		}
		add("joint_names", j.Name)
		add("joint_stiffness", shortest(j.Stiffness))
		add("joint_damping", shortest(j.Damping))
		add("default_joint_pos", shortest(j.Default))
		add("action_scale", shortest(j.Scale))
	}
	for _, t := range r.Observation {
		add("observation_names", t.Name)
	}
	for _, c := range r.Commands {
		add("command_names", c.Name)
	}
	for key, list := range lists {
		metadata[key] = strings.Join(list, ",")
	}
	metadata["gorl.robot"] = string(text)
	return nil
}

// shortest is the shortest text that reads as the same number.
func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
