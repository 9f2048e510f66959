package trainers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
)

// Parameters of an environment's reward are hyperparameters by the name of "env.<key>". They differ from an agent's in
// one way: a new value must not take effect in the middle of an episode. So there is a target, set last, and beside it
// what each environment has at present; environments take the target one by one, as their episodes end.

// environmentPrefix begins the names of hyperparameters that belong to the environment's reward.
const environmentPrefix = "env."

// parameters are those of an environment's reward, see [envs.RewardShaper]. A new value never takes effect within an
// episode, whose return would then belong to neither value: each environment takes it where its next episode begins. A
// nil *parameters is that of an environment that has none, and its methods do nothing.
type parameters struct {
	shaper  envs.RewardShaper
	target  *values   // set last; what every environment will have
	current []*values // what each environment has now
	fresh   []bool    // by environment: its episode has not taken a step yet
	waiting int       // the number of environments that do not have the target yet
	rows    []int     // room for stepped, which runs every step and must not allocate
}

// values are the parameters of a reward in both forms: as the environment's tree, and as numbers by flattened key. They
// are never changed, so that several environments can share them.
type values struct {
	tree map[string]any
	flat map[string]float64
}

// newParameters returns the parameters as they stand, or nil where the environment has none.
func newParameters(env envs.Env) (*parameters, error) {
	shaper, ok := envs.As[envs.RewardShaper](env)
	if !ok {
		return nil, nil
	}
	tree := shaper.RewardShaping()
	flat, err := envs.FlattenShaping(tree)
	if err != nil {
		return nil, fmt.Errorf("trainers: the environment's parameters: %w", err)
	}
	n := env.NumEnvs()
	p := &parameters{shaper: shaper, target: &values{tree, flat}, rows: make([]int, 0, n)}
	p.current, p.fresh = slices.Repeat([]*values{p.target}, n), slices.Repeat([]bool{true}, n)
	return p, nil
}

// changed returns the target with some values changed, once the environment has accepted them for none of its rows,
// which checks them and changes nothing.
func (p *parameters) changed(flat map[string]float64) (*values, error) {
	if p == nil {
		return nil, fmt.Errorf("trainers: the environment has no parameters to set (it is no envs.RewardShaper)")
	}
	// The environment says what it takes: values go through its own types, and are offered for no environment at all.
	tree, err := envs.UnflattenShaping(p.target.tree, flat)
	if err == nil {
		flat, err = envs.FlattenShaping(tree) // as they are in their types
	}
	if err == nil {
		err = p.shaper.SetRewardShaping(tree, []int{})
	}
	if err != nil {
		return nil, fmt.Errorf("trainers: the environment's parameters: %w", err)
	}
	return &values{tree, flat}, nil
}

// set makes v the target. Environments whose episode has not taken a step get it now, the others when their episode has
// ended. On an error nothing has changed.
func (p *parameters) set(v *values) error {
	if maps.Equal(v.flat, p.target.flat) {
		return nil
	}
	// The environments that can take v now: those about to begin an episode that have other values.
	var rows []int
	for i, fresh := range p.fresh {
		if fresh && !maps.Equal(p.current[i].flat, v.flat) {
			rows = append(rows, i)
		}
	}
	if err := p.give(v, rows); err != nil {
		return err
	}
	// Environments that happen to have v's values share it, so that comparing pointers tells who waits.
	p.target, p.waiting = v, 0
	for i, has := range p.current {
		if maps.Equal(has.flat, v.flat) {
			p.current[i] = v
		}
		if p.current[i] != v {
			p.waiting++
		}
	}
	return nil
}

// give sets v in the given environments now.
func (p *parameters) give(v *values, rows []int) error {
	if len(rows) == 0 {
		return nil
	}
	if err := p.shaper.SetRewardShaping(v.tree, rows); err != nil {
		return fmt.Errorf("trainers: the environment's parameters: %w", err)
	}
	for _, i := range rows {
		p.current[i] = v
	}
	return nil
}

