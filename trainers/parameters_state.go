package trainers

import (
	"encoding/json"
	"fmt"
	"maps"
)

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
