package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/envs/mujoco"
)

// Scene is what stays the same while the page is open. It is sent once, before the first frame.
type Scene struct {
	// Title is Config.Title.
	Title string `json:"title"`
	// Shapes are the bodies' shapes to draw. Poses of a frame are in the same order. Meshes are the shapes' meshes,
	// each once.
	Shapes []Shape `json:"shapes"`
	Meshes []Mesh  `json:"meshes,omitempty"`
	// Pictures is true if frames have pictures instead of poses.
	Pictures bool `json:"pictures,omitempty"`
	// Step is the duration of a control step in seconds, and Mass the character's in kg, 0 without a character.
	Step float64 `json:"step"`
	Mass float64 `json:"mass"`
	// Clips are the names of the clips that episodes begin in, if there are several.
	Clips []string `json:"clips,omitempty"`
}

// Shape is a shape to draw. Its own Vertices and Faces are nil.
type Shape struct {
	mujoco.Shape
	// Mesh is the number of the shape's mesh in Scene.Meshes; nil for shapes of other kinds.
	Mesh *int `json:",omitempty"`
}

// Mesh has the points (V, 3) of a mesh in metres and its triangles (F, 3), as indices of points.
type Mesh struct {
	Vertices []float32
	Faces    []int32
}

// shared returns the shapes without their meshes, and the meshes, each once. Shapes of one mesh share its slices.
func shared(list []mujoco.Shape) (shapes []Shape, meshes []Mesh) {
	numbers := map[*float32]int{}
	for _, s := range list {
		out := Shape{Shape: s}
		if len(s.Vertices) > 0 {
			k, ok := numbers[&s.Vertices[0]]
			if !ok {
				k = len(meshes)
				numbers[&s.Vertices[0]] = k
				meshes = append(meshes, Mesh{s.Vertices, s.Faces})
			}
			out.Mesh, out.Vertices, out.Faces = &k, nil, nil
		}
		shapes = append(shapes, out)
	}
	return shapes, meshes
}

// Frame is the state after a control step or a request.
type Frame struct {
	// Steps counts the control steps since Run began, Episode the episodes, from 1.
	Steps   int64 `json:"steps"`
	Episode int   `json:"episode"`
	// Time is how long the episode has run, in seconds. Reward is that of the last step and Return their sum in this
	// episode. Both are the environment's own rewards, whatever wrappers have made of them.
	Time   float64 `json:"time"`
	Reward float64 `json:"reward"`
	Return float64 `json:"return"`
	// Figures are numbers of the last step by name: the environment's metrics, and what Config.Figures returns.
	// Numbers that are not finite are left out, because JSON cannot hold them.
	Figures map[string]float64 `json:"figures"`
	// Last is the previous episode; nil in the first.
	Last *Ended `json:"last,omitempty"`
	// Paused is true while time stands still. Rate is the speed of time; 1 is real time.
	Paused bool    `json:"paused"`
	Rate   float64 `json:"rate"`
	// Root is the position (x, y, z) of body 1, the character's root, in metres; the camera follows it.
	Root [3]float64 `json:"root"`
	// Picture is a PNG of an environment that is no character. Some frames have none: the last one stands.
	Picture []byte `json:"picture,omitempty"`
	// Poses are those of all shapes, seven numbers each: position and quaternion, see mujoco.Look. Ghost are
	// those of the reference motion, empty if there is none.
	Poses []float32 `json:"poses,omitempty"`
	Ghost []float32 `json:"ghost,omitempty"`
	// Contacts are the points where the character touches the ground, three numbers each, in metres (see
	// mujoco.Look).
	Contacts []float32 `json:"contacts,omitempty"`
	// Clip is the clip in which the episode began; nil if the scene has no Clips.
	Clip *Clip `json:"clip,omitempty"`
	// Command is the direction and speed that the character is asked for; nil if the task has no commands.
	Command *mujoco.Commanded `json:"command,omitempty"`
}

// Clip says which of a scene's clips an episode began in, by number from 0.
type Clip struct {
	// Now is the clip of this episode.
	Now int `json:"now"`
	// Chosen is the clip that a page has chosen for all episodes, or -1 if any may come.
	Chosen int `json:"chosen"`
}

// Ended describes an episode that is over.
type Ended struct {
	// Return is the sum of the environment's own rewards.
	Return float64 `json:"return"`
	// Time is its length in seconds. Terminated is true if the task ended it, false for a time limit or a reset.
	Time       float64 `json:"time"`
	Terminated bool    `json:"terminated"`
}

// Request is what a page asks for.
type Request struct {
	// Do is one of these:
	//
	// "pause", "go"; "step" (one control step, then pause); "reset" (a new episode); "rate" (with Rate); "push" (with
	// Impulse); "command" (with Direction and Speed, in force until the next "command" or "task"); "task" (from the
	// next episode on the task gives commands again); "clip" (with Clip: a new episode begins in this clip, and so do
	// later ones).
	Do string `json:"do"`
	// Rate is the speed at which time passes, from 0.05 to 4; 1 is real time.
	Rate float64 `json:"rate"`
	// Impulse is in N·s, in world axes, at the centre of mass of body 1, see mujoco.Env.Push. Each component is at
	// most 10000.
	Impulse [3]float64 `json:"impulse"`
	// Direction is in radians, 0 along x, and Speed in m/s, at most 20.
	Direction float64 `json:"direction"`
	Speed     float64 `json:"speed"`
	// Clip is the number of one of the scene's clips, or -1 for any.
	Clip int `json:"clip"`
}

const (
	// Bounds of Request: Rate, each component of Impulse in N·s, and Speed in m/s.
	minRate, maxRate = 0.05, 4
	maxImpulse       = 1e4
	maxSpeed         = 20
)

// parse decodes a request of a page, and checks it against what the environment can do. JSON has no NaN.
func (v *Viewer) parse(text []byte) (r Request, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("a request must be a JSON object: %w", err)
	}
	switch r.Do {
	case "pause", "go", "step", "reset":
	case "rate":
		if r.Rate < minRate || r.Rate > maxRate {
			return r, fmt.Errorf("the rate is %g; want %g to %d", r.Rate, minRate, maxRate)
		}
	case "push":
		if v.character == nil {
			return r, errors.New("there is no character to push")
		}
		if slices.Max(r.Impulse[:]) > maxImpulse || slices.Min(r.Impulse[:]) < -maxImpulse {
			return r, fmt.Errorf("a push of %g N·s; want at most %g", r.Impulse, maxImpulse)
		}
	case "command", "task":
		if !v.commands {
			return r, errors.New("the task has no commands")
		}
		if r.Speed < 0 || r.Speed > maxSpeed {
			return r, fmt.Errorf("a speed of %g m/s; want 0 to %d", r.Speed, maxSpeed)
		}
	case "clip":
		if v.clips == nil || r.Clip < -1 || r.Clip >= len(v.names) {
			return r, fmt.Errorf("there is no clip %d; want one of %d, or -1 for any", r.Clip, len(v.names))
		}
	default:
		return r, fmt.Errorf("there is no request %.20q", r.Do)
	}
	return r, nil
}

// message is what the server sends: one of its two fields is set.
type message struct {
	Scene *Scene `json:"scene,omitempty"`
	Frame *Frame `json:"frame,omitempty"`
}

// encode returns the JSON of a message.
func encode(m message) ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return text, nil
}
