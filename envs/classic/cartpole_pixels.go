package classic

import (
	"cmp"
	"image"
	"image/draw"
	"math"
	"math/rand/v2"

	"golang.org/x/image/vector"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// CartPolePixels is [CartPole] seen by a camera. Dynamics, rewards and ends of episodes are CartPole's.
//
// Observation (Height × Width × Frames, uint8): grey pictures of the whole track, the newest last; cart and pole are
// 255 on 0, with soft edges, so that a fraction of a pixel shows. Velocities show in what moved between the frames,
// which are Interval steps apart. Before the first step of an episode all frames are the same. Make one with
// [NewCartPolePixels].
type CartPolePixels struct {
	CartPole
	// cfg is valid.
	cfg CartPolePixelsConfig
	// seen has the position (m) and angle (rad) of the last (Frames − 1) · Interval + 1 steps, the newest last. It is
	// what a saved state holds of the frames.
	seen [][2]float64
	// frames has the picture of each of these, Height × Width, and raster draws them.
	frames []*image.Alpha
	raster *vector.Rasterizer
}

// CartPolePixelsConfig is how many environments to make, and what their cameras see. Start from
// [DefaultCartPolePixels]. The picture is as wide as the track. A larger picture shows smaller movements, and takes
// longer to learn from.
type CartPolePixelsConfig struct {
	Config `yaml:",inline"`
	// Width and Height are the size of a frame in pixels.
	Width  int `yaml:"width" config:"min=16,max=512"`
	Height int `yaml:"height" config:"min=16,max=512"`
	// Frames is the number of grey frames in an observation, as channels, the newest last. 1 shows no velocity.
	Frames int `yaml:"frames" config:"min=1,max=16"`
	// Interval is the number of steps between two frames.
	Interval int `yaml:"interval" config:"min=1,max=16"`
}

// DefaultCartPolePixels returns one environment with frames of 96 × 40 pixels, three of them, two steps apart.
func DefaultCartPolePixels() CartPolePixelsConfig {
	return CartPolePixelsConfig{Config: Config{NumEnvs: 1}, Width: 96, Height: 40, Frames: 3, Interval: 2}
}

// cartPolePixelsHeader begins a saved state. Its number changes with the format.
const cartPolePixelsHeader = "gorl cartpole pixels 1"

// NewCartPolePixels returns a batch of [CartPolePixels] environments whose episodes are truncated after 500 steps.
func NewCartPolePixels(cfg CartPolePixelsConfig) (envs.Env, error) {
	cfg.NumEnvs = cmp.Or(cfg.NumEnvs, 1)
	if err := config.Check(cfg, "classic: CartPolePixels"); err != nil {
		return nil, err
	}
	return vectorize("CartPolePixels", cfg.Config, cartPoleLimit, func() envs.Single { return newCartPolePixels(cfg) })
}

// newCartPolePixels makes one environment. cfg must be valid.
func newCartPolePixels(cfg CartPolePixelsConfig) *CartPolePixels {
	n := (cfg.Frames-1)*cfg.Interval + 1
	c := &CartPolePixels{cfg: cfg, seen: make([][2]float64, n), raster: vector.NewRasterizer(cfg.Width, cfg.Height)}
	for range n {
		c.frames = append(c.frames, image.NewAlpha(image.Rect(0, 0, cfg.Width, cfg.Height)))
	}
	return c
}

// Spaces are a picture of observations and Discrete(2) of actions.
func (c *CartPolePixels) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.NewPicture(c.cfg.Height, c.cfg.Width, c.cfg.Frames),
		Action: spaces.NewDiscrete(2)}
}

// Reset starts an episode near the upright rest.
func (c *CartPolePixels) Reset(rng *rand.Rand, out envs.Row) error {
	var full [4]float32
	if err := c.CartPole.Reset(rng, envs.Row{Observation: full[:]}); err != nil {
		return err
	}
	for i := range c.seen {
		c.look(i)
	}
	c.show(out.Observation)
	return nil
}

