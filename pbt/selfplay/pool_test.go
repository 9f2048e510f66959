package selfplay

import (
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
		if got := e.Expected(1000+difference, 1000); math.Abs(got-want) > 0.0055 {
			t.Errorf("%g points ahead: %.4f, want %.2f", difference, got, want)
		}
		if sum := e.Expected(1000+difference, 1000) + e.Expected(1000, 1000+difference); math.Abs(sum-1) > 1e-12 {
			t.Errorf("the two expectations add up to %g", sum)
		}
	}
	for _, c := range []struct {
		elo               Elo
		rating            float64
		opponents, scores []float64
		want              float64
	}{
		{e, 1000, []float64{1000}, []float64{1}, 1008},
		{e, 1000, []float64{1000}, []float64{0.5}, 1000},
		{e, 1000, []float64{1400}, []float64{0.5}, 1000 + 16*(0.5-1.0/11)},
		{e, 1400, []float64{1000}, []float64{0}, 1400 - 16*10.0/11},
		{e, 1000, []float64{1000, 1400}, []float64{1, 0}, 1000 + 16*(0.5-1.0/11)/2},
		{Elo{K: 32, Scale: 200}, 1200, []float64{1000}, []float64{1}, 1200 + 32/11.0},
		{e, 1234, nil, nil, 1234},
	} {
		if got := c.elo.After(c.rating, c.opponents, c.scores); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%g after %v against %v is %.6f, want %.6f", c.rating, c.scores, c.opponents, got, c.want)
		}
	}
}

// full returns a pool of two members and the past selves 0 (random), 1, 2 with the ratings 1000, 1000, 1400.
func full(t *testing.T, cfg Config) *Pool {
	t.Helper()
	p := newPool(cfg, (&nim{}).Spaces().Seat(0))
	snapshot := snapshotOf(t, 1)
	for i, rating := range []float64{1200, 800} {
		o := must.Get(p.freeze(ID{i + 1, 2}, false, rating, snapshot))(t)
		p.members = append(p.members, o)
	}
	for i, rating := range []float64{1000, 1400} {
		o := must.Get(p.freeze(ID{0, int64(i + 1)}, true, rating, snapshot))(t)
		p.past = append(p.past, o)
	}
	return p
}

// The shares of opponents among many draws are those computed by hand.
func TestDraws(t *testing.T) {
	won := func(p *Pool) { // of 10 games: 9 against member 1, none against member 2, 5 against the newest self
		for i, wins := range []int{9, 0} {
			p.members[i].all = tally{Games: 10, Wins: wins}
		}
		p.past[2].all = tally{Games: 10, Wins: 4, Draws: 2}
	}
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
		won(p)
		const n = 20000
		counts := map[*opponent]float64{}
		rng := rand.New(rand.NewPCG(1, 2))
		for range n {
			counts[p.draw(rng)]++
		}
		for i, o := range p.opponents() {
			if got := counts[o] / n; math.Abs(got-c.want[i]) > 0.015 {
				t.Errorf("%s: %v has the share %.3f, want %.3f", c.matchmaking, o.id, got, c.want[i])
			}
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
	inner, err := q.restore(state)
	if err != nil || string(inner) != "inner" {
		t.Fatal(string(inner), err)
	}
	again, err := q.marshal(inner)
	if err != nil || string(again) != string(state) {
		t.Fatalf("a restored pool differs (%v)", err)
	}
	must.Equal(t, "q.results()", p.results(), q.results())
	if p.rating <= 1000 || p.members[0].all != (tally{Games: 1, Wins: 1}) || p.past[1].recent != (tally{1, 0, 1}) {
		t.Errorf("the table is %v, %+v and %+v", p.rating, p.members[0].all, p.past[1].recent)
	}
	a, b := [1]float32{}, [1]float32{}
	for i := range 8 {
		x := make([]float32, 8)
		x[i] = 1
		for _, o := range []struct {
			player Player
			out    []float32
		}{{p.members[0].player, a[:]}, {q.members[0].player, b[:]}} {
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			must.Do(t, o.player.Act(rng, x, []float32{1, 1, 1}, nil, o.out))
		}
		if a != b {
			t.Errorf("in %v the policies do %v and %v", x, a, b)
		}
	}
	for name, damaged := range map[string][]byte{
		"cut off": state[:len(state)-1], "longer": append(state[:len(state):len(state)], 0), "empty": nil,
		"no line": []byte("{}"), "other format": []byte("{\"self_play\":9}\n"),
		"no past":  []byte("{\"self_play\":1,\"inner\":-1}\n"),
		"negative": []byte("{\"self_play\":1,\"inner\":-1,\"opponents\":[{\"past\":true,\"bytes\":-1}]}\n"),
		"flipped":  func() []byte { c := append([]byte{}, state...); c[len(c)-20] ^= 1; return c }(),
	} {
		if _, err := q.restore(damaged); err == nil {
			t.Errorf("%s: no error", name)
		}
		if now, err := q.marshal([]byte("inner")); err != nil || string(now) != string(state) {
			t.Errorf("%s: the pool has changed (%v)", name, err)
		}
	}
}

// Peers that give nothing keep their entry; a member never meets itself as another.
func TestMeet(t *testing.T) {
	env := newNim(t, 1, DefaultConfig(), 1)
	defer env.Close()
	s := snapshotOf(t, 1)
	ids := func() (ids []ID) {
		for _, o := range env.Pool().opponents() {
			ids = append(ids, o.id)
		}
		return ids
	}
	meet := func(interval int64, members ...*checkpoint.Snapshot) {
		t.Helper()
		must.Do(t, env.Meet(1, interval, members, s))
	}
	meet(1, s, s, s)
	must.Equal(t, "ids()", []ID{{0, 1}, {2, 1}, randomID, {1, 1}}, ids())
	meet(2, nil, s, s)
	must.Equal(t, "ids()", []ID{{0, 1}, {2, 2}, randomID, {1, 1}, {1, 2}}, ids())
	meet(2, nil, nil, nil) // decided about again after a crash
	must.Equal(t, "ids()", []ID{{0, 1}, {2, 2}, randomID, {1, 1}, {1, 2}}, ids())
	if err := env.Meet(1, 3, []*checkpoint.Snapshot{checkpoint.NewSnapshot()}, s); err == nil {
		t.Error("a snapshot without a pool was taken")
	}
}

// Episodes that other weights have begun do not count when they end, unless the state of the games comes back, too.
func TestForeignEpisodes(t *testing.T) {
	env := newNim(t, 8, DefaultConfig(), 1)
	defer env.Close()
	play := func() int {
		t.Helper()
		rng, games := rand.New(rand.NewPCG(1, 2)), 0
		for range 2 {
			step, err := env.Observe()
			must.Do(t, err)
			actions := make([]float32, 8)
			env.Spaces().SampleActions(rng, actions, step.ActionMasks)
			if step, err = env.Step(actions); err != nil {
				t.Fatal(err)
			}
			games += len(step.Episodes)
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
