package selfplay

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/spaces"
)

func TestGameConforms(t *testing.T) {
	for _, seat := range []string{RandomSeat, SeatTurns, "second"} {
		t.Run(seat, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Seat = seat
			envtest.Conform(t, 50, func(seed int64, workers int) (envs.Env, error) {
				return NewGames(5, func(int) (envs.Single, error) { return &nim{}, nil }, cfg,
					wrappers.ParallelOptions{Seed: seed, Workers: workers})
			})
		})
	}
}

// A perfect learner wins every game that it may begin, and whatever it plays, results, rewards and figures agree.
func TestGameResults(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Seat = "first"
	env := newNim(t, 3, cfg, 1)
	defer env.Close()
	step := must.Get(env.Reset(7))(t)
	episodes, wins, rating, total := 0, 0.0, 1000.0, make([]float64, 3)
	for episodes < 100 {
		actions := make([]float32, 3)
		for i := range actions {
			must.Do(t, perfect.Act(nil, step.Observations[i*8:i*8+8], nil, nil, actions[i:i+1]))
		}
		step = must.Get(env.Step(actions))(t)
		for i, r := range step.Rewards {
			total[i] += float64(r)
		}
		for _, e := range step.Episodes {
			episodes++
			won := (total[e.Env] + 1) / 2 // 1 or 0
			total[e.Env] = 0
			wins += won
			rating += 16 * (won - DefaultElo().Expected(rating, 1000))
			want := map[string]float64{"win": won, "draw": 0, "loss": 1 - won, "win/random": won, "draw/random": 0,
				"loss/random": 1 - won, "rating": rating}
			must.Match(t, want, e.Metrics, "the figures")
		}
	}
	if wins < 90 {
		t.Errorf("perfect play won %g of %d games against the random player", wins, episodes)
	}
	must.Equal(t, "the journal's", &journal.SelfPlay{Rating: rating, Games: []journal.Games{{Opponent: -1, Past: true,
		Games: episodes, Wins: int(wins)}}}, env.Pool().results())
}

// script is a game whose steps a test writes.
type script struct {
	turns []spaces.SeatStep
	at    int
	seen  [][]float32 // the actions of every step
}

// Spaces are three seats, of which the first two are a team.
func (s *script) Spaces() spaces.Set {
	seat := spaces.Seat{Observation: spaces.NewBox(-100, 100, 1), Action: spaces.NewBox(2, 3, 1)}
	a, b, c := seat, seat, seat
	a.Name, a.Team, b.Name, b.Team, c.Name, c.Team = "a", "x", "b", "x", "c", "y"
	return spaces.NewSeats(spaces.Space{}, a, b, c)
}

func (s *script) write(out envs.Row) {
	for i := range out.Observation {
		out.Observation[i] = float32(10*s.at + i)
	}
	turn := s.turns[s.at]
	copy(out.Seats.Active, turn.Active)
	copy(out.Seats.Rewards, turn.Rewards)
	copy(out.Seats.Terminated, turn.Terminated)
	copy(out.Seats.Truncated, turn.Truncated)
}

func (s *script) Reset(_ *rand.Rand, out envs.Row) error {
	s.at = 0
	s.write(out)
	return nil
}

func (s *script) Step(action []float32, out envs.Row) (float64, bool, bool, error) {
	s.seen = append(s.seen, slices.Clone(action))
	s.at++
	s.write(out)
	end := s.at == len(s.turns)-1
	return 0, end && out.Seats.Terminated[2], end && !out.Seats.Terminated[2], nil
}

func (s *script) Close() error { return nil }

func turn(active string, rewards []float32, terminated, truncated string) spaces.SeatStep {
	flags := func(names string) []bool {
		return []bool{strings.Contains(names, "a"), strings.Contains(names, "b"), strings.Contains(names, "c")}
	}
	return spaces.SeatStep{Active: flags(active), Rewards: rewards, Terminated: flags(terminated),
		Truncated: flags(truncated)}
}

