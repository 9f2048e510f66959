package strategy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// MultiFrequency is multiple-frequencies population based training (MF-PBT), as AgileRL has it: a [Strategy] for
// populations that are cut, by number, into subpopulations, of which the i-th acts at the end of every Ratios[i]-th
// interval. In one that acts, members are ranked and divided, from the best, into winners, survivors, those open for
// migration, and losers:
//
//   - winners and survivors are kept;
//   - those open, the best first, are compared with all members of the other subpopulations, the best first. One that
//     is not as good takes over the other's weights unmutated, and the next is compared with the next. From a
//     subpopulation that acts more often only the weights come: hyperparameters found at a short horizon are greedy,
//     and those of the destination's best winner are taken instead;
//   - losers take over a winner drawn uniformly, and are mutated.
//
// Of equals the lower number ranks higher. Members that failed or diverged rank last and are never copied; where there
// are more of them than losers, those in other brackets are rescued by a winner as well, and where a subpopulation has
// no healthy member, by the best of the others. In a subpopulation that does not act only they are replaced, unless
// Strict is set.
//
// The zero value has AgileRL's defaults: two subpopulations. The second one acts at every fifth interval.
type MultiFrequency struct {
	// Subpopulations is their number, which divides the population into parts of at least 3. 0 means 2.
	Subpopulations int
	// Ratios say for each how many intervals lie between its actions, in ascending order. Default 1, 5, 10, 15, ...
	Ratios []int
	// Winners, Survivors, Open and Losers are the brackets' sizes, which add up to a subpopulation's. All 0 means a
	// quarter of it (rounded half to even) each for winners and open, no survivors, and the rest losers.
	Winners, Survivors, Open, Losers int
	// EvalLoop is the number of last scores that a fitness is the mean of. 0 means 1.
	EvalLoop int
	// Strict leaves subpopulations that do not act alone, members in trouble included.
	Strict bool
}

// withDefaults fills in what depends on nothing but the settings.
func (s MultiFrequency) withDefaults() MultiFrequency {
	s.Subpopulations = cmp.Or(s.Subpopulations, 2)
	if s.Ratios == nil {
		for i := range s.Subpopulations {
			s.Ratios = append(s.Ratios, max(1, 5*i))
		}
	}
	return s
}

// Validate checks the settings as far as they do not depend on the population's size.
func (s MultiFrequency) Validate() error {
	s = s.withDefaults()
	switch {
	case s.Subpopulations < 1:
		return fmt.Errorf("evolution: MultiFrequency.Subpopulations is %d; give at least 1, usually 2",
			s.Subpopulations)
	case len(s.Ratios) != s.Subpopulations:
		return fmt.Errorf("evolution: MultiFrequency.Ratios has %d numbers for %d subpopulations; give one each",
			len(s.Ratios), s.Subpopulations)
	case min(s.Winners, s.Survivors, s.Open, s.Losers) < 0:
		return fmt.Errorf("evolution: MultiFrequency has brackets of %d winners, %d survivors, %d open, %d losers; "+
			"give 0 or more", s.Winners, s.Survivors, s.Open, s.Losers)
	case s.EvalLoop < 0:
		return fmt.Errorf("evolution: MultiFrequency.EvalLoop is %d; give the number of last scores to average, or "+
			"0 for the latest", s.EvalLoop)
	}
	for i, r := range s.Ratios {
		if r < 1 || i > 0 && r <= s.Ratios[i-1] {
			return fmt.Errorf(
				"evolution: MultiFrequency.Ratios is %v; give whole numbers from 1 on, in ascending order", s.Ratios)
		}
	}
	return nil
}

// ValidateMembers checks the settings against the population's size.
func (s MultiFrequency) ValidateMembers(members int) error {
	_, err := s.Brackets(members)
	return err
}

// Brackets returns the sizes of the brackets of every subpopulation in a population of that many members.
func (s MultiFrequency) Brackets(members int) (b Brackets, err error) {
	if err := s.Validate(); err != nil {
		return b, err
	}
	s = s.withDefaults()
	size := members / s.Subpopulations
	if members%s.Subpopulations != 0 || size < 3 {
		return b, fmt.Errorf("evolution: a population of %d cannot be cut into %d subpopulations of equal size and "+
			"at least 3; give it a multiple of %d members", members, s.Subpopulations, s.Subpopulations)
	}
	b = Brackets{Winners: s.Winners, Survivors: s.Survivors, Open: s.Open, Losers: s.Losers}
	if b == (Brackets{}) {
		quarter := int(math.RoundToEven(0.25 * float64(size)))
		b = Brackets{Winners: quarter, Open: quarter}
		b.Losers = size - b.Winners - b.Open
	}
	switch sum := b.Winners + b.Survivors + b.Open + b.Losers; {
	case sum != size:
		return b, fmt.Errorf("evolution: MultiFrequency has brackets of %d winners, %d survivors, %d open, %d "+
			"losers, together %d; a subpopulation has %d members", b.Winners, b.Survivors, b.Open, b.Losers, sum, size)
	case b.Winners == 0 && b.Open+b.Losers > 0:
		return b, fmt.Errorf("evolution: MultiFrequency has no winners; give at least 1, whom losers can copy")
	}
	return b, nil
}

