package gymnasium

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/undo"
)

// parameters are what was set in the Python objects. An object is one environment, or the whole batch of a simulator.
// A new child's objects are given what was set in those that it replaces, see reapply.
type parameters struct {
	// shaping are the reward parameters last set for all environments, nil while none were set.
	shaping map[string]any
	// shaped are those of each object, nil for an object that still has its defaults.
	shaped []map[string]any
	// curriculum are the states last put back, of each object; nil while none were.
	curriculum []json.RawMessage
}

// RewardShaping returns the reward parameters last set for all environments, or at first what the first environment's
// reward_shaping() returns: a dictionary, see [envs.RewardShaper]. It is nil if the environments have no
// set_reward_shaping.
func (e *Env) RewardShaping() map[string]any {
	if !e.about.RewardShaping || e.closed {
		return nil
	}
	if e.shaping == nil {
		values, err := e.defaults()
		if err != nil {
			return nil
		}
		e.shaping = values
	}
	copied, err := envs.UnflattenShaping(e.shaping, nil)
	if err != nil {
		return nil
	}
	return copied
}

// defaults asks the first environment for its reward parameters, by reward_shaping(). All are supposed to be made
// with the same ones. The values have passed [envs.FlattenShaping].
func (e *Env) defaults() (map[string]any, error) {
	c := e.children[0]
	head, _, err := e.ask(c, map[string]any{"call": "shaping"})
	if err != nil {
		return nil, err
	}
	var said struct {
		Values map[string]any `json:"values"`
	}
	decoder := json.NewDecoder(bytes.NewReader(head))
	// Without it 1 and 1.0 would be the same float64, and Python would get a float where it had an int.
	decoder.UseNumber()
	if err := decoder.Decode(&said); err != nil {
		return nil, c.fault(FaultProtocol, err, "reward_shaping: %v", err)
	}
	typed(said.Values)
	if _, err := envs.FlattenShaping(said.Values); err != nil {
		return nil, c.fault(FaultData, err, "reward_shaping: %v", err)
	}
	return said.Values, nil
}

// typed replaces JSON's numbers in v, in maps and lists too, and returns the result: whole numbers become int64,
// others float64, as Python has them. Maps and lists are changed in place. A number too large for float64 becomes an
// infinity, which FlattenShaping then refuses.
func typed(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		x, _ := v.Float64()
		return x
	case map[string]any:
		for k, x := range v {
			v[k] = typed(x)
		}
	case []any:
		for k, x := range v {
			v[k] = typed(x)
		}
	}
	return v
}

// SetRewardShaping calls set_reward_shaping(values) of the given environments with all of their parameters; nil
// stands for all environments. Keys that reward_shaping() does not return are refused before any call. If one
// environment refuses its values, those set before it get back what they had. See [envs.RewardShaper].
//
// A simulator has one set of parameters for its whole batch. It takes the values if any environment is given, and
// they then also hold in the middle of other environments' episodes.
func (e *Env) SetRewardShaping(values map[string]any, environments []int) error {
	if err := e.has(e.about.RewardShaping, "SetRewardShaping", "set_reward_shaping"); err != nil {
		return err
	}
	base := e.RewardShaping()
	if base == nil {
		_, err := e.defaults()
		return errors.Join(errors.New("gymnasium: the environments do not say what reward parameters they have"), err)
	}
	flat, err := envs.FlattenShaping(values)
	if err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	whole, err := envs.UnflattenShaping(base, flat)
	if err != nil {
		return fmt.Errorf("gymnasium: %w", err)
	}
	for _, i := range environments {
		if _, err := e.childOf(i); err != nil {
			return err
		}
	}
	all := environments == nil
	check := !all && len(environments) == 0
	switch {
	case check: // one environment takes the values and gets its own back
		environments = []int{0}
	case e.options.Simulator != "": // environment 0 stands for the whole batch
		environments, all = []int{0}, true
	case all:
		environments = undo.Indices(e.options.NumEnvs)
	}
	wanted := map[int]map[string]any{}
	for _, i := range environments { // a key left out keeps its value
		if wanted[i], err = envs.UnflattenShaping(e.shapingOf(i, base), flat); err != nil {
			return fmt.Errorf("gymnasium: %w", err)
		}
	}
	back := func(i int) error {
		if e.failed != nil {
			return nil
		}
		return e.shape(i, e.shapingOf(i, base))
	}
	err = undo.All(environments, func(i int) error {
		// Trainers call this for one environment after the other, as each begins an episode. A simulator has the
		// values after the first call.
		if e.options.Simulator != "" && !check && reflect.DeepEqual(wanted[i], e.shaped[i]) {
			return nil
		}
		return e.shape(i, wanted[i])
	}, back)
	switch {
	case check: // also after an error: it may have taken a part of the values
		return errors.Join(err, back(0))
	case err != nil:
		return err
	}
	for i, values := range wanted {
		e.shaped[i] = values
	}
	if all {
		e.shaping = whole
	}
	return nil
}

