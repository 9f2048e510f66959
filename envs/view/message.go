package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/envs/mujoco"
)

// Scene is what does not change.
type Scene struct {
	Title string `json:"title"`
	// Shapes are what is drawn, in the order of a frame's poses.
	Shapes []mujoco.Shape `json:"shapes"`
	// Step is the duration of a control step in seconds, and Mass the character's in kg.
	Step float64 `json:"step"`
	Mass float64 `json:"mass"`
	// Clips are the names of the clips that episodes begin in, where there are several.
	Clips []string `json:"clips,omitempty"`
}

// Frame is how things stand after a control step or a request.
type Frame struct {
	// Steps counts the control steps since the server began, and Episode the episodes, from 1.
	Steps   int64 `json:"steps"`
	Episode int   `json:"episode"`
	// Time is that of the episode in seconds, Reward that of the last step and Return their sum in this episode, of the
	// environment's own rewards.
	Time   float64 `json:"time"`
	Reward float64 `json:"reward"`
	Return float64 `json:"return"`
	// Figures are those of the last step by name: the environment's metrics, and what Config.Figures returns.
	Figures map[string]float64 `json:"figures"`
	// Last is the episode before this one; nil in the first.
	Last *Ended `json:"last,omitempty"`
	// Paused, and the Rate at which time passes: 1 is real time.
	Paused bool    `json:"paused"`
	Rate   float64 `json:"rate"`
	// Root is the place of body 1 in metres. Poses are those of all shapes, seven numbers each (see mujoco.Env.Poses),
	// and Ghost those of the reference motion; empty where there is none.
	Root  [3]float64 `json:"root"`
	Poses []float32  `json:"poses"`
	Ghost []float32  `json:"ghost,omitempty"`
	// Contacts are the places where the character touches the ground, three numbers each (see mujoco.Env.Contacts).
	Contacts []float32 `json:"contacts,omitempty"`
	// Clip is where the episode began; nil where the scene has no Clips.
	Clip *Clip `json:"clip,omitempty"`
	// Command is what the character is told; nil where the task has no commands.
	Command *mujoco.Commanded `json:"command,omitempty"`
}

// Clip says which of a scene's clips an episode began in, by number from 0.
type Clip struct {
	Now int `json:"now"`
	// Chosen is the one that the page has chosen for all episodes, -1 where any may come.
	Chosen int `json:"chosen"`
}

// Ended is an episode that has ended.
type Ended struct {
	Return float64 `json:"return"`
	// Time is how long it was in seconds, and Terminated whether the task ended it, and not a time limit or a reset.
	Time       float64 `json:"time"`
	Terminated bool    `json:"terminated"`
}

// Request is what a page asks for.
type Request struct {
	// Do is "pause", "go", "step" (one control step, and pause), "reset", "rate" (with Rate), "push" (with Impulse),
	// "command" (with Direction and Speed, until the next request), "task" (commands are the task's again, from the
	// next episode on) or "clip" (with Clip: an episode begins in it, and coming ones do).
	Do string `json:"do"`
	// Rate is the speed at which time passes, from 0.05 to 4; 1 is real time.
	Rate float64 `json:"rate"`
	// Impulse is in N·s, in the world, at the centre of mass of body 1, see mujoco.Env.Push; at most 10000 each way.
	Impulse [3]float64 `json:"impulse"`
	// Direction is in radians, 0 along x, and Speed in m/s, at most 20.
	Direction float64 `json:"direction"`
	Speed     float64 `json:"speed"`
	// Clip is the number of one of the scene's clips, or -1 for any.
	Clip int `json:"clip"`
}

const (
	minRate, maxRate = 0.05, 4
	maxImpulse       = 1e4
	maxSpeed         = 20
)

// parse decodes and checks a request of a page.
func (v *Viewer) parse(text []byte) (r Request, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("a request must be a JSON object: %w", err)
	}
	return r, r.check(v.commands, v.numClips)
}

// check says what is wrong with a request.
func (r *Request) check(commands bool, clips int) error {
	switch r.Do {
	case "pause", "go", "step", "reset":
	case "rate":
		if !(r.Rate >= minRate && r.Rate <= maxRate) {
			return fmt.Errorf("the rate is %g; want %g to %d", r.Rate, minRate, maxRate)
		}
	case "push":
		for _, x := range r.Impulse {
			if !(math.Abs(x) <= maxImpulse) {
				return fmt.Errorf("a push of %g N·s; want at most %g", r.Impulse, maxImpulse)
			}
		}
	case "command", "task":
		if !commands {
			return fmt.Errorf("the task has no commands")
		}
		if !(r.Speed >= 0 && r.Speed <= maxSpeed) || math.IsInf(r.Direction, 0) {
			return fmt.Errorf("a speed of %g m/s; want 0 to %d", r.Speed, maxSpeed)
		}
	case "clip":
		if clips == 0 {
			return errors.New("there are no clips to choose from")
		}
		if r.Clip < -1 || r.Clip >= clips {
			return fmt.Errorf("there is no clip %d; want one of %d, or -1 for any", r.Clip, clips)
		}
	default:
		return fmt.Errorf("there is no request %.20q", r.Do)
	}
	return nil
}

// message is one of the two that the server sends.
type message struct {
	Scene *Scene `json:"scene,omitempty"`
	Frame *Frame `json:"frame,omitempty"`
}

func encode(m message) ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return text, nil
}
