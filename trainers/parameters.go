package trainers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/envs"
)

// The parameters of an environment's reward are hyperparameters with the name "env.<key>". They differ from an agent's
// in one way: a new value must not take effect during an episode. There is therefore a target, which was set last, and
// for each environment the values that it has now. An environment takes the target when its episode ends.

// environmentPrefix is the prefix of hyperparameters that belong to the environment's reward.
const environmentPrefix = "env."

// parameters are those of an environment's reward, see [envs.RewardShaper]. A new value never takes effect during an
// episode, because its return would then belong to neither value. A nil *parameters is that of an environment without
// parameters. Its methods do nothing, or return an error if there is something to set.
type parameters struct {
	standing
	shaper envs.RewardShaper
	rows   []int // room for stepped, which runs every step and must not allocate
}

// standing says which environment has which values. Slices are (N). A copy of it is taken before a change that may be
// undone, or read from a snapshot.
//
// An environment has the target if its pointer in current equals target. Different pointers may still have equal
// values.
type standing struct {
	target  *values   // set last; what every environment will have
	current []*values // what each environment has now
	fresh   []bool    // by environment: its episode has not taken a step yet
}

// values are the parameters of a reward in two forms: the environment's own tree, and numbers by flattened key. Values
// are never changed after they were made, so that several environments can share them.
type values struct {
	tree map[string]any
	flat map[string]float64
}

// newParameters returns the parameters as the environment has them, or nil if it has none. Every episode counts as
// fresh.
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
	own := &values{tree, flat}
	return &parameters{shaper: shaper, rows: make([]int, 0, n),
		standing: standing{own, slices.Repeat([]*values{own}, n), slices.Repeat([]bool{true}, n)}}, nil
}