// has returns an error if a method cannot be called: the batch is not usable, or the environments lack the Python
// method called lacks. there says whether they have it.
func (e *Env) has(there bool, method, lacks string) error {
	if err := e.usable(method); err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("gymnasium: the environments have no %s: %w", lacks, errors.ErrUnsupported)
	}
	return nil
}

// shapingOf returns the reward parameters of object i, base if none were set in it.
func (e *Env) shapingOf(i int, base map[string]any) map[string]any {
	if e.shaped[i] != nil {
		return e.shaped[i]
	}
	return base
}

// shape sets all reward parameters of environment i, by set_reward_shaping(values) in its child.
func (e *Env) shape(i int, values map[string]any) error {
	c, err := e.childOf(i)
	if err != nil {
		return err
	}
	_, _, err = e.ask(c, map[string]any{"call": "set_shaping", "indices": []int{i - c.from}, "values": values})
	return err
}

// CurriculumState returns what curriculum_state() returns for every environment, as JSON.
func (e *Env) CurriculumState() ([]byte, error) {
	if err := e.has(e.about.Curriculum, "CurriculumState", "set_curriculum_state"); err != nil {
		return nil, err
	}
	states, err := e.curricula()
	if err != nil {
		return nil, err
	}
	return json.Marshal(curriculaJSON{States: states})
}

// curriculaJSON is the state of all curricula, as it is saved and as a child sends its own: one JSON value an object.
type curriculaJSON struct {
	States []json.RawMessage `json:"states"`
}

// curricula asks all children for their curricula and returns the states of all objects.
func (e *Env) curricula() ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, c := range e.children {
		head, _, err := e.ask(c, map[string]any{"call": "curriculum"})
		if err != nil {
			return nil, err
		}
		states, err := parseCurricula(head)
		if from, to := e.objects(c); err != nil || len(states) != to-from {
			return nil, c.fault(FaultProtocol, err, "sent %d curricula of %d", len(states), to-from)
		}
		all = append(all, states...)
	}
	return all, nil
}

// parseCurricula returns the states in a saved state or a child's answer, at least one.
func parseCurricula(b []byte) ([]json.RawMessage, error) {
	var said curriculaJSON
	err := json.Unmarshal(b, &said)
	if err == nil && len(said.States) == 0 {
		err = errors.New("there are no states")
	}
	return said.States, err
}

// SetCurriculumState calls set_curriculum_state of every environment with what CurriculumState returned, all or (on
// an error) nothing. The state may come from another number m of environments: environment i then takes that of i mod
// m.
func (e *Env) SetCurriculumState(state []byte) error {
	if err := e.has(e.about.Curriculum, "SetCurriculumState", "set_curriculum_state"); err != nil {
		return err
	}
	states, err := parseCurricula(state)
	if err != nil {
		return fmt.Errorf("gymnasium: not a valid state of curricula: %w", err)
	}
	had, err := e.curricula()
	if err != nil {
		return err
	}
	wanted := make([]json.RawMessage, len(e.curriculum))
	for i := range wanted {
		wanted[i] = states[i%len(states)]
	}
	for k, c := range e.children {
		if err := e.setCurricula(c, wanted); err != nil {
			for ; k >= 0 && e.failed == nil; k-- {
				err = errors.Join(err, e.setCurricula(e.children[k], had))
			}
			return err
		}
	}
	e.curriculum = wanted
	return nil
}

// setCurricula puts the states of the child's objects back. all holds those of every object.
func (e *Env) setCurricula(c *child, all []json.RawMessage) error {
	from, to := e.objects(c)
	_, _, err := e.ask(c, map[string]any{"call": "set_curriculum", "states": all[from:to]})
	return err
}

// objects returns the range of indices (to is exclusive) of the objects of a child.
func (e *Env) objects(c *child) (from, to int) {
	if e.options.Simulator != "" {
		return 0, 1
	}
	return c.from, c.to
}

// reapply gives the objects of a new child what was set in those that it replaces. It calls the child directly, not
// by ask: a failure is one of the start, which replace may repeat, and must not end the batch.
func (e *Env) reapply(c *child) error {
	from, to := e.objects(c)
	for i := from; i < to; i++ {
		if e.shaped[i] == nil {
			continue
		}
		set := map[string]any{"call": "set_shaping", "indices": []int{i - from}, "values": e.shaped[i]}
		if _, _, err := c.call(set, e.options.Timeout); err != nil {
			return err
		}
	}
	if e.curriculum[from] == nil {
		return nil
	}
	_, _, err := c.call(map[string]any{"call": "set_curriculum", "states": e.curriculum[from:to]},
		e.options.Timeout)
	return err
}
