package motions

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/internal/rotation"
)

const (
	trotFrameRate = 60    // frames a second
	trotHeight    = 0.27  // the height in metres of the trunk of QuadrupedSkeleton
	trotError     = 0.002 // the distance in metres by which a foot may miss its place
	trotTimes     = 100   // the weight of feet relative to angles, and of the root relative to feet
)

// TrotConfig holds the settings of [Skeleton.Trot].
type TrotConfig struct {
	// Stand is a row in which the skeleton stands, as in [Skeleton]. The trunk keeps its height and tilt.
	Stand []float64
	// Feet are the bodies of the four feet, in any order. There must be one in each quarter: front or rear, left or
	// right of the trunk's middle.
	Feet []string
	// Forward and Left are the velocity of the trunk in m/s, in its heading frame, and Turn its turn to the left in
	// rad/s. The velocity of every foot must be at most 2 m/s.
	Forward, Left, Turn float64
	// Lift is the height in metres to which a foot swings. Zero means 0.06.
	Lift float64
}

// trot holds the parameters of a gait at a steady speed.
type trot struct {
	cycleTime float64    // the seconds from one touch of the ground to the next
	duty      float64    // the part of the cycle in which a foot is on the ground
	lift      float64    // the height in metres to which a foot swings
	phases    [4]float64 // the part of a cycle by which each leg (FR, FL, RR, RL) is ahead of FR
}

// newTrot returns the trot whose fastest foot moves at a speed in m/s.
func newTrot(speed, lift float64) trot {
	hind := 0.05 * max(0, min(1, speed-0.5)) // running dogs put the hind foot down later
	return trot{cycleTime: max(0.3, 0.5-0.1*speed), duty: max(0.5, 0.65-0.15*speed), lift: lift,
		phases: [4]float64{0, 0.5, 0.5 - hind, math.Mod(1-hind, 1)}}
}

// Trot makes a trot of [QuadrupedSkeleton] straight ahead at a steady speed in m/s, from −2 to 2. See [Skeleton.Trot].
func Trot(speed float64) (*Clip, error) {
	s := QuadrupedSkeleton()
	stand := s.zero()
	stand[2] = trotHeight
	var feet []string
	bend := math.Acos((trotHeight - quadrupedFoot) / (quadrupedThigh + quadrupedShin)) // of equal thigh and shin
	for i, leg := range []string{"FR", "FL", "RR", "RL"} {
		stand[8+3*i], stand[9+3*i] = bend, -2*bend
		feet = append(feet, leg+"_foot")
	}
	return s.Trot(TrotConfig{Stand: stand, Feet: feet, Forward: speed})
}

