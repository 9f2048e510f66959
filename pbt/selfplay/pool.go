package selfplay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/spaces"
)

// ID names frozen weights: those of a member at the end of an interval. The random player is member -1 at interval 0.
type ID struct {
	Member   int   `json:"member"`
	Interval int64 `json:"interval"`
}

// randomID is the ID of the random player.
var randomID = ID{Member: -1}

// String returns, for example, "member 2 at interval 5".
func (id ID) String() string {
	if id == randomID {
		return "the random player"
	}
	return fmt.Sprintf("member %d at interval %d", id.Member, id.Interval)
}

// tally counts games from the learner's side.
type tally struct{ Games, Wins, Draws int }

// add counts a game with a score of 1, ½ or 0.
func (t *tally) add(score float64) {
	t.Games++
	switch score {
	case 1:
		t.Wins++
	case 0.5:
		t.Draws++
	}
}

// share returns the share of games won. A draw counts as half a win. Two draws are added, so that the share is ½ before
// the first game.
func (t tally) share() float64 {
	return (float64(t.Wins) + float64(t.Draws)/2 + 1) / float64(t.Games+2)
}

// opponent is an entry of a pool. Only its tallies change.
type opponent struct {
	id     ID
	past   bool // of the learner's own lineage
	rating float64
	player Player
	policy []byte // the policy in safetensors; nil for the random player
	all    tally
	recent tally // since the interval's beginning
}

// Pool has the opponents of one learner: the newest weights of the other members, the learner's past selves, and a
// table of results. The random player is the first past self. All environments of the learner share the pool, which is
// safe for concurrent use. [Env] counts results between steps, so which opponents are drawn does not depend on the
// number of goroutines.
type Pool struct {
	cfg  Config
	seat spaces.Set // of the learner

	mu     sync.RWMutex
	rating float64
	// members has the newest weights of the other members, by number. past has the past selves, oldest first. The last
	// is the newest self.
	members, past []*opponent
}

// newPool returns a pool with the random player alone.
func newPool(cfg Config, seat spaces.Set) *Pool {
	p := &Pool{cfg: cfg, seat: seat, rating: cfg.Rating.Initial}
	p.past = []*opponent{{id: randomID, past: true, rating: cfg.Rating.Initial, player: Random(seat)}}
	return p
}

// Rating returns the learner's Elo rating after all games so far.
func (p *Pool) Rating() float64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.rating
}

// opponents returns all opponents: the other members by number, then past selves, the oldest first.
func (p *Pool) opponents() []*opponent { return slices.Concat(p.members, p.past) }

// draw returns an opponent for an episode.
func (p *Pool) draw(rng *rand.Rand) *opponent {
	p.mu.RLock()
	defer p.mu.RUnlock()
	newest := len(p.past) - 1
	if p.cfg.Matchmaking == Self {
		return p.past[newest]
	}
	if rng.Float64() < p.cfg.PastShare && newest > 0 {
		return p.pick(rng, p.past[:newest])
	}
	return p.pick(rng, append(p.members[:len(p.members):len(p.members)], p.past[newest]))
}

// mate returns the newest self, which plays the other seats of the learner's team.
func (p *Pool) mate() *opponent {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.past[len(p.past)-1]
}

// pick draws one of the opponents by the weights of the matchmaking.
func (p *Pool) pick(rng *rand.Rand, from []*opponent) *opponent {
	sum := 0.0
	for _, o := range from {
		sum += p.weight(o)
	}
	u := rng.Float64() * sum
	for _, o := range from {
		if u -= p.weight(o); u < 0 {
			return o
		}
	}
	return from[len(from)-1] // rounding, or all weights are 0
}

// weight returns the weight by which pick draws an opponent.
func (p *Pool) weight(o *opponent) float64 {
	switch p.cfg.Matchmaking {
	case PFSP:
		return pfsp(o.all.share(), p.cfg.Power)
	case Rating:
		// A result with expectation E has at most the variance E(1 − E), which is largest between equals.
		e := p.cfg.Rating.Expected(p.rating, o.rating)
		return e * (1 - e)
	}
	return 1
}

// record counts the results of an episode and updates the rating.
func (p *Pool) record(results []result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ratings, scores []float64
	for _, r := range results {
		o := p.find(r.opponent, r.past)
		if o == nil { // dropped by a restored state
			continue
		}
		o.all.add(r.score)
		o.recent.add(r.score)
		ratings, scores = append(ratings, o.rating), append(scores, r.score)
	}
	p.rating = p.cfg.Rating.After(p.rating, ratings, scores)
}

// find returns an opponent, nil if there is none.
func (p *Pool) find(id ID, past bool) *opponent {
	from := p.members
	if past {
		from = p.past
	}
	if i := slices.IndexFunc(from, func(o *opponent) bool { return o.id == id }); i >= 0 {
		return from[i]
	}
	return nil
}

// at is find for a game that is restored: an opponent that is not in the pool is replaced by the newest self.
func (p *Pool) at(id ID, past bool) *opponent {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if o := p.find(id, past); o != nil {
		return o
	}
	return p.past[len(p.past)-1]
}

// results returns the rating and the games since the interval's beginning, for the journal.
func (p *Pool) results() *journal.SelfPlay {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := &journal.SelfPlay{Rating: p.rating}
	for _, o := range p.opponents() {
		if o.recent.Games > 0 {
			s.Games = append(s.Games, journal.Games{Opponent: o.id.Member, Interval: o.id.Interval, Past: o.past,
				Games: o.recent.Games, Wins: o.recent.Wins, Draws: o.recent.Draws})
		}
	}
	return s
}

// next begins an interval. members has the newest weights of the other members; members without new weights keep the
// old ones. self is a new past self. Games in progress keep their opponents.
func (p *Pool) next(members []*opponent, self *opponent, own int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.members {
		if o.id.Member != own && !slices.ContainsFunc(members, func(n *opponent) bool {
			return n.id.Member == o.id.Member
		}) {
			members = append(members, o)
		}
	}
	slices.SortFunc(members, func(a, b *opponent) int { return a.id.Member - b.id.Member })
	p.members = members
	// After a crash the same interval may end twice.
	p.past = slices.DeleteFunc(p.past, func(o *opponent) bool { return o.id == self.id })
	self.rating = p.rating
	p.past = append(p.past, self)
	for len(p.past) > p.cfg.PastSelves {
		p.past = slices.Delete(p.past, crowded(p.past), crowded(p.past)+1)
	}
	for _, o := range p.opponents() {
		o.recent = tally{}
	}
}

// crowded returns the index of the past self whose neighbours in age are nearest to each other. Of several it returns
// the oldest. It never returns the first or the last.
func crowded(past []*opponent) int {
	best := 1
	gap := func(i int) int64 { return past[i+1].id.Interval - past[i-1].id.Interval }
	for i := 2; i+1 < len(past); i++ {
		if gap(i) < gap(best) {
			best = i
		}
	}
	return best
}
