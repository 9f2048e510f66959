package selfplay

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// The expectations are from the table of FIDE's handbook (8.1.2), which rounds to two digits; the rest by hand.
func TestElo(t *testing.T) {
	e := DefaultElo()
	for difference, want := range map[float64]float64{0: 0.5, 50: 0.57, 100: 0.64, 200: 0.76, 400: 0.91} {
		must.Near(t, e.Expected(1000+difference, 1000), want, 0.0055, "%g points ahead", difference)
		must.Near(t, e.Expected(1000, 1000+difference), 1-want, 0.0055, "%g points behind", difference)
	}
	for _, c := range []struct {
		elo               Elo
		rating            float64
		opponents, scores []float64
		want              float64
	}{
		{e, 1000, []float64{1000}, []float64{1}, 1008},
		{e, 1000, []float64{1000, 1400}, []float64{1, 0}, 1000 + 16*(0.5-1.0/11)/2},
		{Elo{K: 32, Scale: 200}, 1200, []float64{1000}, []float64{1}, 1200 + 32/11.0},
		{e, 1234, nil, nil, 1234},
	} {
		must.Near(t, c.elo.After(c.rating, c.opponents, c.scores), c.want, 1e-9, "%g after %v against %v", c.rating,
			c.scores, c.opponents)
	}
}

// full returns a pool of two members and the past selves 0 (random), 1, 2 with the ratings 1000, 1000, 1400.
func full(t *testing.T, cfg Config) *Pool {
	t.Helper()
	p := newPool(cfg, (&nim{}).Spaces().Seat(0))
	snapshot := snapshotOf(t, 1)
	for i, rating := range []float64{1200, 800} {
		p.members = append(p.members, must.Get(p.freeze(ID{i + 1, 2}, false, rating, snapshot))(t))
	}
	for i, rating := range []float64{1000, 1400} {
		p.past = append(p.past, must.Get(p.freeze(ID{0, int64(i + 1)}, true, rating, snapshot))(t))
	}
	return p
}

// The shares of opponents among many draws are those computed by hand.
func TestDraws(t *testing.T) {
	e := DefaultElo()
	near := func(rating float64) float64 { x := e.Expected(1000, rating); return x * (1 - x) }
	sum := near(1200) + near(800) + near(1400)
	weak, strong, even := math.Pow(2.0/12, 2), math.Pow(11.0/12, 2), 0.25
	all := weak + strong + even
	for _, c := range []struct {
		matchmaking string
		past        float64
		want        []float64 // member 1, member 2, random, past self 1, newest self
	}{
		{Uniform, 0.2, []float64{0.8 / 3, 0.8 / 3, 0.1, 0.1, 0.8 / 3}},
		{Uniform, 0, []float64{1.0 / 3, 1.0 / 3, 0, 0, 1.0 / 3}},
		{Self, 0.2, []float64{0, 0, 0, 0, 1}},
		{PFSP, 0, []float64{weak / all, strong / all, 0, 0, even / all}},
		{Rating, 0, []float64{near(1200) / sum, near(800) / sum, 0, 0, near(1400) / sum}},
	} {
		cfg := DefaultConfig()
		cfg.Matchmaking, cfg.PastShare = c.matchmaking, c.past
		p := full(t, cfg)
		// Of 10 games 9 were won against member 1, none against member 2, and half against the newest self.
		p.members[0].all, p.members[1].all = tally{Games: 10, Wins: 9}, tally{Games: 10}
		p.past[2].all = tally{Games: 10, Wins: 4, Draws: 2}
		counts, rng := map[*opponent]float64{}, rand.New(rand.NewPCG(1, 2))
		for range 20000 {
			counts[p.draw(rng)]++
		}
		for i, o := range p.opponents() {
			must.Near(t, counts[o]/20000, c.want[i], 0.015, "%s: the share of %v", c.matchmaking, o.id)
		}
	}
}

// Of more past selves than are kept the evenly spread ones stay, with the first and the newest.
func TestPastSelves(t *testing.T) {
	cfg := DefaultConfig()
	cfg.PastSelves = 4
	p := newPool(cfg, (&nim{}).Spaces().Seat(0))
	snapshot := snapshotOf(t, 1)
	for i := range int64(12) {
		self := must.Get(p.freeze(ID{0, i + 1}, true, 0, snapshot))(t)
		p.next(nil, self, 0)
	}
	var kept []int64
	for _, o := range p.past {
		kept = append(kept, o.id.Interval)
	}
	must.Equal(t, "kept", []int64{0, 4, 7, 12}, kept)
}

