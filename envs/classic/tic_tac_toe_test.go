package classic

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tictactoe"
)

// All 255,168 games end as they must: 131,184 are won by the first seat, 77,904 by the second, and 46,080 are drawn.
// They pass through 5,478 boards.
func TestTicTacToeAllGames(t *testing.T) {
	results, boards := map[float32]int{}, map[[fields]int8]bool{}
	var play func(g TicTacToe, out envs.Row)
	play = func(g TicTacToe, out envs.Row) {
		boards[g.board] = true
		mask := slices.Clone(out.ActionMask)
		turn := slices.Index(out.Seats.Active, true)
		must.Not(t, turn != g.marks%2 || slices.Contains(mask[(1-turn)*fields:(2-turn)*fields], 0),
			"after %d marks seat %d acts, and the mask is %v", g.marks, turn, mask)
		for field := range fields {
			if mask[turn*fields+field] != 1 {
				continue
			}
			next, action := g, []float32{0, 0}
			action[turn] = float32(field)
			reward, ended, truncated, err := next.Step(action, out)
			must.Not(t, err != nil || reward != 0 || truncated, "%v, %v, %v", reward, truncated, err)
			s := out.Seats
			must.Not(t, s.Rewards[0] != -s.Rewards[1] || s.Terminated[0] != ended || s.Terminated[1] != ended,
				"seats %+v", s)
			if ended {
				boards[next.board] = true
				results[s.Rewards[0]]++
			} else {
				play(next, out)
			}
		}
	}
	out := rowOf(&TicTacToe{})
	g := TicTacToe{}
	must.Do(t, g.Reset(nil, out))
	play(g, out)
	if want := map[float32]int{1: 131184, -1: 77904, 0: 46080}; !maps.Equal(results, want) || len(boards) != 5478 {
		t.Errorf("results %v over %d boards, want %v over 5478", results, len(boards), want)
	}
}

// Both seats see the board from their own side. The perfect player never loses to a random one, and draws itself.
func TestTicTacToePlayers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	type player = func(observation []float32, rng *rand.Rand) float32
	match := func(games int, players [2]player) map[string]float64 {
		sum := map[string]float64{}
		for range games {
			g, out := &TicTacToe{}, rowOf(&TicTacToe{})
			must.Do(t, g.Reset(rng, out))
			for ended := false; !ended; {
				turn, action := slices.Index(out.Seats.Active, true), []float32{0, 0}
				own, other := out.Observation[turn*18:turn*18+18], out.Observation[18-turn*18:36-turn*18]
				must.Not(t, !slices.Equal(own[:9], other[9:]) || !slices.Equal(own[9:], other[:9]),
					"seats see %v and %v", own, other)
				action[turn] = players[turn](own, rng)
				var err error
				if _, ended, _, err = g.Step(action, out); err != nil {
					t.Fatal(err)
				}
			}
			for name, x := range g.EpisodeMetrics() {
				sum[name] += x
			}
		}
		return sum
	}
	if r := match(300, [2]player{tictactoe.Perfect, tictactoe.Perfect}); r["draw"] != 300 {
		t.Errorf("perfect players: %v", r)
	}
	if r := match(300, [2]player{tictactoe.Perfect, tictactoe.Random}); r["won/player_1"] != 0 ||
		r["won/player_0"] < 240 {
		t.Errorf("the perfect player begins against a random one: %v", r)
	}
	if r := match(300, [2]player{tictactoe.Random, tictactoe.Perfect}); r["won/player_0"] != 0 ||
		r["won/player_1"] < 150 {
		t.Errorf("a random player begins against the perfect one: %v", r)
	}
}

// A batch keeps to the contract. Forbidden fields and boards that cannot be are refused.
func TestTicTacToe(t *testing.T) {
	create := func(seed int64, workers int) (envs.Env, error) {
		return NewTicTacToe(Config{NumEnvs: 3, Seed: seed, Workers: workers})
	}
	envtest.ConformLearning(t, create)
	env := must.Open(create(1, 1))(t)
	must.Do(t, envs.Check(env, 200, 1))
	g, out := &TicTacToe{}, rowOf(&TicTacToe{})
	must.Do(t, g.Reset(nil, out))
	if _, _, _, err := g.Step([]float32{4, 0}, out); err != nil {
		t.Fatal(err)
	}
	_, _, _, err := g.Step([]float32{0, 4}, out)
	must.Refuse(t, err, "field 4 has a mark")
	for _, board := range [][]float64{{1, 1, 1, -1, -1}, {-1}, {1, 1}, {1, -1, 2}} {
		state, _ := marshal(ticTacToeHeader, append(board, make([]float64, fields-len(board))...)...)
		if err := g.RestoreState(state); err == nil || g.board[4] != 1 || g.marks != 1 {
			t.Errorf("board %v: %v", board, err)
		}
	}
}
