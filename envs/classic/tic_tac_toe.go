package classic

import (
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/spaces"
)

// TicTacToe is the game of three in a row on nine fields. Two seats take turns: player_0 begins, player_1 follows. A
// step is one turn. Nothing is random.
//
// Both seats have the same spaces. Observation (18): for each field, row by row from the top, 1 if the seat has a mark
// there, then the same for the other seat's marks. Actions: a field (0 to 8) that the action mask allows, because it
// is empty. A win gives 1 to the winner and -1 to the other seat, a draw 0. The figures of an episode are "draw",
// "won/player_0" and "won/player_1", each 0 or 1. Make a batch with [NewTicTacToe].
type TicTacToe struct {
	// board has 1 for a mark of player_0, -1 for one of player_1 and 0 for an empty field, row by row from the top.
	board [fields]int8
	// marks is the number of marks on the board. Seat marks%2 is next.
	marks int
}

// fields is the number of fields of [TicTacToe].
const fields = 9

// ticTacToeHeader begins a saved state. Its number changes with the format.
const ticTacToeHeader = "gorl tic-tac-toe 1"

// NewTicTacToe returns a batch of [TicTacToe] games. A game has at most 9 steps, so there is no time limit unless cfg
// sets one.
func NewTicTacToe(cfg Config) (envs.Env, error) {
	return vectorize("TicTacToe", cfg, -1, func() envs.Single { return &TicTacToe{} })
}

// Spaces are two seats with Box(18) of observations, Discrete(9) of actions, and their masks.
func (g *TicTacToe) Spaces() spaces.Set {
	action := spaces.NewDiscrete(fields)
	return twoPlayers(spaces.Seat{Observation: spaces.NewBox(0, 1, 2*fields), Action: action,
		ActionMask: spaces.NewActionMask(action)})
}

// Reset empties the board.
func (g *TicTacToe) Reset(_ *rand.Rand, out envs.Row) error {
	g.board, g.marks = [fields]int8{}, 0
	g.show(out)
	return nil
}

// show writes the observations and masks of both seats, and which seat is next.
func (g *TicTacToe) show(out envs.Row) {
	next := g.marks % 2
	for i, mark := range g.board {
		first, second := float32(max(mark, 0)), float32(max(-mark, 0))
		out.Observation[i], out.Observation[fields+i] = first, second
		out.Observation[2*fields+i], out.Observation[3*fields+i] = second, first
		out.ActionMask[next*fields+i] = 1 - first - second
		out.ActionMask[(1-next)*fields+i] = 1
	}
	out.Seats.Active[next], out.Seats.Active[1-next] = true, false
}

// Step puts a mark of the seat that is next into the field of its action.
func (g *TicTacToe) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	seat := g.marks % 2
	field, err := discrete(action[seat:seat+1], fields)
	if err != nil {
		return 0, false, false, err
	}
	if g.board[field] != 0 {
		return 0, false, false, fmt.Errorf("classic: field %d has a mark; the action mask forbids it", field)
	}
	g.board[field] = int8(1 - 2*seat)
	g.marks++
	winner := g.winner()
	ends := winner != 0 || g.marks == fields
	decide(out.Seats, winner, ends)
	g.show(out)
	if ends {
		// A mask must allow a choice, and a full board has none: the masks of a finished game allow everything.
		for i := range out.ActionMask {
			out.ActionMask[i] = 1
		}
	}
	return 0, ends, false, nil
}

// winner returns 1 if player_0 has three in a row, -1 if player_1 has, and otherwise 0.
func (g *TicTacToe) winner() int8 {
	for _, line := range [...][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8},
		{2, 4, 6}} {
		if sum := g.board[line[0]] + g.board[line[1]] + g.board[line[2]]; sum == 3 || sum == -3 {
			return sum / 3
		}
	}
	return 0
}

// EpisodeMetrics returns who won.
func (g *TicTacToe) EpisodeMetrics() map[string]float64 { return results(g.winner()) }

// Close does nothing.
func (g *TicTacToe) Close() error { return nil }

// MarshalState returns the board.
func (g *TicTacToe) MarshalState() ([]byte, error) {
	e := statecodec.NewEncoder(ticTacToeHeader)
	for _, mark := range g.board {
		e.Float(float64(mark))
	}
	return e.State(), nil
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (g *TicTacToe) RestoreState(b []byte) error {
	d := statecodec.NewDecoder(ticTacToeHeader, b)
	saved, lead := TicTacToe{}, 0
	for i := range saved.board {
		x := d.Float()
		if x != -1 && x != 0 && x != 1 {
			d.Fail("field %d is %g; it must be -1, 0 or 1", i, x)
			break
		}
		saved.board[i] = int8(x)
		if lead += int(x); x != 0 {
			saved.marks++
		}
	}
	if lead != saved.marks%2 || saved.winner() != 0 || saved.marks == fields {
		d.Fail("no game in progress has this board")
	}
	if err := d.End(); err != nil {
		return fmt.Errorf("classic: %w", err)
	}
	*g = saved
	return nil
}

// Render draws the board, 240 × 240 pixels: crosses of player_0 are blue, rings of player_1 red.
func (g *TicTacToe) Render() (image.Image, error) {
	p := newPicture(240, 240, 80, 0, 0)
	grey, blue, red := color.RGBA{90, 90, 100, 255}, color.RGBA{40, 90, 180, 255}, color.RGBA{200, 60, 50, 255}
	for _, at := range [...]float64{1, 2} {
		p.line(at, 0.05, at, 2.95, 0.04, grey)
		p.line(0.05, at, 2.95, at, 0.04, grey)
	}
	for i, mark := range g.board {
		x, y := float64(i%3)+0.5, 2.5-float64(i/3)
		switch mark {
		case 1:
			p.line(x-0.28, y-0.28, x+0.28, y+0.28, 0.12, blue)
			p.line(x-0.28, y+0.28, x+0.28, y-0.28, 0.12, blue)
		case -1:
			p.disc(x, y, 0.33, red)
			p.disc(x, y, 0.21, color.White)
		}
	}
	return p.image, nil
}
