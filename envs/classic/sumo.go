package classic

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// The constants of [Sumo]. Both discs have a mass of 1 kg.
const (
	sumoRing     = 1.0 // radius of the ring at the start, m
	sumoSmallest = 0.2 // radius after sumoSteps steps, m
	sumoSteps    = 200
	sumoDisc     = 0.2 // radius of a disc, m
	sumoNear     = 0.3 // least and greatest distance from the centre at which discs begin, m
	sumoFar      = 0.7
	sumoForce    = 2.0  // largest force, N
	sumoDrag     = 1.0  // force against the motion, N per m/s
	sumoRebound  = 0.5  // restitution of a collision
	sumoTimestep = 0.05 // s
)

// Sumo is a contest of two discs on a round ring. Each disc pushes itself with a force. It loses when its centre leaves
// the ring. The radius of the ring shrinks from 1 m to 0.2 m in 200 steps, until there is room for one disc. The seats
// player_0 and player_1 act at the same time. The discs begin at rest on opposite sides of the centre, at a random
// angle and random distances.
//
// Each seat has its own frame. The frame of player_1 is turned by 180°, so the game looks the same to both seats.
// Observation (9), in m and m/s: the seat's position and velocity, those of the other seat, and the radius of the ring.
// Actions (2): the force in the seat's frame, in units of 2 N. Each part is clipped to [-1, 1], and then the length of
// the two to at most 1.
//
// A seat that stays alone in the ring gets 1 and the other seat -1, and the contest ends. If both leave the ring in the
// same step, the contest is a draw: 0 for both. The figures of an episode are "draw", "won/player_0" and
// "won/player_1", each 0 or 1. Make a batch with [NewSumo].
type Sumo struct {
	// at and v are the discs' positions and velocities in the frame of player_0, m and m/s.
	at, v [2][2]float64
	// steps counts those of the contest.
	steps float64
}

// sumoObservation is the width of an observation.
const sumoObservation = 9

// sumoHeader begins a saved state. Its number changes with the format.
const sumoHeader = "gorl sumo 1"

// NewSumo returns a batch of [Sumo] contests, which are truncated after 200 steps (10 s) unless cfg says otherwise. A
// truncated contest is a draw.
func NewSumo(cfg Config) (envs.Env, error) {
	return vectorize("Sumo", cfg, sumoSteps, func() envs.Single { return &Sumo{} })
}

// Spaces are two seats with Box(9) of observations and Box(2) of actions.
func (s *Sumo) Spaces() spaces.Set {
	return twoPlayers(spaces.Seat{Observation: spaces.Unbounded(sumoObservation), Action: spaces.NewBox(-1, 1, 2)})
}

// Reset puts the discs on opposite sides of the centre, at different distances. At equal distances two equal
// deterministic policies would mirror each other for ever.
func (s *Sumo) Reset(rng *rand.Rand, out envs.Row) error {
	sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
	for k, side := range [...]float64{1, -1} {
		distance := side * (sumoNear + (sumoFar-sumoNear)*rng.Float64())
		s.at[k] = [2]float64{distance * cos, distance * sin}
	}
	s.v, s.steps = [2][2]float64{}, 0
	s.show(out)
	return nil
}

// show writes the observations of both seats. Both act in every step.
func (s *Sumo) show(out envs.Row) {
	for k, side := range [...]float64{1, -1} {
		own, other := k, 1-k
		put(out.Observation[k*sumoObservation:], side*s.at[own][0], side*s.at[own][1], side*s.v[own][0],
			side*s.v[own][1], side*s.at[other][0], side*s.at[other][1], side*s.v[other][0], side*s.v[other][1],
			s.radius())
		out.Seats.Active[k] = true
	}
}

