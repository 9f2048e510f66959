package gymnasium

import (
	"errors"
	"fmt"
	"slices"
)

// AMPGroup is a group of observations named amp that is added to a task of mjlab or Isaac Lab. Its terms have no noise,
// no scale and no delay. A row is History moments, oldest first, one step apart. Each has the Terms in their order. All
// are of the scene's entity "robot":
//
//   - joint_pos, joint_vel: joints' positions minus the default ones in rad, and velocities in rad/s, in the
//     simulator's order of joints;
//   - base_height: the root's height over its environment's origin in m;
//   - projected_gravity: the direction of gravity in the root's frame;
//   - base_lin_vel, base_ang_vel: the root's velocities in its own frame in m/s and rad/s. In Isaac Lab the former is
//     that of the root's centre of mass, as in its function of that name;
//   - key_pos: the positions of Bodies relative to the root, in the root's frame, in m.
//
// Without Terms no group is added. Bodies match whole names.
type AMPGroup struct {
	// Terms are those of the group: joint_pos, joint_vel, base_height, projected_gravity, base_lin_vel, base_ang_vel,
	// key_pos.
	Terms []string `json:"terms" yaml:"terms"`
	// Bodies are regular expressions of the names of key_pos's bodies.
	Bodies []string `json:"bodies" yaml:"bodies"`
	// History is the number of moments in an AMP observation, one step apart; 0 is 2. A longer one shows more of the
	// movement and is easier to discriminate.
	History int `json:"history" yaml:"history" config:"min=0,max=64"`
}

// validate returns an error for settings that are not allowed, and fills in the default. observations is
// Options.AMPObservations. Python checks the names of the terms.
func (g *AMPGroup) validate(observations string) error {
	key := slices.Contains(g.Terms, keyPositions)
	switch {
	case len(g.Terms) == 0 && (len(g.Bodies) > 0 || g.History != 0):
		return errors.New("gymnasium: AMPGroup has Bodies or History and no Terms; set Terms")
	case len(g.Terms) > 0 && observations != "":
		return errors.New("gymnasium: AMPGroup and AMPObservations are both set; set one")
	case key != (len(g.Bodies) > 0):
		return fmt.Errorf("gymnasium: AMPGroup has the Terms %q and the Bodies %q; set both %s and its Bodies, or "+
			"neither", g.Terms, g.Bodies, keyPositions)
	case g.History < 0 || g.History > 64:
		return fmt.Errorf("gymnasium: the History of AMPGroup is %d; it must be from 1 to 64, or 0 for 2", g.History)
	}
	for i, name := range g.Terms {
		if slices.Contains(g.Terms[:i], name) {
			return fmt.Errorf("gymnasium: AMPGroup has the term %q twice", name)
		}
	}
	if len(g.Terms) > 0 && g.History == 0 {
		g.History = 2
	}
	return nil
}

// keyPositions is the term that needs bodies.
const keyPositions = "key_pos"

// ampGroupJSON describes the group of observations named amp of an environment.
type ampGroupJSON struct {
	// Step is the duration of a step in seconds.
	Step  float64       `json:"step"`
	Terms []ampTermJSON `json:"terms"`
}

// ampTermJSON is a term of the group.
type ampTermJSON struct {
	Name string `json:"name"`
	// Function is the name of the function in the simulator's module mdp, or of gorl's own; a user's with its module.
	Function string `json:"function"`
	// Width is the last dimension of the term. Flat terms have all moments of the History in it.
	Width   int  `json:"width"`
	History int  `json:"history"`
	Flat    bool `json:"flat"`
	// Changes name what is done to the function's values: noise, clip, scale, delay.
	Changes []string `json:"changes"`
	// Asset is the scene's entity, Joints and Bodies are its parts in the term. Subtracted is subtracted from joints.
	Asset      string    `json:"asset"`
	Joints     []string  `json:"joints"`
	Subtracted []float64 `json:"subtracted"`
	Bodies     []string  `json:"bodies"`
	// Center is the point in the root's frame whose velocity is observed, in metres.
	Center [3]float64 `json:"center"`
}