// Rewards that reach the learner while it waits belong to its last action. A learner that is out ends when the game
// does, with its own last observation, and its results are compared over the whole game. Others of its team are no
// opponents. Seats that wait get a valid action.
func TestGameWaitsAndOut(t *testing.T) {
	g := &script{turns: []spaces.SeatStep{
		turn("b", make([]float32, 3), "", ""),
		turn("ac", []float32{5, 0, 0}, "", ""), // before the learner's first turn: no row has it
		turn("c", []float32{1, 0, 0}, "", ""),
		turn("b", []float32{2, 0, 0}, "", ""),
		turn("a", []float32{4, 0, 0}, "", ""),
		turn("b", []float32{-1, 0, 0}, "a", ""), // the learner is out
		turn("c", []float32{0, 0, 3}, "b", ""),
		turn("", []float32{0, 0, 9}, "", "c"),
	}}
	cfg := DefaultConfig()
	cfg.Seat = "a"
	env := must.Open(NewGames(1, func(int) (envs.Single, error) { return g, nil }, cfg, wrappers.ParallelOptions{}))(t)
	step, err := env.Reset(1)
	if err != nil || step.Observations[0] != 10 {
		t.Fatalf("the first row is %v (%v), want that of the learner's first turn, 10", step.Observations, err)
	}
	step, err = env.Step([]float32{2.5})
	if err != nil || step.Rewards[0] != 7 || step.Ended(0) || step.Observations[0] != 40 {
		t.Fatalf("the first step is %+v (%v), want the reward 1+2+4 and the observation 40", step, err)
	}
	step, err = env.Step([]float32{2.5})
	if err != nil || step.Rewards[0] != -1 || !step.Terminated[0] || step.Truncated[0] ||
		step.FinalObservations[0] != 50 {
		t.Fatalf("the last step is %+v (%v), want -1, terminated, and the final observation 50", step, err)
	}
	// The learner's return in the whole game is 11, that of c is 12.
	must.Equal(t, "the results", []journal.Games{{Opponent: -1, Past: true, Games: 1}}, env.Pool().results().Games)
	if w := g.seen[0]; w[0] != 2 || w[2] != 2 {
		t.Errorf("seats that wait got %v, want the limit nearest to 0", w)
	}
}

// A return that is NaN is an error and no loss.
func TestGameNaN(t *testing.T) {
	g := &script{turns: []spaces.SeatStep{turn("a", make([]float32, 3), "", ""),
		turn("", []float32{0, 0, float32(math.NaN())}, "", "c")}}
	cfg := DefaultConfig()
	cfg.Seat = "a"
	env := must.Open(NewGames(1, func(int) (envs.Single, error) { return g, nil }, cfg, wrappers.ParallelOptions{}))(t)
	must.Get(env.Reset(1))(t)
	must.Refused(env.Step([]float32{2.5}))(t, "the return of seat c is NaN")
}

func TestGameRefuses(t *testing.T) {
	single := must.Open(wrappers.NewParallel(1, func(int) (envs.Single, error) { return &nim{}, nil },
		wrappers.ParallelOptions{}))(t)
	game := newNim(t, 1, DefaultConfig(), 0)
	for _, c := range []struct {
		env    envs.Env
		change func(c *Config)
		want   string
	}{
		{single, func(c *Config) { c.Seat = "third" }, "random, turns, or one of the seats: first, second"},
		{single, func(c *Config) { c.Matchmaking = "best" }, `"matchmaking" is "best": want one of "uniform", "pfsp"`},
		{must.Get(wrappers.NewEpisodeStatistics(game))(t), func(*Config) {}, "in a *wrappers.Parallel"},
		{game.Unwrap(), func(*Config) {}, "no seats to play against each other"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		must.Refused(Wrap(c.env, cfg))(t, c.want)
	}
}
