package envs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RewardShaper is implemented by environments whose reward has parameters that can change during training, such as
// the weights of its terms. The parameters must not change how success is judged. Report success as an episode figure
// of its own, by custom "true_objective" (see [Episode.Metrics]).
//
// The parameters are a tree: maps with text keys, lists, numbers, booleans, and texts, which are kept and never
// change (see [FlattenShaping]). They are not part of the state that [Stateful] saves, and RestoreState does not
// change them. The caller that sets the parameters must save them.
type RewardShaper interface {
	// RewardShaping returns the parameters that were last set for all environments, at first the defaults. The map is
	// the caller's.
	RewardShaping() map[string]any
	// SetRewardShaping sets parameters of the environments with the given indices; nil stands for all. It sets all of
	// them or, on an error, nothing. values has the keys and types of what RewardShaping returns. A key left out
	// keeps its value. A list of environments that is empty but not nil only checks the values. values is only read,
	// and not kept.
	//
	// It may be called at any time, also before the first Reset, and takes effect with the next step. Trainers call
	// it only when an episode begins.
	SetRewardShaping(values map[string]any, environments []int) error
}

// SingleRewardShaper is a [RewardShaper] that is one environment, see [Single].
type SingleRewardShaper interface {
	// RewardShaping returns the parameters in force. The map is the caller's.
	RewardShaping() map[string]any
	// SetRewardShaping sets parameters, all or (on an error) nothing: see [RewardShaper]. [AssignShaping] does it for
	// parameters that are numbers.
	SetRewardShaping(values map[string]any) error
}

// Curriculum is implemented by environments, and by a [Single], that become more difficult as their agent becomes
// better. That state belongs with the agent's weights: it is saved with them, and copied with them between the
// members of a population.
type Curriculum interface {
	// CurriculumState returns how far the curriculum has come.
	CurriculumState() ([]byte, error)
	// SetCurriculumState puts a state back, all or (on an error) nothing, in an environment of the same kind and
	// possibly another number of environments. It may be called before the first Reset.
	SetCurriculumState(state []byte) error
}

// AssignShaping writes values to the numbers that targets points to, by their keys as [FlattenShaping] makes them. If
// a key is unknown or no number, it writes none. It is meant for SetRewardShaping of a [SingleRewardShaper].
func AssignShaping(values map[string]any, targets map[string]*float64) error {
	flat, err := FlattenShaping(values)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		if targets[key] == nil {
			return fmt.Errorf("envs: there is no reward parameter %q; there are %s", key,
				strings.Join(slices.Sorted(maps.Keys(targets)), ", "))
		}
	}
	for key, x := range flat {
		*targets[key] = x
	}
	return nil
}