// A pool that is restored is the same, its policies act alike, and a damaged state changes nothing.
func TestPoolState(t *testing.T) {
	p := full(t, DefaultConfig())
	p.record([]result{{ID{1, 2}, false, 1}, {ID{0, 1}, true, 0.5}, {ID{9, 9}, false, 1}})
	state := must.Get(p.marshal([]byte("inner")))(t)
	q := newPool(DefaultConfig(), p.seat)
	inner := must.Get(q.restore(state))(t)
	if again := must.Get(q.marshal(inner))(t); string(inner) != "inner" || string(again) != string(state) {
		t.Fatalf("a restored pool differs; the environment's state is %q", inner)
	}
	must.Equal(t, "the results", p.results(), q.results())
	if p.rating <= 1000 || p.members[0].all != (tally{Games: 1, Wins: 1}) || p.past[1].recent != (tally{1, 0, 1}) {
		t.Errorf("the table is %v, %+v and %+v", p.rating, p.members[0].all, p.past[1].recent)
	}
	for i := range 8 {
		x, actions := make([]float32, 8), [2]float32{}
		x[i] = 1
		for k, pool := range []*Pool{p, q} {
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			must.Do(t, pool.members[0].player.Act(rng, x, []float32{1, 1, 1}, nil, actions[k:k+1]))
		}
		must.Is(t, actions[1], actions[0], "what the policies do with %d stones", i)
	}
	flipped := bytes.Clone(state)
	flipped[len(state)-20] ^= 1
	for name, damaged := range map[string][]byte{
		"cut off": state[:len(state)-1], "longer": append(state[:len(state):len(state)], 0), "empty": nil,
		"other format": []byte("{\"self_play\":9}\n"), "no past": []byte("{\"self_play\":1,\"inner\":-1}\n"),
		"negative": []byte("{\"self_play\":1,\"inner\":-1,\"opponents\":[{\"past\":true,\"bytes\":-1}]}\n"),
		"flipped":  flipped,
	} {
		_, err := q.restore(damaged)
		if now := must.Get(q.marshal([]byte("inner")))(t); err == nil || string(now) != string(state) {
			t.Errorf("%s: error %v, and the pool has changed: %t", name, err, string(now) != string(state))
		}
	}
}

// Peers that give nothing keep their entry; a member never meets itself as another.
func TestMeet(t *testing.T) {
	env := newNim(t, 1, DefaultConfig(), 1)
	defer env.Close()
	s := snapshotOf(t, 1)
	for _, c := range []struct {
		interval int64
		members  []*checkpoint.Snapshot
		want     []ID
	}{
		{1, []*checkpoint.Snapshot{s, s, s}, []ID{{0, 1}, {2, 1}, randomID, {1, 1}}},
		{2, []*checkpoint.Snapshot{nil, s, s}, []ID{{0, 1}, {2, 2}, randomID, {1, 1}, {1, 2}}},
		// Decided about again after a crash.
		{2, make([]*checkpoint.Snapshot, 3), []ID{{0, 1}, {2, 2}, randomID, {1, 1}, {1, 2}}},
	} {
		must.Do(t, env.Meet(1, c.interval, c.members, s))
		var ids []ID
		for _, o := range env.Pool().opponents() {
			ids = append(ids, o.id)
		}
		must.Equal(t, "opponents", c.want, ids)
	}
}

// Episodes that other weights have begun do not count when they end, unless the state of the games comes back, too.
func TestForeignEpisodes(t *testing.T) {
	env := newNim(t, 8, DefaultConfig(), 1)
	defer env.Close()
	play := func() int {
		rng, games := rand.New(rand.NewPCG(1, 2)), 0
		for range 2 {
			actions := make([]float32, 8)
			env.Spaces().SampleActions(rng, actions, must.Get(env.Observe())(t).ActionMasks)
			games += len(must.Get(env.Step(actions))(t).Episodes)
		}
		return games
	}
	counted := func() int { return env.Pool().past[0].all.Games }
	must.Get(env.Reset(1))(t)
	before := must.Get(env.CurriculumState())(t)
	state := must.Get(env.MarshalState())(t)
	games := play()
	if games == 0 || counted() != games {
		t.Fatalf("%d of %d games were counted", counted(), games)
	}
	must.Do(t, env.SetCurriculumState(before))
	must.Do(t, env.RestoreState(state))
	if again := play(); again != games || counted() != games {
		t.Errorf("with the games' state %d of %d games were counted, want %d", counted(), again, games)
	}
	must.Do(t, env.RestoreState(state))
	must.Do(t, env.SetCurriculumState(before))
	if play(); counted() >= games {
		t.Errorf("without the games' state %d games were counted of which other weights had begun some", counted())
	}
}
