package mujoco

// #include "engine.h"
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gorl-dev/gorl/envs"
)

// Robot implements [envs.RobotDescriber]. Gains, efforts and limits are those of the compiled model.
//
// Terms of the observation are those of Observations. Without, they are the features, then "phase", "reference" and
// "command" if the task has them. After Fade what was observed of the clip is 0, so a term "zeros" stands for it.
func (c *Character) Robot() (envs.Robot, error) {
	if err := c.model.retain(); err != nil {
		return envs.Robot{}, fmt.Errorf("mujoco: character: %w", err)
	}
	defer c.model.release()
	t, body := c.task, &c.task.cfg.Body
	height := t.standing
	if body.DefaultPose != nil {
		height = body.DefaultHeight
	}
	r := envs.Robot{
		Name: body.Name, Frequency: 1 / t.dt, ActionClip: maxAction, Height: height, MinHeight: body.MinHeight,
		MaxTilt: body.MaxTilt, Feet: body.Feet, Keys: body.Keys,
	}
	for i, name := range c.model.Names(Joint)[1:] {
		drive, err := c.model.drive(name, i)
		if err != nil {
			return envs.Robot{}, fmt.Errorf("mujoco: character: %w", err)
		}
		drive.Default, drive.Scale = t.middle[i], t.scale[i]
		if body.DefaultPose != nil {
			drive.Zero = body.DefaultPose[i]
		}
		r.Joints = append(r.Joints, drive)
	}
	t.describe(&r)
	return r, r.Check()
}

// describe adds the terms of the observation and what they need.
func (c *characterTask) describe(r *envs.Robot) {
	if c.cfg.Clock && c.cfg.Fade == 0 {
		r.Reference = c.robotReference()
	}
	switch d, v := c.cfg.Command, c.cfg.Velocity; c.cfg.Task {
	case Command:
		r.Commands = []envs.RobotCommand{{Name: "direction_x", Low: -1, High: 1},
			{Name: "direction_y", Low: -1, High: 1}, {Name: "speed", Low: d.MinSpeed, High: d.MaxSpeed}}
	case Velocity:
		for i, name := range []string{"lin_vel_x", "lin_vel_y", "ang_vel_z"} {
			bound := [][2]float64{v.LinearX, v.LinearY, v.AngularZ}[i]
			if v.Standing > 0 {
				bound[0], bound[1] = min(bound[0], 0), max(bound[1], 0)
			}
			r.Commands = append(r.Commands, envs.RobotCommand{Name: name, Low: bound[0], High: bound[1]})
		}
	}
	for _, p := range c.shown() {
		if c.cfg.Fade > 0 && (p.name == "phase" || p.name == "reference") {
			p.name = "zeros"
		}
		if last := len(r.Observation) - 1; c.observed == nil && p.name == "zeros" &&
			r.Observation[last].Name == "zeros" {
			r.Observation[last].Size += p.width
			continue
		}
		r.Observation = append(r.Observation, envs.RobotTerm{Name: p.name, Size: p.width})
	}
}

// robotReference returns the clip of a clock, with the positions about which targets move if they follow the clip. For
// the task [Track] the result includes the root and the limit of the distance.
func (c *characterTask) robotReference() *envs.RobotReference {
	clip, tracks := c.refs[0].clip, c.cfg.Task == Track
	r := &envs.RobotReference{Duration: clip.Duration()}
	if !c.cfg.Residual && !tracks {
		return r
	}
	if r.Lead, r.Compared = c.cfg.Lead, !c.cfg.Residual; tracks {
		r.Deviation = c.cfg.Deviation
	}
	rows, even := clip.NumFrames(), true
	if clip.FrameTime(rows-1) > r.Duration-1e-9 { // the last frame is the first again
		rows--
	}
	for k := range rows {
		even = even && math.Abs(clip.FrameTime(k)-float64(k)*r.Duration/float64(rows)) < 1e-9
	}
	if !even {
		rows = int(math.Ceil(r.Duration / c.dt * rowsAStep))
	}
	pose := make([]float64, c.nq)
	for k := range rows + 1 {
		clip.At(float64(k)*r.Duration/float64(rows), pose, nil)
		if tracks {
			r.Root = append(r.Root, slices.Clone(pose[:rootPositions]))
		}
		if k < rows {
			r.Positions = append(r.Positions, slices.Clone(pose[rootPositions:]))
		}
	}
	return r
}

// drive describes hinge i, which actuator i moves. The joint's own damping and that of the actuator act alike.
func (m *Model) drive(name string, i int) (j envs.RobotJoint, err error) {
	j.Name = name
	j.Low, j.High, _ = m.jointRange(i + 1)
	gain := floats(m.m.actuator_gainprm, (i+1)*C.mjNGAIN)[i*C.mjNGAIN:]
	bias := floats(m.m.actuator_biasprm, (i+1)*C.mjNBIAS)[i*C.mjNBIAS:]
	if gear := floats(m.m.actuator_gear, 6*i+1)[6*i]; gain[0] != -bias[1] || bias[0] != 0 || gear != 1 {
		return j, fmt.Errorf("the actuator of %s is not a position actuator with a gear of 1, so it has no stiffness "+
			"that a robot could be given", name)
	}
	j.Stiffness, j.Damping = gain[0], floats(m.m.dof_damping, m.NV())[rootVelocities+i]-bias[2]
	if flagAt(unsafe.Pointer(m.m.actuator_forcelimited), i) {
		_, j.Effort = limits(m.m.actuator_forcerange, i)
	}
	return j, nil
}

// MJCF returns the text of the model in the form of MuJoCo 3, for other programs that simulate the character, and the
// files that the text names, by their names.
func (c *Character) MJCF() (text string, assets map[string][]byte) {
	body := &c.task.cfg.Body
	switch body.XML {
	case humanoidXML:
		return portable(humanoidText), nil
	case quadrupedXML:
		return portable(quadrupedText), nil
	}
	return body.XML, body.Assets
}