// Step moves the discs by their forces for 0.05 s.
func (s *Sumo) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	for i, a := range action {
		if a-a != 0 {
			return 0, false, false, fmt.Errorf("classic: value %d of the action is %g; it must be finite", i, a)
		}
	}
	for k, side := range [...]float64{1, -1} {
		x, y := clamp(float64(action[2*k]), -1, 1), clamp(float64(action[2*k+1]), -1, 1)
		force := side * sumoForce / math.Max(1, math.Hypot(x, y))
		for d, a := range [...]float64{x, y} {
			s.v[k][d] += (force*a - sumoDrag*s.v[k][d]) * sumoTimestep
			s.at[k][d] += s.v[k][d] * sumoTimestep
		}
	}
	s.collide()
	s.steps++
	winner, ends := s.winner()
	decide(out.Seats, winner, ends)
	s.show(out)
	return 0, ends, false, nil
}

// collide moves overlapping discs apart, and lets them rebound if they approach each other. It treats both discs alike,
// so that neither seat has an advantage.
func (s *Sumo) collide() {
	nx, ny := s.at[1][0]-s.at[0][0], s.at[1][1]-s.at[0][1]
	distance := math.Hypot(nx, ny)
	overlap := 2*sumoDisc - distance
	if overlap <= 0 || distance == 0 {
		return
	}
	nx, ny = nx/distance, ny/distance
	approach := (s.v[0][0]-s.v[1][0])*nx + (s.v[0][1]-s.v[1][1])*ny
	impulse := math.Max(0, approach) * (1 + sumoRebound) / 2
	for d, n := range [...]float64{nx, ny} {
		s.at[0][d] -= n * overlap / 2
		s.at[1][d] += n * overlap / 2
		s.v[0][d] -= n * impulse
		s.v[1][d] += n * impulse
	}
}

// radius returns the present radius of the ring, in m.
func (s *Sumo) radius() float64 {
	return sumoRing - (sumoRing-sumoSmallest)*math.Min(1, s.steps/sumoSteps)
}

// winner returns 1 if player_0 is alone in the ring, -1 if player_1 is, and otherwise 0. ends reports whether a disc is
// outside.
func (s *Sumo) winner() (winner int8, ends bool) {
	out := [2]bool{}
	for k, at := range s.at {
		out[k] = math.Hypot(at[0], at[1]) > s.radius()
	}
	switch {
	case out[1] && !out[0]:
		winner = 1
	case out[0] && !out[1]:
		winner = -1
	}
	return winner, out[0] || out[1]
}

// EpisodeMetrics returns who won.
func (s *Sumo) EpisodeMetrics() map[string]float64 {
	winner, _ := s.winner()
	return results(winner)
}

// Close does nothing.
func (s *Sumo) Close() error { return nil }

// MarshalState returns positions, velocities and the number of steps.
func (s *Sumo) MarshalState() ([]byte, error) {
	return marshal(sumoHeader, s.numbers()...)
}

// numbers returns pointers to what MarshalState returns.
func (s *Sumo) numbers() []*float64 {
	return []*float64{&s.at[0][0], &s.at[0][1], &s.at[1][0], &s.at[1][1], &s.v[0][0], &s.v[0][1], &s.v[1][0],
		&s.v[1][1], &s.steps}
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (s *Sumo) RestoreState(b []byte) error {
	var saved Sumo
	if err := restore(sumoHeader, b, saved.numbers()...); err != nil {
		return err
	}
	if _, ends := saved.winner(); ends || saved.steps < 0 || saved.steps != math.Trunc(saved.steps) {
		return fmt.Errorf("classic: not a valid %s: a disc is outside the ring, or the number of steps is %g",
			sumoHeader, saved.steps)
	}
	*s = saved
	return nil
}

// Render draws the ring from above, 260 × 260 pixels: player_0 is blue, player_1 red.
func (s *Sumo) Render() (image.Image, error) {
	p := newPicture(260, 260, 100, -1.3, -1.3)
	p.disc(0, 0, sumoRing, color.RGBA{240, 238, 232, 255}) // the ring at the start
	p.disc(0, 0, s.radius()+0.03, color.RGBA{120, 110, 95, 255})
	p.disc(0, 0, s.radius(), color.RGBA{232, 222, 200, 255})
	for k, c := range [...]color.RGBA{{40, 90, 180, 255}, {200, 60, 50, 255}} {
		p.disc(s.at[k][0], s.at[k][1], sumoDisc, c)
		p.disc(s.at[k][0], s.at[k][1], 0.03, color.White)
	}
	return p.image, nil
}
