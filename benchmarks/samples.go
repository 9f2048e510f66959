package main

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

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
	if len(v) == 0 {
		return 0
	}
	return stat.Quantile(0.5, stat.LinInterp, slices.Sorted(slices.Values(v)), nil)
}
