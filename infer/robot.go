package infer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// robotKey is the entry of a file's metadata with the robot's description as JSON.
const robotKey = "gorl.robot"

// Robot returns the robot that the policy was trained for, and false if the policy's file does not describe one. The
// description must not be changed. Package infer/robot drives the robot.
func (p *Policy) Robot() (envs.Robot, bool) {
	if p.robot == nil {
		return envs.Robot{}, false
	}
	return *p.robot, true
}

// WithRobot returns a policy that shares the weights and describes a robot. The robot must have the policy's numbers of
// observed values and of actions.
func (p *Policy) WithRobot(r envs.Robot) (*Policy, error) {
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("infer: %w", err)
	}
	a := p.d.Action
	if r.Width() != p.widths[0] || a.Kind != spaces.Box || len(r.Joints) != a.Width() {
		return nil, fmt.Errorf("infer: the robot %s has %d observed values and %d joints; the policy observes %d and "+
			"acts in %v", r.Name, r.Width(), len(r.Joints), p.widths[0], a)
	}
	return p.of(&r), nil
}

// of returns a clone that describes a robot, or none.
func (p *Policy) of(r *envs.Robot) *Policy {
	clone := newPolicy(p.program)
	clone.robot = r
	return clone
}

// readRobot reads the description in a file's metadata.
func (p *Policy) readRobot(snap *checkpoint.Snapshot) (*Policy, error) {
	text, ok := snap.Metadata[robotKey]
	if !ok {
		return p, nil
	}
	r, err := envs.ReadRobot(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("infer: metadata %s: %w", robotKey, err)
	}
	return p.WithRobot(r)
}

// writeRobot puts the description into a snapshot's metadata.
func (p *Policy) writeRobot(snap *checkpoint.Snapshot) {
	if p.robot == nil {
		return
	}
	text, err := json.Marshal(p.robot)
	if err != nil {
		panic(fmt.Sprintf("infer: a checked description of a robot is not JSON: %v", err)) // all numbers are finite
	}
	snap.Metadata = map[string]string{robotKey: string(text)}
}
