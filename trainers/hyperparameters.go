package trainers

import (
	"fmt"
	"maps"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/joint"
)

// setHyperparameters changes some of the agent's settings, all or (on an error) none. Without values it does nothing,
// for any agent.
func setHyperparameters(agent agents.Agent, values map[string]float64) error {
	if len(values) == 0 {
		return nil
	}
	t, ok := agents.As[agents.Tunable](agent)
	if !ok {
		return fmt.Errorf("trainers: the agent (%T) has no hyperparameters to set: it is no agents.Tunable", agent)
	}
	return t.SetHyperparameters(values)
}

// Hyperparameters returns the agent's settings that may change while training, if it is an agents.Tunable. It also
// returns the parameters of the environment's reward as "env.<key>", if there are any (see [envs.RewardShaper], and
// [envs.FlattenShaping] for the keys). These are the values last set. An environment has them only after its episode in
// progress has ended.
func (t *Trainer) Hyperparameters() map[string]float64 {
	all := map[string]float64{}
	maps.Copy(all, joint.HyperparametersOf(t.agent))
	if t.world.parameters != nil {
		for key, x := range t.world.parameters.target.flat {
			all[environmentPrefix+key] = x
		}
	}
	return all
}

// SetHyperparameters changes some settings of the agent and of the environment's reward, all or (on an error) none. The
// agent's take effect at once. Each environment takes its own when its next episode begins. Integers among the
// environment's take the nearest integer, and booleans are true from 0.5 on.
func (t *Trainer) SetHyperparameters(given map[string]float64) error {
	if err := t.usable(); err != nil {
		return err
	}
	forAgent, forEnvironment := map[string]float64{}, map[string]float64{}
	for key, x := range given {
		if name, ok := strings.CutPrefix(key, environmentPrefix); ok {
			forEnvironment[name] = x
		} else {
			forAgent[key] = x
		}
	}
	// The order makes undoing possible. The environment's values are checked first, which changes nothing. Then the
	// agent takes its values, all or none, and last the environment. Only this last step can fail after a change.
	var target *values
	if len(forEnvironment) > 0 {
		var err error
		if target, err = t.world.parameters.changed(forEnvironment); err != nil {
			return err
		}
	}
	before := joint.HyperparametersOf(t.agent)
	if err := setHyperparameters(t.agent, forAgent); err != nil {
		return err
	}
	// A checkpoint of this timestep has the old values.
	t.files.saved = false
	if target == nil {
		return nil
	}
	// If the environment refuses after all, the agent gets back its previous values of the settings in given, and of no
	// others.
	err := t.world.parameters.set(target)
	if err != nil && len(forAgent) > 0 {
		maps.DeleteFunc(before, func(key string, _ float64) bool { _, set := forAgent[key]; return !set })
		if undo := setHyperparameters(t.agent, before); undo != nil {
			err = fmt.Errorf("%w; and the agent's hyperparameters could not be put back: %w", err, undo)
		}
	}
	return err
}