// changed returns the target with the values of flat in it. It returns an error if the environment refuses the values.
// It changes nothing: the environment is asked to set them in none of its rows, which only checks them.
func (p *parameters) changed(flat map[string]float64) (*values, error) {
	if p == nil {
		return nil, fmt.Errorf("trainers: the environment has no parameters to set (it is no envs.RewardShaper)")
	}
	// The values take the types of the tree, so that 2.4 becomes 2 for an integer, and are flattened again as the
	// environment has them.
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
// ended. On an error nothing has changed. SetHyperparameters and world.restore call it.
func (p *parameters) set(v *values) error {
	if maps.Equal(v.flat, p.target.flat) {
		return nil
	}
	// The environments that can take v now: their episode has not taken a step, and they have other values.
	var rows []int
	for i, fresh := range p.fresh {
		if fresh && !maps.Equal(p.current[i].flat, v.flat) {
			rows = append(rows, i)
		}
	}
	if err := p.give(v, rows); err != nil {
		return err
	}
	// Environments with equal values share v from now on, so that comparing pointers shows which ones wait.
	p.target = v
	for i, has := range p.current {
		if maps.Equal(has.flat, v.flat) {
			p.current[i] = v
		}
	}
	return nil
}

// give sets v in the environments with the indices rows, now. Nothing has changed on an error.
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

// stepped gives the target to the environments whose episode has ended with this step. step calls it after every step
// that was recorded. It allocates nothing.
func (p *parameters) stepped(s *envs.Step) error {
	if p == nil {
		return nil
	}
	// An environment whose episode has just ended is at the beginning of its next one (auto-reset).
	p.rows = p.rows[:0]
	for i := range p.fresh {
		p.fresh[i] = s.Terminated[i] || s.Truncated[i]
		if p.fresh[i] && p.current[i] != p.target {
			p.rows = append(p.rows, i)
		}
	}
	return p.give(p.target, p.rows)
}

// all gives the target to every environment. It is called before a reset, which begins new episodes in all
// environments.
func (p *parameters) all() error {
	if p == nil {
		return nil
	}
	if slices.ContainsFunc(p.current, func(has *values) bool { return has != p.target }) { // nil: all environments
		if err := p.shaper.SetRewardShaping(p.target.tree, nil); err != nil {
			return fmt.Errorf("trainers: the environment's parameters: %w", err)
		}
	}
	for i := range p.current {
		p.current[i], p.fresh[i] = p.target, true
	}
	return nil
}

// copy returns a copy of the present assignment. The values themselves are shared.
func (p *parameters) copy() standing {
	if p == nil {
		return standing{}
	}
	return standing{p.target, slices.Clone(p.current), slices.Clone(p.fresh)}
}

// restore sets every environment to the values that it has in s, also during an episode: the caller has restored the
// episode that the values belong to. On an error some environments may have new values.
func (p *parameters) restore(s standing) error {
	if p == nil {
		return nil
	}
	for _, group := range groups(s.current) {
		if err := p.give(s.current[group[0]], group); err != nil {
			return err
		}
	}
	p.target, p.fresh = s.target, slices.Clone(s.fresh)
	return nil
}

// groups returns the indices of the environments that have the same values, a list for each of the distinct values.
func groups(current []*values) (list [][]int) {
	at := map[*values]int{}
	for i, v := range current {
		k, ok := at[v]
		if !ok {
			k = len(list)
			at[v], list = k, append(list, nil)
		}
		list[k] = append(list[k], i)
	}
	return list
}

// parametersState is the JSON form of parameters in a snapshot. Example of four environments: two of them still play an
// episode with another scale, and the last one has just begun an episode.
//
//	{"format": 1, "target": {"scale": 2},
//	 "current": [{"values": {"scale": 1}, "environments": [0, 2]}, {"values": {"scale": 2}, "environments": [1, 3]}],
//	 "fresh": [3]}
type parametersState struct {
	Format int `json:"format"`
	// Target is what every environment will have, by flattened key (envs.FlattenShaping).
	Target map[string]float64 `json:"target"`
	// Current has the values that environments have now, with the indices of these environments. It is there only if
	// the snapshot has the environment's state.
	Current []currentState `json:"current,omitempty"`
	// Fresh has the indices of environments whose episode has taken no step, so that they may take a new target at
	// once. Like Current it belongs to the environment's state.
	Fresh []int `json:"fresh,omitempty"`
}

// currentState has values by flattened key, and the indices of the environments that have them.
type currentState struct {
	Values       map[string]float64 `json:"values"`
	Environments []int              `json:"environments"`
}

// parametersFormat is the version of the JSON that marshal writes. read refuses other versions.
const parametersFormat = 1

// marshal returns the parameters as JSON: the target and, with whole, which environment has which values. Without the
// environment's state the assignment means nothing to the run that reads it.
func (p *parameters) marshal(whole bool) ([]byte, error) {
	s := parametersState{Format: parametersFormat, Target: p.target.flat}
	if whole {
		for _, group := range groups(p.current) {
			s.Current = append(s.Current, currentState{p.current[group[0]].flat, group})
		}
		for i, fresh := range p.fresh {
			if fresh {
				s.Fresh = append(s.Fresh, i)
			}
		}
	}
	return json.Marshal(s)
}

// unreadable returns the error of parameters that do not fit the environment.
func unreadable(err error) error {
	return fmt.Errorf("trainers: the environment's parameters in the checkpoint: %w", err)
}

// read returns the standing of the JSON of marshal. It returns an error if the environment refuses a value. It changes
// nothing. With whole, each environment is in Current exactly once. Otherwise the standing has a target only.
func (p *parameters) read(b []byte, whole bool) (standing, error) {
	var s parametersState
	err := json.Unmarshal(b, &s)
	if err == nil && s.Format != parametersFormat {
		err = fmt.Errorf("their format is %d, this version of gorl reads %d", s.Format, parametersFormat)
	}
	if err != nil {
		return standing{}, unreadable(err)
	}
	n := len(p.current)
	out := standing{current: make([]*values, n), fresh: make([]bool, n)}
	if out.target, err = p.changed(s.Target); err != nil || !whole {
		return out, err
	}
	for _, c := range s.Current {
		v := out.target // shared, so that these environments do not count as waiting
		if !maps.Equal(c.Values, s.Target) {
			if v, err = p.changed(c.Values); err != nil {
				return standing{}, err
			}
		}
		for _, i := range c.Environments {
			if i < 0 || i >= n || out.current[i] != nil {
				return standing{}, unreadable(fmt.Errorf("environment %d of %d is there twice or does not exist", i, n))
			}
			out.current[i] = v
		}
	}
	if slices.Contains(out.current, nil) {
		return standing{}, unreadable(fmt.Errorf("they are of fewer environments than the %d here", n))
	}
	for _, i := range s.Fresh {
		if i < 0 || i >= n {
			return standing{}, unreadable(fmt.Errorf("environment %d of %d does not exist", i, n))
		}
		out.fresh[i] = true
	}
	return out, nil
}
