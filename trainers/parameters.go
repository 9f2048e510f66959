package trainers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/envs"
)

// Parameters of an environment's reward are hyperparameters by the name of "env.<key>". They differ from an agent's in
// one way: a new value must not take effect in the middle of an episode. So there is a target, set last, and for it
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

// all gives the target to every environment, before a reset starts new episodes everywhere.
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

// standing is a copy of which environment has which values, for restore.
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

// parametersState is how a snapshot keeps parameters, as JSON. Of four environments, two of which still play an episode
// with another scale, and the last of which has just begun one:
//
//	{"format": 1, "target": {"scale": 2},
//	 "current": [{"values": {"scale": 1}, "environments": [0, 2]}, {"values": {"scale": 2}, "environments": [1, 3]}],
//	 "fresh": [3]}
type parametersState struct {
	Format int `json:"format"`
	// Target is what every environment will have, by flattened key (envs.FlattenShaping).
	Target map[string]float64 `json:"target"`
	// Current are the parameters that environments have, with those environments. It is there where the environment's
	// state is.
	Current []currentState `json:"current,omitempty"`
	// Fresh are the environments that have taken no step of their episode: they may take a new target at once. Like
	// Current it is there with the environment's state.
	Fresh []int `json:"fresh,omitempty"`
}

// currentState are the values that some environments have.
type currentState struct {
	Values       map[string]float64 `json:"values"`
	Environments []int              `json:"environments"`
}

// parametersFormat is the version of what marshal writes.
const parametersFormat = 1

// marshal returns the parameters' state as JSON: the target, and with whole which environment has which values. Without
// the environment's own state only the target says something about the run that reads it.
func (p *parameters) marshal(whole bool) ([]byte, error) {
	s := parametersState{Format: parametersFormat, Target: p.target.flat}
	if whole {
		group := map[*values]int{} // the index in Current of values that several environments share
		for i, v := range p.current {
			k, ok := group[v]
			if !ok {
				k = len(s.Current)
				group[v] = k
				s.Current = append(s.Current, currentState{Values: v.flat})
			}
			s.Current[k].Environments = append(s.Current[k].Environments, i)
		}
		for i, fresh := range p.fresh {
			if fresh {
				s.Fresh = append(s.Fresh, i)
			}
		}
	}
	return json.Marshal(s)
}

// decodeParameters reads what marshal has written: the target, and, where n is not 0, which of n environments has which
// values.
func decodeParameters(b []byte, n int) (parametersState, error) {
	var s parametersState
	err := json.Unmarshal(b, &s)
	if err == nil && s.Format != parametersFormat {
		err = fmt.Errorf("their format is %d, this version of gorl reads %d", s.Format, parametersFormat)
	}
	if n == 0 {
		s.Current, s.Fresh = nil, nil
	} else if err == nil {
		err = s.check(n)
	}
	if err != nil {
		return parametersState{}, fmt.Errorf("trainers: the environment's parameters in the checkpoint: %w", err)
	}
	return s, nil
}

// check returns an error where one of n environments has no values, or two.
func (s *parametersState) check(n int) error {
	seen, found := make([]bool, n), 0
	for _, c := range s.Current {
		for _, i := range c.Environments {
			if i < 0 || i >= n || seen[i] {
				return fmt.Errorf("environment %d of %d is there twice or does not exist", i, n)
			}
			seen[i] = true
			found++
		}
	}
	if found != n {
		return fmt.Errorf("they are of %d environments, here are %d", found, n)
	}
	for _, i := range s.Fresh {
		if i < 0 || i >= n {
			return fmt.Errorf("environment %d of %d does not exist", i, n)
		}
	}
	return nil
}

// read makes a standing of a saved state. It is an error where the environment refuses one of the values.
func (p *parameters) read(s parametersState) (standing, error) {
	target, err := p.changed(s.Target)
	if err != nil {
		return standing{}, err
	}
	out := standing{target: target, current: make([]*values, len(p.current)), fresh: make([]bool, len(p.fresh))}
	for _, c := range s.Current {
		v := target // shared, so that these environments do not count as waiting
		if !maps.Equal(c.Values, s.Target) {
			if v, err = p.changed(c.Values); err != nil {
				return standing{}, err
			}
		}
		for _, i := range c.Environments {
			out.current[i] = v
		}
	}
	for _, i := range s.Fresh {
		out.fresh[i] = true
	}
	return out, nil
}
