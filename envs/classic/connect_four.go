package classic

import (
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/spaces"
)

// The board of [ConnectFour].
const (
	boardRows, boardColumns = 6, 7
	cells                   = boardRows * boardColumns
)

// ConnectFour is the game of four in a row on six rows and seven columns, against an opponent that plays at random. A
// coin decides who begins. A full column takes no further disc: the action mask says which columns are open.
//
// Observation (84): for each cell, row by row from the bottom, 1 if the agent has a disc there, then the same for the
// opponent's discs. Actions: a column (0 to 6). A win gives 1, a loss -1, a draw 0; each ends the episode. Its figure
// "success" is 1 after a win. Without masks, a disc into a full column loses the game, and its figure "illegal" is 1.
// Make one with [NewConnectFour].
type ConnectFour struct {
	unmasked bool
	// board has 1 for a disc of the agent, -1 for one of the opponent and 0 for an empty cell, row by row from the
	// bottom.
	board [cells]int8
	// rng is the generator that the last Reset gave, from which the opponent draws.
	rng *rand.Rand
	// success and illegal are the figures of the episode.
	success, illegal float64
}

// ConnectFourConfig is how many games to make.
type ConnectFourConfig struct {
	Config
	// Unmasked leaves out the action masks. The agent may then choose a full column, which loses the game.
	Unmasked bool
}

// connectFourHeader begins a saved state. Its number changes with the format.
const connectFourHeader = "gorl connect-four 1"

// NewConnectFour returns a batch of [ConnectFour] games. A game has at most 21 actions, so there is no time limit
// unless Config sets one.
func NewConnectFour(cfg ConnectFourConfig) (envs.Env, error) {
	return vectorize("ConnectFour", cfg.Config, -1, func() envs.Single { return &ConnectFour{unmasked: cfg.Unmasked} })
}

// Spaces are Box(84) of observations, Discrete(7) of actions, and their masks.
func (c *ConnectFour) Spaces() spaces.Set {
	set := spaces.Set{Observation: spaces.NewBox(0, 1, 2*cells), Action: spaces.NewDiscrete(boardColumns)}
	if !c.unmasked {
		set.ActionMask = spaces.NewActionMask(set.Action)
	}
	return set
}

// Reset empties the board. In half of the games the opponent makes the first move.
func (c *ConnectFour) Reset(rng *rand.Rand, out envs.Row) error {
	c.board, c.rng, c.success, c.illegal = [cells]int8{}, rng, 0, 0
	if rng.IntN(2) == 0 {
		c.drop(rng.IntN(boardColumns), -1)
	}
	c.show(out)
	return nil
}

// open reports whether a column has room.
func (c *ConnectFour) open(column int) bool { return c.board[cells-boardColumns+column] == 0 }

// full reports whether no column has room.
func (c *ConnectFour) full() bool {
	return !slices.Contains(c.board[cells-boardColumns:], 0)
}

// drop puts a disc of a player into a column that has room, and reports whether it makes four in a row.
func (c *ConnectFour) drop(column int, player int8) (won bool) {
	row := 0
	for c.board[row*boardColumns+column] != 0 {
		row++
	}
	c.board[row*boardColumns+column] = player
	for _, d := range [...][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}} {
		if 1+c.run(row, column, d[0], d[1])+c.run(row, column, -d[0], -d[1]) >= 4 {
			return true
		}
	}
	return false
}

// run counts the discs of the same player that follow a cell in a direction.
func (c *ConnectFour) run(row, column, up, right int) (n int) {
	player := c.board[row*boardColumns+column]
	for {
		row, column = row+up, column+right
		if row < 0 || row >= boardRows || column < 0 || column >= boardColumns ||
			c.board[row*boardColumns+column] != player {
			return n
		}
		n++
	}
}

// show writes the observation, and the mask if there is one.
func (c *ConnectFour) show(out envs.Row) {
	for i, disc := range c.board {
		out.Observation[i], out.Observation[cells+i] = float32(max(disc, 0)), float32(max(-disc, 0))
	}
	for column := range out.ActionMask {
		out.ActionMask[column] = 0
		if c.open(column) {
			out.ActionMask[column] = 1
		}
	}
}

// Step drops the agent's disc, and then the opponent's.
func (c *ConnectFour) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	column, err := discrete(action, boardColumns)
	if err != nil {
		return 0, false, false, err
	}
	switch {
	case !c.open(column) && !c.unmasked:
		return 0, false, false, fmt.Errorf("classic: column %d is full; the action mask forbids it", column)
	case !c.open(column):
		reward, terminated, c.illegal = -1, true, 1
	case c.drop(column, 1):
		reward, terminated, c.success = 1, true, 1
	case c.full():
		terminated = true
	case c.drop(c.random(), -1):
		reward, terminated = -1, true
	default:
		terminated = c.full()
	}
	c.show(out)
	return reward, terminated, false, nil
}

// random draws an open column.
func (c *ConnectFour) random() int {
	for {
		if column := c.rng.IntN(boardColumns); c.open(column) {
			return column
		}
	}
}

// EpisodeMetrics returns "success", and without masks also "illegal".
func (c *ConnectFour) EpisodeMetrics() map[string]float64 {
	if c.unmasked {
		return map[string]float64{"success": c.success, "illegal": c.illegal}
	}
	return map[string]float64{"success": c.success}
}

// Close does nothing.
func (c *ConnectFour) Close() error { return nil }

// MarshalState returns the board and the figures.
func (c *ConnectFour) MarshalState() ([]byte, error) {
	e := statecodec.NewEncoder(connectFourHeader)
	e.Numbers(c.success, c.illegal)
	for _, disc := range c.board {
		e.Float(float64(disc))
	}
	return e.State(), nil
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (c *ConnectFour) RestoreState(b []byte) error {
	d := statecodec.NewDecoder(connectFourHeader, b)
	success, illegal := d.Float(), d.Float()
	var board [cells]int8
	for i := range board {
		x := d.Float()
		if board[i] = int8(x); x != -1 && x != 0 && x != 1 {
			d.Fail("cell %d is %g; it must be -1, 0 or 1", i, x)
		} else if i >= boardColumns && x != 0 && board[i-boardColumns] == 0 {
			d.Fail("cell %d has a disc above an empty cell", i)
		}
	}
	if err := d.End(); err != nil {
		return fmt.Errorf("classic: %w", err)
	}
	c.board, c.success, c.illegal = board, success, illegal
	return nil
}

// Render draws the board, 280 × 240 pixels: the agent's discs are yellow, the opponent's red.
func (c *ConnectFour) Render() (image.Image, error) {
	p := newPicture(280, 240, 40, -0.5, -0.5)
	p.box(-0.5, -0.5, boardColumns-0.5, boardRows-0.5, color.RGBA{40, 70, 160, 255})
	colours := map[int8]color.RGBA{0: {225, 225, 230, 255}, 1: {235, 190, 30, 255}, -1: {200, 40, 40, 255}}
	for i, disc := range c.board {
		p.disc(float64(i%boardColumns), float64(i/boardColumns), 0.42, colours[disc])
	}
	return p.image, nil
}
