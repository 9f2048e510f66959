package classic

import (
	"maps"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// All 255,168 games end as they must: 131,184 are won by the first seat, 77,904 by the second, and 46,080 are drawn.
// They pass through 5,478 boards, which each seat sees from its own side.
func TestTicTacToeAllGames(t *testing.T) {
	type result struct {
		figure string
		reward float32 // of the first seat
	}
	results, boards := map[result]int{}, map[[fields]int8]bool{}
	var play func(g TicTacToe, out envs.Row)
	play = func(g TicTacToe, out envs.Row) {
		boards[g.board] = true
		mask := slices.Clone(out.ActionMask)
		turn := slices.Index(out.Seats.Active, true)
		must.Not(t, turn != g.marks%2 || slices.Contains(mask[(1-turn)*fields:(2-turn)*fields], 0),
			"after %d marks seat %d acts, and the mask is %v", g.marks, turn, mask)
		own, other := out.Observation[:2*fields], out.Observation[2*fields:]
		must.Not(t, !slices.Equal(own[:fields], other[fields:]) || !slices.Equal(own[fields:], other[:fields]),
			"seats see %v and %v", own, other)
		for field := range fields {
			if mask[turn*fields+field] != 1 {
				continue
			}
			next, action := g, []float32{0, 0}
			action[turn] = float32(field)
			reward, ended := advance(t, &next, out, action...)
			must.Is(t, reward, 0, "reward")
			s := out.Seats
			must.Is(t, s.Rewards[0], -s.Rewards[1], "rewards")
			must.Same(t, s.Terminated, []bool{ended, ended}, "terminated")
			if ended {
				boards[next.board] = true
				for name, x := range next.EpisodeMetrics() {
					results[result{name, s.Rewards[0]}] += int(x)
				}
			} else {
				play(next, out)
			}
		}
	}
	out := rowOf(&TicTacToe{})
	g := TicTacToe{}
	must.Do(t, g.Reset(nil, out))
	play(g, out)
	maps.DeleteFunc(results, func(_ result, games int) bool { return games == 0 })
	want := map[result]int{{"won/player_0", 1}: 131184, {"won/player_1", -1}: 77904, {"draw", 0}: 46080}
	if !maps.Equal(results, want) || len(boards) != 5478 {
		t.Errorf("results %v over %d boards, want %v over 5478", results, len(boards), want)
	}
}

// A batch keeps to the contract. Forbidden fields and boards that cannot be are refused.
func TestTicTacToe(t *testing.T) {
	create := func(seed int64, workers int) (envs.Env, error) {
		return NewTicTacToe(Config{NumEnvs: 3, Seed: seed, Workers: workers})
	}
	envtest.ConformLearning(t, create)
	must.Do(t, envs.Check(must.Open(create(1, 1))(t), 200, 1))
	g, out := &TicTacToe{}, rowOf(&TicTacToe{})
	must.Do(t, g.Reset(nil, out))
	advance(t, g, out, 4, 0)
	_, _, _, err := g.Step([]float32{0, 4}, out)
	must.Refuse(t, err, "field 4 has a mark")
	for _, board := range [][]float64{{1, 1, 1, -1, -1}, {-1}, {1, 1}, {1, -1, 2}} {
		e := statecodec.NewEncoder(ticTacToeHeader)
		e.Numbers(append(board, make([]float64, fields-len(board))...)...)
		if err := g.RestoreState(e.State()); err == nil || g.board[4] != 1 || g.marks != 1 {
			t.Errorf("board %v: %v", board, err)
		}
	}
}
