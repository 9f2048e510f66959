package mujoco

import (
	"encoding/json"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

var _ envs.Curriculum = (*Character)(nil)

// told is how much characters are still told of their clip: 1 at first, and with CharacterConfig.Fade less by every
// step until it is 0, when the task track is imitate. It is a curriculum: a Reset changes nothing of it.
func (c *characterTask) told() float64 {
	if c.cfg.Fade == 0 {
		return 1
	}
	return max(0, 1-c.faded/float64(c.cfg.Fade))
}

// fadeState is the curriculum of a character, as it is saved.
type fadeState struct {
	// Steps is how many control steps every environment has taken.
	Steps float64 `json:"steps"`
}

// CurriculumState returns how far the clip has faded, see CharacterConfig.Fade, as JSON.
func (c *Character) CurriculumState() ([]byte, error) {
	if c.task.cfg.Fade == 0 {
		return nil, fmt.Errorf("mujoco: character: without Fade there is no curriculum")
	}
	return json.Marshal(fadeState{c.task.faded})
}

// SetCurriculumState puts back what CurriculumState returned.
func (c *Character) SetCurriculumState(state []byte) error {
	if c.task.cfg.Fade == 0 {
		return fmt.Errorf("mujoco: character: without Fade there is no curriculum")
	}
	var s fadeState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("mujoco: character: the curriculum: %w", err)
	}
	if !(s.Steps >= 0) || s.Steps-s.Steps != 0 {
		return fmt.Errorf("mujoco: character: the curriculum has %g steps", s.Steps)
	}
	c.task.faded = s.Steps
	return nil
}
