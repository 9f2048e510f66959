package selfplay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Game turns a game with seats into an environment of one agent, the learner. Other policies play the other seats. A
// step of Game is one turn of the learner, and the turns of the other seats until the learner's next turn or the end of
// the game. The reward of a step is the sum of the learner's rewards in that time. So every row is a transition, and no
// row waits. If the learner is out, the others play to the end of the game within the same step.
//
// The spaces are those of the learner's seat, with the state space that all seats share. An episode's figures are those
// of the game, "win", "draw" and "loss", and the same by kind of opponent ("win/member_2", "win/past", "win/random").
// The seat with the larger return wins. Seats of the learner's team are not opponents. [NewGames] makes a batch.
type Game struct {
	single envs.Single
	pool   *Pool
	set    spaces.Set // of the game
	own    []int      // the seats that the learner may play
	joint  envs.Row   // what the game wrote last, for all seats
	action []float32  // the actions of all seats
	rng    *rand.Rand // the generator of the last Reset
	turn   int        // the index in own of the last episode's seat, for SeatTurns

	seat    int // the learner's seat
	players []place
	// foreign is true if the learner got other weights during the episode. The result then does not count.
	foreign bool
	// terminated and truncated are set when the learner's seat has ended. last is its last observation.
	terminated, truncated bool
	last                  []float32
	results               []result // the results of the last finished episode
	figures               map[string]float64
}

// place is who plays a seat in an episode.
type place struct {
	*opponent           // nil for the learner
	rival     bool      // not of the learner's team
	hidden    []float32 // the player's recurrent state
	total     float64   // the return so far
}

// result is the result of an episode against one opponent. score is 1 for a win, ½ for a draw, 0 for a loss.
type result struct {
	opponent ID
	past     bool
	score    float64
}

// Limits of what a game may do without the learner.
const (
	maxEmpty = 100     // games in a row that end before the learner's first turn
	maxWaits = 1 << 20 // turns of others in a row
)

// newGame returns a Game around single. The pool's spaces must be those of a seat of single.
func newGame(single envs.Single, pool *Pool, own []int) *Game {
	set := single.Spaces()
	return &Game{single: single, pool: pool, set: set, own: own, turn: -1, action: set.Action.Rows(1),
		last: pool.seat.Observation.Rows(1), players: make([]place, len(set.Seats)), figures: map[string]float64{},
		joint: envs.Row{Observation: set.Observation.Rows(1), State: set.State.Rows(1),
			ActionMask: set.ActionMask.Rows(1), Seats: set.MakeSeatStep(1)}}
}

// Spaces returns the spaces of the learner's seat.
func (g *Game) Spaces() spaces.Set { return g.pool.seat }

// Unwrap returns the game inside, see [envs.SingleAs].
func (g *Game) Unwrap() envs.Single { return g.single }

// Close closes the game inside.
func (g *Game) Close() error { return g.single.Close() }

// Reset draws the learner's seat and its opponents, starts a game, and plays it to the learner's first turn.
func (g *Game) Reset(rng *rand.Rand, out envs.Row) error {
	g.rng, g.foreign = rng, false
	for range maxEmpty {
		g.draw(rng)
		if err := g.single.Reset(rng, g.joint); err != nil {
			return err
		}
		if !g.joint.Seats.Active[g.seat] {
			if _, over, err := g.play(nil); err != nil {
				return err
			} else if over {
				continue
			}
		}
		g.show(out, g.observation(g.seat))
		return nil
	}
	return fmt.Errorf("selfplay: %d games in a row ended before the turn of seat %s", maxEmpty,
		g.set.Seats[g.seat].Name)
}

// draw chooses the learner's seat, and the players of the other seats.
func (g *Game) draw(rng *rand.Rand) {
	switch {
	case len(g.own) == 1:
		g.seat = g.own[0]
	case g.pool.cfg.Seat == SeatTurns:
		g.turn = (g.turn + 1 + len(g.own)) % len(g.own)
		g.seat = g.own[g.turn]
	default:
		g.seat = g.own[rng.IntN(len(g.own))]
	}
	var same *opponent
	team := g.set.Seats[g.seat].Team
	for i := range g.players {
		p := place{rival: team == "" || g.set.Seats[i].Team != team}
		switch {
		case i == g.seat:
		case !p.rival:
			p.opponent = g.pool.mate()
		case same != nil && !g.pool.cfg.Mix:
			p.opponent = same
		default:
			p.opponent = g.pool.draw(rng)
			same = p.opponent
		}
		if p.opponent != nil {
			p.hidden = make([]float32, p.player.HiddenSize())
		}
		g.players[i] = p
	}
	g.terminated, g.truncated = false, false
}

// Step plays the learner's turn and then the others' until the learner's next turn.
func (g *Game) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	if g.rng == nil {
		return 0, false, false, errors.New("selfplay: call Reset before Step")
	}
	reward, over, err := g.play(action)
	if err != nil {
		return 0, false, false, err
	}
	if !over {
		g.show(out, g.observation(g.seat))
		return reward, false, false, nil
	}
	g.finish()
	g.show(out, g.last)
	return reward, g.terminated, g.truncated, nil
}

