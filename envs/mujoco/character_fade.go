package mujoco

import (
	"encoding/json"
	"errors"
	"fmt"
)

// told returns the weight in [0, 1] of the clip in targets, observations and reward. It is 1 without
// CharacterConfig.Fade. With Fade it falls linearly from 1 to 0 over that many control steps. At 0 the task [Track]
// equals [Imitate]. A Reset does not change the weight: it belongs to the training run, as a curriculum.
func (c *characterTask) told() float64 {
	if c.cfg.Fade == 0 {
		return 1
	}
	return max(0, 1-c.faded/float64(c.cfg.Fade))
}

// curriculumState is the JSON form of the curriculum.
type curriculumState struct {
	// Steps is the number of control steps that each environment has taken. It is not limited.
	Steps float64 `json:"steps"`
	// Levels are those of the characters on a terrain with a curriculum.
	Levels []int `json:"levels,omitempty"`
}

// curriculum returns an error if there is none.
func (c *Character) curriculum() error {
	r := &c.task.cfg.Randomize
	if c.task.cfg.Fade == 0 && r.Curriculum == 0 && !r.Terrain.Curriculum {
		return errors.New("mujoco: character: without Fade, Randomize.Curriculum and Randomize.Terrain.Curriculum " +
			"there is no curriculum")
	}
	return nil
}

// CurriculumState implements [envs.Curriculum]: it returns as JSON how far the clip has faded and randomisation has
// grown, and the levels of a terrain. It fails without a curriculum.
func (c *Character) CurriculumState() ([]byte, error) {
	if err := c.curriculum(); err != nil {
		return nil, err
	}
	return json.Marshal(curriculumState{c.task.faded, c.random.levels()})
}

// SetCurriculumState restores what CurriculumState returned, also for another number of characters. It fails without a
// curriculum, or if the number of steps or a level is impossible.
func (c *Character) SetCurriculumState(state []byte) error {
	if err := c.curriculum(); err != nil {
		return err
	}
	var s curriculumState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("mujoco: character: the curriculum: %w", err)
	}
	if !(s.Steps >= 0) || s.Steps-s.Steps != 0 {
		return fmt.Errorf("mujoco: character: the curriculum has %g steps", s.Steps)
	}
	if err := c.random.setLevels(s.Levels); err != nil {
		return fmt.Errorf("mujoco: character: the curriculum: %w", err)
	}
	c.task.faded = s.Steps
	if c.random != nil {
		c.random.steps = s.Steps
	}
	return nil
}
