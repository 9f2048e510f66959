package mujoco

import (
	"fmt"
	"math"
	"strings"

	"github.com/gorl-dev/gorl/envs"
)

// characterTerm is weight · exp(−sharpness · error).
type characterTerm struct{ weight, sharpness float64 }

// of is the term of a squared error.
func (t *characterTerm) of(e float64) float64 { return t.weight * math.Exp(-t.sharpness*e) }

// characterTerms are the parameters of an environment's reward. Errors are squared and summed: of the hinges' angles
// and velocities, of the root's place, turn (× 0.1) and velocities (angular × 0.1), and of the key bodies' places.
type characterTerms struct {
	pose, velocity, root, rootVelocity, keys characterTerm // of the task Track
	command, facing                          characterTerm // of the task Command
	alive                                    float64       // of every step
}

func defaultCharacterTerms(task CharacterTask) characterTerms {
	t := characterTerms{
		pose: characterTerm{0.5, 2}, velocity: characterTerm{0.1, 0.005}, root: characterTerm{0.15, 10},
		rootVelocity: characterTerm{0.1, 1}, keys: characterTerm{0.15, 10},
		command: characterTerm{0.75, 4}, facing: characterTerm{0.25, 4},
	}
	if task == Imitate {
		t.alive = 1
	}
	return t
}

// fields are the parameters by name.
func (t *characterTerms) fields() map[string]*float64 {
	out := map[string]*float64{"alive": &t.alive}
	for name, term := range map[string]*characterTerm{"pose": &t.pose, "velocity": &t.velocity, "root": &t.root,
		"root_velocity": &t.rootVelocity, "keys": &t.keys, "command": &t.command, "facing": &t.facing} {
		out[name+".weight"], out[name+".sharpness"] = &term.weight, &term.sharpness
	}
	return out
}

// assign changes the terms that values has, all or (on an error) none.
func (t *characterTerms) assign(values map[string]any) error {
	changed := *t
	fields := changed.fields()
	err := envs.AssignShaping(values, fields)
	for name, v := range fields {
		if err == nil && *v < 0 && strings.HasSuffix(name, ".sharpness") {
			err = fmt.Errorf("%s is %g; it must not be negative", name, *v)
		}
	}
	if err != nil {
		return fmt.Errorf("mujoco: character: %w", err)
	}
	*t = changed
	return nil
}

// RewardShaping returns the parameters of the reward that were last set for all characters, see [envs.RewardShaper].
func (c *Character) RewardShaping() map[string]any {
	tree := map[string]any{}
	for key, v := range c.shaping.fields() {
		term, name, nested := strings.Cut(key, ".")
		if !nested {
			tree[term] = *v
			continue
		}
		if tree[term] == nil {
			tree[term] = map[string]any{}
		}
		tree[term].(map[string]any)[name] = *v
	}
	return tree
}

// SetRewardShaping changes parameters of the reward of some characters, or of all where environments is nil, all or (on
// an error) none.
func (c *Character) SetRewardShaping(values map[string]any, environments []int) error {
	common := c.shaping
	if err := common.assign(values); err != nil {
		return err
	}
	if environments == nil {
		c.shaping = common
	}
	return assignShaping(c.task.terms, environments, func(t *characterTerms) error { return t.assign(values) })
}
