package pbt

import "slices"

// apply carries out decisions, one a member and in their order, and returns what became of them.
func (p *Population) apply(decisions []Decision) []Event {
	sources := make(map[int]inheritance)
	var waiting []Event
	for _, d := range decisions {
		if _, taken := sources[d.Source]; d.Action == Replace && !taken {
			sources[d.Source] = p.members[d.Source].bequeath()
		}
		waiting = append(waiting, p.members[d.Member].event(&p.opt, p.iteration, EventKeep, ""))
	}
	events := p.troubles()
	for i, d := range decisions {
		known := func() []Event { return slices.Concat(p.journal.events, events, waiting[i:]) }
		events = append(events, p.members[d.Member].carryOut(&p.opt, p.iteration, d, sources[d.Source], known)...)
	}
	return events
}
