package pbt

import "slices"

// apply carries out decisions, one a member and in their order, and returns what became of them.
func (p *Population) apply(decisions []Decision) []Event {
	sources := make(map[int]inheritance)
	for _, d := range decisions {
		if _, taken := sources[d.Source]; d.Action == Replace && !taken {
			sources[d.Source] = p.members[d.Source].bequeath()
		}
	}
	known := slices.Concat(p.journal.events, p.troubles())
	for _, d := range decisions {
		known = append(known, p.members[d.Member].announce(&p.opt, p.iteration, d, sources[d.Source]))
	}
	explorer := p.opt.explorerAt(p.iteration, known)
	events := make([]Event, 0, len(decisions))
	for _, d := range decisions {
		events = append(events, p.members[d.Member].carryOut(&p.opt, p.iteration, d, sources[d.Source], explorer)...)
	}
	return events
}
