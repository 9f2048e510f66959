package selfplay

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
)

// Match plays games of player a against player b. It returns how many games a won and how many were drawn. a plays a
// different seat in every game, one after the other, and b plays all other seats. The larger return wins.
func Match(game envs.Single, a, b Player, games int, rng *rand.Rand) (wins, draws int, err error) {
	cfg := DefaultConfig()
	cfg.Seat = SeatTurns
	own, err := cfg.seatsFor(game.Spaces())
	if err != nil {
		return 0, 0, err
	}
	pool := newPool(cfg, game.Spaces().Seat(own[0]))
	pool.past[0].player = b
	g := newGame(game, pool, own)
	out := envs.Row{Observation: pool.seat.Observation.Rows(1), State: pool.seat.State.Rows(1),
		ActionMask: pool.seat.ActionMask.Rows(1)}
	action := pool.seat.Action.Rows(1)
	var total tally
	for range games {
		if err := g.Reset(rng, out); err != nil {
			return 0, 0, err
		}
		hidden := make([]float32, a.HiddenSize())
		for over := false; !over; {
			if err := a.Act(rng, out.Observation, out.ActionMask, hidden, action); err != nil {
				return 0, 0, fmt.Errorf("selfplay: seat %s: %w", g.set.Seats[g.seat].Name, err)
			}
			_, terminated, truncated, err := g.Step(action, out)
			if err != nil {
				return 0, 0, err
			}
			over = terminated || truncated
		}
		score := 0.0
		for _, r := range g.results {
			score += r.score / float64(len(g.results))
		}
		total.add(score)
	}
	return total.Wins, total.Draws, nil
}
