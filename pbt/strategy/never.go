package strategy

import "math/rand/v2"

// Never keeps every member as it is, those that failed or diverged too: the population is then as many independent
// runs, the fair control group of one that selects. With the same seeds both begin alike, and both have cost as much
// training.
type Never struct{}

// Decide implements Strategy. It draws no random numbers.
func (Never) Decide(g Generation, _ *rand.Rand) []Decision {
	return each(g.Members, func(m Status) Decision {
		d := Keeping(m, "control group")
		if m.Diverged() {
			d.Reason += ": " + m.Trouble()
		}
		return d
	})
}