// Trot makes a trot of a skeleton with four feet at a steady velocity. The clip is a loop of one cycle at 60 frames a
// second, whose last frame is its first. Diagonal feet swing together while the other two stand. At higher speeds steps
// are quicker, feet stand for a smaller part of the cycle, and the hind feet land up to a twentieth of a cycle later.
// Standing feet do not slide, swinging feet follow a smooth arc. Inverse kinematics computes the angles. Trot fails if
// a leg cannot reach as far as a step needs.
func (s *Skeleton) Trot(cfg TrotConfig) (_ *Clip, err error) {
	defer func() { err = named("trot", err) }()
	if err := s.check(); err != nil {
		return nil, err
	}
	if len(cfg.Stand) != s.Width() || len(cfg.Feet) != 4 {
		return nil, fmt.Errorf("Stand has %d values and there are %d Feet; want %d values and 4 feet", len(cfg.Stand),
			len(cfg.Feet), s.Width())
	}
	stand := slices.Clone(cfg.Stand)
	stand[0], stand[1] = 0, 0
	v := newSolver(s)
	copy(v.row, stand)
	v.move()
	feet, taken := [4]int{}, [4]bool{} // FR, FL, RR, RL
	var places [4][3]float64
	fastest := 0.0
	for _, name := range cfg.Feet {
		i := s.Body(name)
		if i < 0 {
			return nil, fmt.Errorf("Feet: the skeleton %s has no body %s", s.Name, name)
		}
		p, leg := v.position(i), 0
		if p[0] < 0 {
			leg = 2
		}
		if p[1] > 0 {
			leg++
		}
		if taken[leg] {
			return nil, fmt.Errorf("Feet: two feet are in one quarter around the trunk, one of them %s", name)
		}
		feet[leg], places[leg], taken[leg] = i, p, true
		fastest = max(fastest, math.Hypot(cfg.Forward-cfg.Turn*p[1], cfg.Left+cfg.Turn*p[0]))
	}
	if !(fastest <= 2) {
		return nil, fmt.Errorf("the fastest foot must move at most at 2 m/s, and moves at %g", fastest)
	}
	t := newTrot(fastest, cmp.Or(cfg.Lift, 0.06))
	n := int(math.Round(t.cycleTime * trotFrameRate))
	clip := ClipConfig{Name: "trot", Loop: LoopWrap, Skeleton: s, Durations: evenly(n+1, t.cycleTime/float64(n))}
	clip.Durations[n] = 0
	for k := range n + 1 {
		phase := float64(k) / float64(n)
		var want [4][3]float64
		for leg := range want {
			x, z := t.foot(phase + t.phases[leg])
			p := places[leg]
			want[leg] = [3]float64{p[0] + x*(cfg.Forward-cfg.Turn*p[1]), p[1] + x*(cfg.Left+cfg.Turn*p[0]), p[2] + z}
		}
		v.solve(func() {
			v.addRow(stand, trotTimes*trotTimes, 1)
			for leg, at := range want {
				v.addPlace(feet[leg], [3]float64{}, at, [3]float64{trotTimes, trotTimes, trotTimes})
			}
		}, 50)
		for leg, at := range want {
			if p := v.position(feet[leg]); norm(sub(p, at)) > trotError {
				return nil, errors.New("a leg cannot reach as far as the step needs; lower the speed or the trunk")
			}
		}
		row := slices.Clone(v.row)
		travel(row, stand, cfg, t.cycleTime*phase)
		clip.Frames = append(clip.Frames, row)
	}
	c, err := newClip(clip)
	if err != nil {
		return nil, err
	}
	setTurn(c)
	return c, nil
}

// travel moves a row's root to its place after a time in seconds. If the trunk turns, the path is an arc.
func travel(row, stand []float64, cfg TrotConfig, seconds float64) {
	angle := cfg.Turn * seconds
	along, across := seconds, 0.0 // ∫cos and ∫sin of the heading
	if math.Abs(angle) > 1e-9 {
		along, across = math.Sin(angle)/cfg.Turn, (1-math.Cos(angle))/cfg.Turn
	}
	row[0] = cfg.Forward*along - cfg.Left*across
	row[1] = cfg.Forward*across + cfg.Left*along
	row[2] = stand[2]
	q := rotation.About([3]float64{0, 0, 1}, angle).Mul(rotation.Of(stand[3:]))
	copy(row[3:7], q[:])
}

// foot returns the place of a foot at a phase of its own cycle, relative to its place when standing. along is in
// seconds of the trunk's velocity at the foot, height in metres. The cycle begins when the foot touches the ground. A
// swinging foot follows a polynomial that leaves and meets the ground at the ground's speed.
func (t *trot) foot(phase float64) (along, height float64) {
	phase -= math.Floor(phase)
	stride := t.cycleTime * t.duty // the distance that a standing foot moves back
	if phase < t.duty {
		return stride/2 - stride*phase/t.duty, 0
	}
	f := (phase - t.duty) / (1 - t.duty)
	slope := -stride / t.duty * (1 - t.duty) // d along/df of the ground
	// Hermite's cubic from −stride/2 to stride/2 with that slope at both ends.
	along = -stride/2*(2*f*f*f-3*f*f+1) + stride/2*(3*f*f-2*f*f*f) + slope*(f*f*f-2*f*f+f) + slope*(f*f*f-f*f)
	s := math.Sin(math.Pi * f)
	return along, t.lift * s * s
}
