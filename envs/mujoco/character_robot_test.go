package mujoco_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// The description has the model's numbers, covers the observation, and survives JSON.
func TestRobotOfCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		made  func(mujoco.CharacterConfig) (*mujoco.Character, error)
		cfg   mujoco.CharacterConfig
		terms string
	}{
		"quadruped": {mujoco.NewQuadruped, mujoco.CharacterConfig{Task: mujoco.Command, Residual: true},
			"features phase command"},
		"imitating": {mujoco.NewQuadruped, mujoco.CharacterConfig{}, "features"},
		"humanoid": {mujoco.NewHumanoid, mujoco.CharacterConfig{Task: mujoco.Track, Residual: true, Lead: 0.1},
			"features phase reference"},
		"faded": {mujoco.NewHumanoid, mujoco.CharacterConfig{Task: mujoco.Track, Residual: true, Fade: 10},
			"features zeros"},
	} {
		t.Run(name, func(t *testing.T) {
			env := must.Get(c.made(c.cfg))(t)
			r := must.Get(env.Robot())(t)
			terms := ""
			for _, term := range r.Observation {
				terms += term.Name + " "
			}
			must.Is(t, terms, c.terms+" ", "terms")
			must.Is(t, r.Width(), env.Spaces().Observation.Width(), "the width")
			must.Is(t, len(r.Joints), env.Spaces().Action.Width(), "joints")
			must.Near(t, r.Frequency, 30, 1e-9, "frequency")
			text := must.Get(json.Marshal(r))(t)
			must.Match(t, r, must.Get(envs.ReadRobot(bytes.NewReader(text)))(t), "through JSON")
			if name == "quadruped" {
				want := envs.RobotJoint{Name: "FR_hip", Default: r.Joints[0].Default, Scale: r.Joints[0].Scale,
					Stiffness: 80, Damping: 2, Effort: 33.5, Low: -0.803, High: 0.803}
				must.Is(t, r.Joints[0], want, "the first joint")
				middle := make([]float64, 12)
				r.Reference.At(-0.25*r.Reference.Duration, middle)
				row := make([]float64, 19)
				env.Motions()[0].At(0.75*r.Reference.Duration, row, nil)
				for i, v := range middle {
					must.Near(t, v, row[7+i], 1e-9, "joint %d of the reference", i)
				}
			}
			if name == "humanoid" { // the last row of the root is the next repetition's first
				next, rows := make([]float64, env.Motions()[0].Width()), r.Reference.Root
				env.Motions()[0].At(r.Reference.Duration, next, nil)
				must.Is(t, len(rows), len(r.Reference.Positions)+1, "rows")
				must.Near(t, rows[len(rows)-1][0], next[0], 1e-9, "the root ends at")
			}
			must.Do(t, env.Close())
			must.Refused(env.Robot())(t, "")
		})
	}
}