// stepped gives the target to environments whose episode has ended with this step.
func (p *parameters) stepped(s *envs.Step) error {
	if p == nil {
		return nil
	}
	// An episode that has just ended leaves the environment at the beginning of its next one.
	p.rows = p.rows[:0]
	for i := range p.fresh {
		p.fresh[i] = s.Terminated[i] || s.Truncated[i]
		if p.waiting > 0 && p.fresh[i] && p.current[i] != p.target {
			p.rows = append(p.rows, i)
		}
	}
	if err := p.give(p.target, p.rows); err != nil {
		return err
	}
	p.waiting -= len(p.rows)
	return nil
}

// all gives the target to every environment, before a reset begins all episodes anew.
func (p *parameters) all() error {
	if p == nil {
		return nil
	}
	if p.waiting > 0 { // nil: all environments
		if err := p.shaper.SetRewardShaping(p.target.tree, nil); err != nil {
			return fmt.Errorf("trainers: the environment's parameters: %w", err)
		}
	}
	for i := range p.current {
		p.current[i], p.fresh[i] = p.target, true
	}
	p.waiting = 0
	return nil
}

// standing is a copy of which environment has which values, to come back to.
type standing struct {
	target  *values
	current []*values
	fresh   []bool
}

// standing returns the present one.
func (p *parameters) standing() standing {
	if p == nil {
		return standing{}
	}
	return standing{p.target, slices.Clone(p.current), slices.Clone(p.fresh)}
}

// restore sets every environment to the values that it has in s.
func (p *parameters) restore(s standing) error {
	if p == nil {
		return nil
	}
	// Each of the distinct values is given once, to all environments that have it.
	given := map[*values]bool{}
	for _, v := range s.current {
		if given[v] {
			continue
		}
		given[v] = true
		var rows []int
		for i, has := range s.current {
			if has == v {
				rows = append(rows, i)
			}
		}
		if err := p.give(v, rows); err != nil {
			return err
		}
	}
	p.target, p.fresh, p.waiting = s.target, slices.Clone(s.fresh), 0
	for _, has := range p.current {
		if has != p.target {
			p.waiting++
		}
	}
	return nil
}

// hyperparameters returns the agent's settings that may change, none where it is no agents.Tunable.
func hyperparameters(agent agents.Agent) map[string]float64 {
	if t, ok := agents.As[agents.Tunable](agent); ok {
		return t.Hyperparameters()
	}
	return nil
}

// setHyperparameters changes some of them, all or none.
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

// Hyperparameters returns the agent's settings that may change while training (none where it is no agents.Tunable), and
// the parameters of the environment's reward as "env.<key>", where it has any (see [envs.RewardShaper], and
// [envs.FlattenShaping] for the keys). The latter are the values last set, which single environments may not have yet.
func (t *Trainer) Hyperparameters() map[string]float64 {
	all := map[string]float64{}
	maps.Copy(all, hyperparameters(t.agent))
	if t.parameters != nil {
		for key, x := range t.parameters.target.flat {
			all[environmentPrefix+key] = x
		}
	}
	return all
}

// SetHyperparameters changes some of the agent's and of the environment's, all or (on an error) none. The agent's take
// effect at once; each environment takes its own where its next episode begins. Integers among the environment's take
// the nearest integer, booleans are true from 0.5 on.
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
	// The environment's values are checked first, which changes nothing; then the agent takes its own, all or none; then
	// the environment takes its own. Only the last step can fail after a change, and undoes it.
	var target *values
	if len(forEnvironment) > 0 {
		var err error
		if target, err = t.parameters.changed(forEnvironment); err != nil {
			return err
		}
	}
	before := hyperparameters(t.agent)
	if err := setHyperparameters(t.agent, forAgent); err != nil {
		return err
	}
	t.saved = false
	if target == nil {
		return nil
	}
	// Where the environment refuses after all, the agent is given back what it had of these settings, and no others.
	err := t.parameters.set(target)
	if err != nil && len(forAgent) > 0 {
		maps.DeleteFunc(before, func(key string, _ float64) bool { _, set := forAgent[key]; return !set })
		if undo := setHyperparameters(t.agent, before); undo != nil {
			err = fmt.Errorf("%w; and the agent's hyperparameters could not be put back: %w", err, undo)
		}
	}
	return err
}
