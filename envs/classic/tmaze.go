package classic

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// TMaze is a corridor with a junction at its end (Bakker, "Reinforcement learning with long short-term memory",
// 2002). A sign at the start says whether to turn north or south at the junction, and nothing later shows which. An
// agent without a memory is right half of the time.
//
// Observation (3): at the start 0 1 1 (turn north) or 1 1 0 (turn south), in the corridor 1 0 1, at the junction 0 1
// 0. Actions: go north (0), east (1), south (2) or west (3). The right turn gives 4 and the wrong one -0.1; both
// terminate the episode. Walking into a wall gives -0.1, any other step 0. An episode's figure "success" is 1 if it
// ended with the right turn. Make one with [NewTMaze].
type TMaze struct {
	length int
	// position is from 0, the start, to length, the junction.
	position int
	// north is what the sign says.
	north bool
	// success is 1 after the right turn, else 0.
	success float64
}

// TMazeConfig is how many environments to make, and how long their corridors are. Config.MaxEpisodeSteps 0 truncates
// episodes after ten times as many steps as the shortest way takes. Length 0 means 10. A longer corridor takes a
// longer memory, and is harder to walk to its end by chance.
type TMazeConfig struct {
	Config `yaml:",inline"`
	// Length is the number of steps from the sign at the start to the junction.
	Length int `yaml:"length" config:"min=1,max=1048576"`
}

// tMazeHeader begins a saved state. Its number changes with the format.
const tMazeHeader = "gorl t-maze 1"

// NewTMaze returns a batch of [TMaze] environments.
func NewTMaze(cfg TMazeConfig) (envs.Env, error) {
	cfg.Length, cfg.NumEnvs = cmp.Or(cfg.Length, 10), cmp.Or(cfg.NumEnvs, 1)
	if err := config.Check(cfg, "classic: TMaze"); err != nil {
		return nil, err
	}
	return vectorize("TMaze", cfg.Config, 10*(cfg.Length+1), func() envs.Single { return &TMaze{length: cfg.Length} })
}

// Spaces are Box(3) of observations and Discrete(4) of actions.
func (m *TMaze) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.NewBox(0, 1, 3), Action: spaces.NewDiscrete(4)}
}

// Reset puts the agent at the start of a corridor with a random sign.
func (m *TMaze) Reset(rng *rand.Rand, out envs.Row) error {
	m.position, m.north, m.success = 0, rng.IntN(2) == 0, 0
	m.show(out.Observation)
	return nil
}

// show writes the observation (3).
func (m *TMaze) show(row []float32) {
	switch {
	case m.position == m.length:
		put(row, 0, 1, 0)
	case m.position > 0:
		put(row, 1, 0, 1)
	case m.north:
		put(row, 0, 1, 1)
	default:
		put(row, 1, 1, 0)
	}
}

// Step goes one step, or turns.
func (m *TMaze) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	direction, err := discrete(action, 4)
	if err != nil {
		return 0, false, false, err
	}
	const north, east, south, west = 0, 1, 2, 3
	switch {
	case m.position == m.length && (direction == north || direction == south):
		reward, terminated = -0.1, true
		if m.north == (direction == north) {
			reward, m.success = 4, 1
		}
	case direction == east && m.position < m.length:
		m.position++
	case direction == west && m.position > 0:
		m.position--
	default:
		reward = -0.1
	}
	m.show(out.Observation)
	return reward, terminated, false, nil
}

// EpisodeMetrics returns "success".
func (m *TMaze) EpisodeMetrics() map[string]float64 {
	return map[string]float64{"success": m.success}
}

// Close does nothing.
func (m *TMaze) Close() error { return nil }

// MarshalState returns the position, the sign and whether the turn was right.
func (m *TMaze) MarshalState() ([]byte, error) {
	north := 0.0
	if m.north {
		north = 1
	}
	position := float64(m.position)
	return marshal(tMazeHeader, &position, &north, &m.success)
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing. The corridor must be long enough.
func (m *TMaze) RestoreState(b []byte) error {
	var position, north, success float64
	if err := restore(tMazeHeader, b, &position, &north, &success); err != nil {
		return err
	}
	if p := int(position); position != float64(p) || p < 0 || p > m.length || north != 0 && north != 1 ||
		success != 0 && success != 1 {
		return fmt.Errorf("classic: not a valid gorl t-maze: position %g of %d, sign %g, success %g", position,
			m.length, north, success)
	}
	m.position, m.north, m.success = int(position), north == 1, success
	return nil
}

// Render draws the corridor, the junction, the sign and the agent, 300 × 80 pixels.
func (m *TMaze) Render() (image.Image, error) {
	n := float64(m.length)
	p := newPicture(300, 80, 280/(n+1), -0.5-(n+1)/28, -40*(n+1)/280)
	grey, wide := color.RGBA{225, 225, 230, 255}, 0.5*min(1, (n+1)/8)
	p.box(-0.5, -wide, n+0.5, wide, grey)
	p.box(n-0.5, -3*wide, n+0.5, 3*wide, grey)
	side := wide * 2
	if !m.north {
		side = -side
	}
	p.disc(0, side, wide/2, color.RGBA{200, 160, 0, 255})
	p.disc(float64(m.position), 0, wide/2, color.RGBA{40, 70, 160, 255})
	return p.image, nil
}