// Step pushes the cart for one timestep.
func (c *CartPolePixels) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	var full [4]float32
	if reward, terminated, truncated, err = c.CartPole.Step(action, envs.Row{Observation: full[:]}); err != nil {
		return 0, false, false, err
	}
	last := len(c.seen) - 1
	// The oldest picture is drawn over, so that a step allocates nothing.
	oldest := c.frames[0]
	copy(c.frames, c.frames[1:])
	copy(c.seen, c.seen[1:])
	c.frames[last] = oldest
	c.look(last)
	c.show(out.Observation)
	return reward, terminated, truncated, nil
}

// look notes the present state as the i-th of seen, and draws frame i.
func (c *CartPolePixels) look(i int) {
	c.seen[i] = [2]float64{c.x, c.theta}
	c.draw(i)
}

// draw draws frame i from seen[i]. RestoreState draws all frames this way instead of saving pixels.
func (c *CartPolePixels) draw(i int) {
	frame, x, theta := c.frames[i], c.seen[i][0], c.seen[i][1]
	clear(frame.Pix)
	// The track fills the width; cart and pole, 1.3 m together, most of the height.
	p := picture{image: frame, raster: c.raster, scale: float64(c.cfg.Width) / (2 * cartPoleTrack),
		scaleY: float64(c.cfg.Height) / 1.5, left: -cartPoleTrack, base: -0.2}
	p.fill(image.Opaque, x-0.3, -0.12, x+0.3, -0.12, x+0.3, 0.12, x-0.3, 0.12)
	sin, cos := math.Sincos(theta)
	// half is half the pole's width in m, foot the height of its lower end.
	const half, foot = 0.06, 0.1
	tipX, tipY := x+2*cartPoleHalfLength*sin, foot+2*cartPoleHalfLength*cos
	p.fill(image.Opaque, x-half*cos, foot+half*sin, tipX-half*cos, tipY+half*sin, tipX+half*cos, tipY-half*sin,
		x+half*cos, foot-half*sin)
}

// show writes the observation (Height, Width, Frames): the frames are the channels, the newest last.
func (c *CartPolePixels) show(row []float32) {
	n := c.cfg.Frames
	for k := range n {
		for i, v := range c.frames[k*c.cfg.Interval].Pix {
			row[i*n+k] = float32(v)
		}
	}
}

// Render draws CartPole's picture, and below it the frames of the observation, the newest at the right.
func (c *CartPolePixels) Render() (image.Image, error) {
	above, err := c.CartPole.Render()
	if err != nil {
		return nil, err
	}
	const gap = 3
	size, across := above.Bounds().Size(), c.cfg.Width+gap
	out := image.NewRGBA(image.Rect(0, 0, max(size.X, c.cfg.Frames*across+gap), size.Y+c.cfg.Height+gap))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	left := (out.Rect.Dx() - size.X) / 2
	draw.Draw(out, image.Rect(left, 0, left+size.X, size.Y), above, image.Point{}, draw.Src)
	for k := range c.cfg.Frames {
		frame := c.frames[k*c.cfg.Interval]
		at := frame.Rect.Add(image.Pt(gap+k*across, size.Y))
		draw.Draw(out, at, image.Black, image.Point{}, draw.Src)
		draw.DrawMask(out, at, image.White, image.Point{}, frame, image.Point{}, draw.Over)
	}
	return out, nil
}

// MarshalState returns the four state variables and what the camera saw.
func (c *CartPolePixels) MarshalState() ([]byte, error) {
	return marshal(cartPolePixelsHeader, c.numbers()...)
}

// numbers returns pointers to the state variables and to what the camera saw.
func (c *CartPolePixels) numbers() []*float64 {
	all := c.CartPole.numbers()
	for i := range c.seen {
		all = append(all, &c.seen[i][0], &c.seen[i][1])
	}
	return all
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing. Frames and Interval must be the
// same.
func (c *CartPolePixels) RestoreState(b []byte) error {
	if err := restore(cartPolePixelsHeader, b, c.numbers()...); err != nil {
		return err
	}
	for i := range c.seen {
		c.draw(i)
	}
	return nil
}