// play steps the game until the learner's turn, or until the game is over. action is the learner's action, or nil if it
// is not the learner's turn.
func (g *Game) play(action []float32) (reward float64, over bool, err error) {
	for range maxWaits {
		if err := g.act(action); err != nil {
			return 0, false, err
		}
		_, terminated, truncated, err := g.single.Step(g.action, g.joint)
		if err != nil {
			return 0, false, err
		}
		s := g.joint.Seats
		if !g.ended() {
			reward += float64(s.Rewards[g.seat])
			over = terminated || truncated
			if s.Terminated[g.seat] || s.Truncated[g.seat] || over {
				g.terminated = s.Terminated[g.seat] || terminated
				g.truncated = !g.terminated
				copy(g.last, g.observation(g.seat))
			}
		}
		for i := range g.players {
			if g.players[i].total += float64(s.Rewards[i]); math.IsNaN(g.players[i].total) {
				return 0, false, fmt.Errorf("selfplay: the return of seat %s is NaN; a game must give finite rewards",
					g.set.Seats[i].Name)
			}
		}
		if terminated || truncated {
			return reward, true, nil
		}
		if s.Active[g.seat] && !g.ended() {
			return reward, false, nil
		}
		action = nil
	}
	return 0, false, fmt.Errorf("selfplay: seat %s had no turn in %d turns of others, and the game did not end",
		g.set.Seats[g.seat].Name, maxWaits)
}

// ended reports whether the learner's seat has ended.
func (g *Game) ended() bool { return g.terminated || g.truncated }

// act writes the actions of all seats: the learner's, those of the players that are active, and 0 for other seats.
func (g *Game) act(action []float32) error {
	w, k := g.pool.seat.Action.Width(), g.pool.seat.ActionMask.Width()
	for i := range g.players {
		p, row := &g.players[i], g.action[i*w:(i+1)*w]
		switch {
		case i == g.seat && action != nil:
			copy(row, action)
		case i == g.seat || !g.joint.Seats.Active[i]:
			idle(g.pool.seat.Action, row)
		default:
			mask := g.joint.ActionMask[i*k : (i+1)*k]
			err := p.player.Act(g.rng, g.observation(i), mask, p.hidden, row)
			if err == nil {
				err = g.pool.seat.Action.Check(row, 1)
			}
			if err == nil {
				err = g.pool.seat.CheckAllowed(row, mask)
			}
			if err != nil {
				return fmt.Errorf("selfplay: %v as seat %s: %w", p.id, g.set.Seats[i].Name, err)
			}
		}
	}
	return nil
}

// idle writes a valid action that has no effect: 0, or the limit that is nearest to it.
func idle(space spaces.Space, row []float32) {
	for i := range row {
		row[i] = 0
		if space.Kind == spaces.Box && i < len(space.Low) {
			row[i] = min(max(0, space.Low[i]), space.High[i])
		}
	}
}

// observation returns the observation of a seat. It shares the memory of joint.
func (g *Game) observation(seat int) []float32 {
	w := g.pool.seat.Observation.Width()
	return g.joint.Observation[seat*w : (seat+1)*w]
}

// show writes the learner's row, with the given observation.
func (g *Game) show(out envs.Row, observation []float32) {
	k := len(out.ActionMask)
	copy(out.Observation, observation)
	copy(out.State, g.joint.State)
	copy(out.ActionMask, g.joint.ActionMask[g.seat*k:])
}

// finish computes the results and figures of an episode that has ended.
func (g *Game) finish() {
	g.results = g.results[:0]
	clear(g.figures)
	own := g.players[g.seat].total
	for _, p := range g.players {
		if p.opponent == nil || !p.rival {
			continue
		}
		score := (1 + float64(cmp.Compare(own, p.total))) / 2 // 1, ½ or 0
		g.results = append(g.results, result{opponent: p.id, past: p.past, score: score})
	}
	outcomes := map[float64]string{1: "win", 0.5: "draw", 0: "loss"}
	counts := map[string]float64{}
	for _, r := range g.results {
		for _, against := range []string{"", "/" + r.kind()} {
			counts[against]++
			g.figures[outcomes[r.score]+against]++
		}
	}
	for against, n := range counts {
		for _, name := range outcomes {
			g.figures[name+against] /= n
		}
	}
	if g.foreign {
		g.results = g.results[:0]
	}
}

// kind names the opponent in figures.
func (r result) kind() string {
	switch {
	case r.opponent == randomID:
		return "random"
	case r.past:
		return "past"
	}
	return fmt.Sprintf("member_%d", r.opponent.Member)
}

// EpisodeMetrics returns the game's own figures and those of the result.
func (g *Game) EpisodeMetrics() map[string]float64 {
	if m, ok := envs.SingleAs[envs.Metered](g.single); ok {
		for name, x := range m.EpisodeMetrics() {
			if _, taken := g.figures[name]; !taken {
				g.figures[name] = x
			}
		}
	}
	return g.figures
}
