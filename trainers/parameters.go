package trainers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/envs"
)

// environmentPrefix begins the hyperparameters that are the environment's.
const environmentPrefix = "env."

// parameters are those of an environment's reward, see [envs.RewardShaper]. A new value is never applied within an
// episode: each environment takes it where its next one begins. A nil *parameters is that of an environment that has
// none.
type parameters struct {
	shaper  envs.RewardShaper
	target  *values   // what every environment is to have
	current []*values // what each environment has
	fresh   []bool    // no step of the environment's episode has been taken yet
	waiting int       // environments that do not have the target yet
	rows    []int     // what stepped works with
}

// values are reward parameters as the environment knows them and by their keys. They do not change.
type values struct {
	tree map[string]any
	flat map[string]float64
}

// newParameters returns nil where the environment has no parameters.
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

// changed is the target with some values changed, once the environment has found them good.
func (p *parameters) changed(flat map[string]float64) (*values, error) {
	if p == nil {
		return nil, fmt.Errorf("trainers: the environment has no parameters to set (it is no envs.RewardShaper)")
	}
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

// set makes v the target: at once where an episode is about to begin, elsewhere when the running one has ended. On an
// error nothing has changed.
func (p *parameters) set(v *values) error {
	if maps.Equal(v.flat, p.target.flat) {
		return nil
	}
	var rows []int
	for i, fresh := range p.fresh {
		if fresh && !maps.Equal(p.current[i].flat, v.flat) {
			rows = append(rows, i)
		}
	}
	if err := p.give(v, rows); err != nil {
		return err
	}
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

// give sets v in some environments.
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

// stepped hands the target to environments whose episode has ended.
func (p *parameters) stepped(s *envs.Step) error {
	if p == nil {
		return nil
	}
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

// all hands the target to every environment; all episodes are about to begin.
func (p *parameters) all() error {
	if p == nil {
		return nil
	}
	if p.waiting > 0 {
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

// standing is which environment has what.
type standing struct {
	target  *values
	current []*values
	fresh   []bool
}

func (p *parameters) standing() standing {
	if p == nil {
		return standing{}
	}
	return standing{p.target, slices.Clone(p.current), slices.Clone(p.fresh)}
}

// restore puts a standing into force, whatever the environments have.
func (p *parameters) restore(s standing) error {
	if p == nil {
		return nil
	}
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

// Hyperparameters are the agent's, and the parameters of the environment's reward as "env.<key>", where it has any (see
// [envs.RewardShaper], and [envs.FlattenShaping] for the keys). For the latter they are the values last set, which single
// environments may not have yet.
func (t *Trainer) Hyperparameters() map[string]float64 {
	all := map[string]float64{}
	maps.Copy(all, t.agent.Hyperparameters())
	if t.parameters != nil {
		for key, x := range t.parameters.target.flat {
			all[environmentPrefix+key] = x
		}
	}
	return all
}

// SetHyperparameters changes some of the agent's and of the environment's, all or (on an error) none. The agent's take effect at
// once, the environment's never within an episode: where its next one begins, each environment on its own. Integers
// among the latter take the nearest integer, booleans are true from 0.5 on.
func (t *Trainer) SetHyperparameters(given map[string]float64) error {
	forAgent, forEnvironment := map[string]float64{}, map[string]float64{}
	for key, x := range given {
		if name, ok := strings.CutPrefix(key, environmentPrefix); ok {
			forEnvironment[name] = x
		} else {
			forAgent[key] = x
		}
	}
	var target *values
	if len(forEnvironment) > 0 {
		var err error
		if target, err = t.parameters.changed(forEnvironment); err != nil {
			return err
		}
	}
	before := t.agent.Hyperparameters()
	if len(forAgent) > 0 {
		if err := t.agent.SetHyperparameters(forAgent); err != nil {
			return err
		}
	}
	t.saved = false
	if target == nil {
		return nil
	}
	err := t.parameters.set(target)
	if err != nil && len(forAgent) > 0 {
		maps.DeleteFunc(before, func(key string, _ float64) bool { _, set := forAgent[key]; return !set })
		if undo := t.agent.SetHyperparameters(before); undo != nil {
			err = fmt.Errorf("%w; and the agent's hyperparameters could not be put back: %w", err, undo)
		}
	}
	return err
}
