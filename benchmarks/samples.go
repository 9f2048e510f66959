package main

import "slices"

// measure is one figure by name.
type measure struct {
	name  string
	value float64
}

// samples collects figures over rounds.
type samples struct {
	names  []string
	values map[string][]float64
}

func (s *samples) add(ms []measure) {
	if s.values == nil {
		s.values = map[string][]float64{}
	}
	for _, m := range ms {
		if !slices.Contains(s.names, m.name) {
			s.names = append(s.names, m.name)
		}
		s.values[m.name] = append(s.values[m.name], m.value)
	}
}

func (s samples) median(name string) float64 { return median(s.values[name]) }

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}
