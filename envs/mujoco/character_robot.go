package mujoco

// #include "engine.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gorl-dev/gorl/envs"
)

// Robot implements [envs.RobotDescriber]. Gains, efforts and limits are those of the compiled model.
//
// Terms of the observation are the features, then "phase", "reference_root" and "heading_command" if the task has
// them, see [Character]. After Fade what was observed of the clip is 0, so a "zeros" term stands for it.
func (c *Character) Robot() (envs.Robot, error) {
	if err := c.model.retain(); err != nil {
		return envs.Robot{}, fmt.Errorf("mujoco: character: %w", err)
	}
	defer c.model.release()
	t, body := c.task, &c.task.cfg.Body
	r := envs.Robot{
		Name: body.Name, Frequency: 1 / t.dt, ActionClip: maxAction, Height: t.standing, MinHeight: body.MinHeight,
		MaxTilt: body.MaxTilt, Feet: body.Feet, Keys: body.Keys,
	}
	for i, name := range c.model.Names(Joint)[1:] {
		drive, err := c.model.drive(name, i)
		if err != nil {
			return envs.Robot{}, fmt.Errorf("mujoco: character: %w", err)
		}
		drive.Default, drive.Scale = t.middle[i], t.scale[i]
		r.Joints = append(r.Joints, drive)
	}
	t.describe(&r)
	return r, r.Check()
}

// describe adds the terms of the observation, in the order of Observe, and what they need.
func (c *characterTask) describe(r *envs.Robot) {
	add := func(name string, size int) {
		r.Observation = append(r.Observation, envs.RobotTerm{Name: name, Size: size})
	}
	add("features", c.features())
	switch rest := c.observation() - c.features(); {
	case c.cfg.Fade > 0:
		add("zeros", rest)
		return
	case c.cfg.Clock:
		add("phase", 2)
		r.Reference = c.robotReference()
	}
	switch c.cfg.Task {
	case Track:
		add("reference_root", 5)
	case Command:
		add("heading_command", 3)
		d := c.cfg.Command
		r.Commands = []envs.RobotCommand{{Name: "direction_x", Low: -1, High: 1},
			{Name: "direction_y", Low: -1, High: 1}, {Name: "speed", Low: d.MinSpeed, High: d.MaxSpeed}}
	}
}

// robotReference returns the clip of a clock, with the positions about which targets move if they follow the clip.
func (c *characterTask) robotReference() *envs.RobotReference {
	clip := c.refs[0].clip
	r := &envs.RobotReference{Duration: clip.Duration()}
	if !c.cfg.Residual {
		return r
	}
	r.Lead = c.cfg.Lead
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
	for k := range rows {
		clip.At(float64(k)*r.Duration/float64(rows), pose, nil)
		r.Positions = append(r.Positions, append([]float64(nil), pose[rootPositions:]...))
	}
	return r
}

// drive describes hinge i, which actuator i moves. The joint's own damping and that of the actuator act alike.
func (m *Model) drive(name string, i int) (j envs.RobotJoint, err error) {
	j.Name = name
	_, dof, err := m.JointAddress(name)
	if err != nil {
		return j, err
	}
	if j.Low, j.High, _, err = m.JointRange(name); err != nil {
		return j, err
	}
	gain := floats(m.m.actuator_gainprm, (i+1)*C.mjNGAIN)[i*C.mjNGAIN:]
	bias := floats(m.m.actuator_biasprm, (i+1)*C.mjNBIAS)[i*C.mjNBIAS:]
	if gear := floats(m.m.actuator_gear, 6*i+1)[6*i]; gain[0] != -bias[1] || bias[0] != 0 || gear != 1 {
		return j, fmt.Errorf("the actuator of %s is not a position actuator with a gear of 1, so it has no stiffness "+
			"that a robot could be given", name)
	}
	j.Stiffness, j.Damping = gain[0], floats(m.m.dof_damping, m.NV())[dof]-bias[2]
	if flagAt(unsafe.Pointer(m.m.actuator_forcelimited), i) {
		_, j.Effort = limits(m.m.actuator_forcerange, i)
	}
	return j, nil
}

// MJCF returns the text of the model, in the form of MuJoCo 3, for other programs that simulate the character.
func (c *Character) MJCF() string {
	switch text := c.task.cfg.Body.XML; text {
	case humanoidXML:
		return portable(humanoidText)
	case quadrupedXML:
		return portable(quadrupedText)
	default:
		return text
	}
}