// Brackets are how many members of a subpopulation are in each of its parts.
type Brackets struct{ Winners, Survivors, Open, Losers int }

// Decide implements Strategy. It draws one number a loser, from the better to the worse, and one for every other member
// that a winner rescues. A population that ValidateMembers refuses is kept as it is.
func (s MultiFrequency) Decide(g Generation, rng *rand.Rand) []Decision {
	all := standings(g, s.EvalLoop)
	b, err := s.Brackets(len(all))
	if err != nil {
		return each(g.Members, func(m Status) Decision { return Keeping(m, "%v", err) })
	}
	decisions := make([]Decision, len(all))
	s = s.withDefaults()
	size := len(all) / s.Subpopulations
	for i, ratio := range s.Ratios {
		sub := subpopulation{index: i, size: size, ratio: ratio, ratios: s.Ratios, brackets: b, strict: s.Strict}
		sub.own = best(all[i*size : (i+1)*size])
		sub.others = best(slices.Concat(all[:i*size], all[(i+1)*size:]))
		sub.others = slices.DeleteFunc(sub.others, func(m standing) bool { return !m.sound })
		act := sub.rest
		if g.Iteration%int64(ratio) == 0 {
			act = sub.act
		}
		for _, d := range act(rng) {
			decisions[d.Member] = d
		}
	}
	return decisions
}

// best sorts members from the best on; of equals the lower number comes first.
func best(members []standing) []standing {
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b standing) int { return b.compare(a) })
	return sorted
}

// subpopulation is one as it stands, before anything is decided in others.
type subpopulation struct {
	index, size, ratio int
	ratios             []int
	brackets           Brackets
	strict             bool
	own, others        []standing // from the best on; of others only those who can be copied
}

// rest decides for members while the subpopulation does not act: they are kept, or rescued.
func (s subpopulation) rest(rng *rand.Rand) []Decision {
	return each(s.own, func(m standing) Decision {
		if m.Diverged() && !m.Absent && !s.strict {
			return s.rescue(m, s.own[:1], rng)
		}
		return Keeping(m.Status, "subpopulation %d acts at every %d. interval", s.index, s.ratio)
	})
}

// act evolves the subpopulation.
func (s subpopulation) act(rng *rand.Rand) []Decision {
	b := s.brackets
	winners := s.own[:b.Winners]
	next := 0 // the best of others that no member has copied yet
	var decisions []Decision
	for rank, m := range s.own {
		var d Decision
		switch open := rank - b.Winners - b.Survivors; {
		case m.Absent:
			d = Keeping(m.Status, "absent")
		case open >= 0 && open < b.Open && next < len(s.others) && (m.Diverged() || m.sound &&
			m.fitness < s.others[next].fitness):
			d = s.migrate(m, s.others[next])
			next++
		case open >= b.Open || m.Diverged():
			d = s.rescue(m, winners, rng)
		case rank < b.Winners:
			d = Keeping(m.Status, "winner of subpopulation %d: %v", s.index, m)
		case open < 0:
			d = Keeping(m.Status, "survivor of subpopulation %d: %v", s.index, m)
		default:
			d = Keeping(m.Status, "open in subpopulation %d: %v; no other is better", s.index, m)
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// rescue lets a member take over one of the sources that can be copied, or else the best of other subpopulations.
func (s subpopulation) rescue(m standing, sources []standing, rng *rand.Rand) Decision {
	what := "loser of"
	if m.Diverged() {
		what = m.Trouble() + "; in"
	}
	sources = slices.DeleteFunc(slices.Clone(sources), func(w standing) bool {
		return !w.sound || w.Member == m.Member
	})
	switch {
	case len(sources) > 0:
		winner := sources[rng.IntN(len(sources))]
		return selected(m.Status, winner.Status, "%s subpopulation %d: copies %d, %v", what, s.index, winner.Member,
			winner)
	case len(s.others) > 0:
		return selected(m.Status, s.others[0].Status, "%s subpopulation %d, which has nobody to copy: copies %d, %v",
			what, s.index, s.others[0].Member, s.others[0])
	}
	return Keeping(m.Status, "%s subpopulation %d: nobody to copy", what, s.index)
}

// migrate lets a member take over one of another subpopulation as it is.
func (s subpopulation) migrate(m, source standing) Decision {
	d := selected(m.Status, source.Status, "open in subpopulation %d: %v; %d has %v", s.index, m, source.Member, source)
	d.Mutate = false
	if s.ratios[source.Member/s.size] < s.ratio && s.own[0].sound {
		d.From = HyperparametersOf(s.own[0].Member)
		d.Reason += fmt.Sprintf("; hyperparameters of winner %d", d.Origin())
	}
	return d
}
