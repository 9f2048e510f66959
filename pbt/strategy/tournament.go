package strategy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Tournament is AgileRL's tournament selection, a [Strategy]. Every place in the population is filled by the winner of
// a tournament: of TournamentSize members, drawn uniformly with replacement, the one of highest rank. The winner is
// copied and mutated; a member that wins the tournament of its own place stays and is mutated. With Elitism the best
// member keeps its place without a tournament.
//
// Ranks are by fitness, see [Fitness]; of equals the higher number ranks higher. Members that failed or whose objective
// or weights are not finite rank last, below those of which nothing is known yet; they are never copied and never the
// elite. Where a tournament has only such members, the elite takes the place. While no member has a fitness all are
// kept.
type Tournament struct {
	// TournamentSize is the number of members in a tournament.
	//
	// A larger one selects harder and loses diversity sooner.
	TournamentSize int `yaml:"tournament_size" config:"min=1"`
	// Elitism keeps the best member in its place. Without it a mutation may lose the best.
	Elitism bool `yaml:"elitism"`
	// EvalLoop is the number of last fitnesses whose mean ranks a member.
	//
	// More are less noisy and react later. 0 means 1.
	EvalLoop int `yaml:"eval_loop" config:"min=1"`
	// MutateElite mutates the elite like everybody else. Default false: it stays as it is. [New] sets it from
	// Mutations.MutateElite.
	MutateElite bool `yaml:"-"`
	// Strict lays the population out as AgileRL does: the elite moves to place 0, and the place it had is filled by a
	// tournament.
	Strict bool `yaml:"-"`
}

// DefaultTournament has AgileRL's defaults: tournaments of two, elitism, the latest fitness.
func DefaultTournament() Tournament {
	return Tournament{TournamentSize: 2, Elitism: true, EvalLoop: 1}
}

// Validate checks the sizes.
func (t Tournament) Validate() error {
	if t.TournamentSize < 1 {
		return fmt.Errorf("evolution: Tournament.TournamentSize is %d; give at least 1, usually 2", t.TournamentSize)
	}
	if t.EvalLoop < 0 {
		return fmt.Errorf("evolution: Tournament.EvalLoop is %d; give the number of last scores to average, or 0 "+
			"for the latest", t.EvalLoop)
	}
	return nil
}

// Ranks are the members' ranks in order of their numbers, 0 for the least: fitnesses [3 1 2] have the ranks [2 0 1].
func (t Tournament) Ranks(g Generation) []int {
	all := standings(g, t.EvalLoop)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return all[i].compare(all[j]) })
	ranks := make([]int, len(all))
	for rank, i := range order {
		ranks[i] = rank
	}
	return ranks
}

// Elite is the member of highest rank; ok is false where no member can be copied.
func (t Tournament) Elite(g Generation) (elite Status, ok bool) {
	i := slices.Index(t.Ranks(g), len(g.Members)-1)
	if i < 0 {
		return elite, false
	}
	_, ok = Fitness(g.Members[i], t.EvalLoop)
	return g.Members[i], ok
}

// Decide implements Strategy. In order of places it draws TournamentSize numbers for every tournament.
func (t Tournament) Decide(g Generation, rng *rand.Rand) []Decision {
	all, ranks := standings(g, t.EvalLoop), t.Ranks(g)
	elite, ok := t.Elite(g)
	decisions := make([]Decision, 0, len(all))
	for place, m := range all {
		kept := t.Elitism && (t.Strict && place == 0 || !t.Strict && m.Member == elite.Member)
		switch {
		case !ok:
			decisions = append(decisions, Keeping(m.Status, "%v; there is nobody to select", m))
		case kept:
			decisions = append(decisions, t.elite(m.Status, elite))
		default:
			decisions = append(decisions, t.hold(all, ranks, place, elite, rng))
		}
	}
	return decisions
}

// elite is the decision about the elite's place.
func (t Tournament) elite(m, elite Status) Decision {
	fitness, _ := Fitness(elite, t.EvalLoop)
	d := selected(m, elite, "elite: fitness %.6g", fitness)
	if !t.MutateElite {
		d.Mutate = false
		if d.Action == SelfMutate {
			d.Action = Keep
		}
	}
	return d
}

// hold fills one place by a tournament.
func (t Tournament) hold(all []standing, ranks []int, place int, elite Status, rng *rand.Rand) Decision {
	best, drawn := -1, make([]string, t.TournamentSize)
	for i := range drawn {
		k := rng.IntN(len(all))
		drawn[i] = fmt.Sprint(all[k].Member)
		if best < 0 || ranks[k] > ranks[best] {
			best = k
		}
	}
	m, winner, of := all[place], all[best], strings.Join(drawn, " ")
	switch {
	case m.Absent:
		return Keeping(m.Status, "absent")
	case winner.sound:
		return selected(m.Status, winner.Status, "tournament of %s: %d wins, %v", of, winner.Member, winner)
	case m.Diverged():
		return selected(m.Status, elite, "tournament of %s: nobody to copy; %v, rescued by the elite, %d", of, m,
			elite.Member)
	}
	return Keeping(m.Status, "tournament of %s: nobody to copy", of)
}
