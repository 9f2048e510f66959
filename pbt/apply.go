package pbt

import (
	"maps"
	"slices"
)

// apply carries out decisions, one a member and in their order, and returns what became of them.
func (p *Population) apply(decisions []Decision) []Event {
	sources := make(map[int]inheritance)
	others := make(map[int]map[string]float64)
	var waiting []Event
	for _, d := range decisions {
		if _, taken := sources[d.Source]; d.Action == Replace && !taken {
			sources[d.Source] = p.members[d.Source].bequeath()
		}
		if d.OthersHyperparameters {
			others[d.Other] = maps.Clone(p.members[d.Other].hyperparameters)
		}
		waiting = append(waiting, p.members[d.Member].event(&p.opt, p.iteration, EventKeep, ""))
	}
	events := p.troubles()
	for i, d := range decisions {
		known := func() []Event { return slices.Concat(p.journal.events, events, waiting[i:]) }
		source := sources[d.Source]
		if d.OthersHyperparameters {
			source.hyperparameters = others[d.Other]
		}
		events = append(events, p.members[d.Member].carryOut(&p.opt, p.iteration, d, source, known)...)
	}
	return events
}
