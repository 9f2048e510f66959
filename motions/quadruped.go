package motions

import (
	"errors"
	"fmt"
	"math"
)

// The quadruped's lengths in metres. A foot is a ball.
const (
	quadrupedThigh = 0.2
	quadrupedShin  = 0.2
	quadrupedFoot  = 0.02
)

// QuadrupedSkeleton returns a quadruped of the sizes of Unitree's A1: a trunk and four legs of three hinges each, in
// the order FR, FL, RR, RL (front right and so on), hip about x, thigh and calf about y, as on the robot. In the zero
// pose the legs hang down straight, and the feet's lower ends are 0.42 m below the trunk. The robot stands with thighs
// at 0.9 and calves at −1.8 rad, 0.27 m high.
func QuadrupedSkeleton() *Skeleton {
	s := &Skeleton{Name: "quadruped", Bodies: []Body{{Name: "trunk", Parent: -1}}}
	add := func(b Body, axis [3]float64, lower, upper float64) {
		b.Joints = []Joint{{Name: b.Name, Kind: Hinge, Axis: axis, Lower: lower, Upper: upper}}
		s.Bodies = append(s.Bodies, b)
	}
	x, y := [3]float64{1, 0, 0}, [3]float64{0, 1, 0}
	for i, leg := range []string{"FR", "FL", "RR", "RL"} {
		front, side := 1.0, -1.0
		if i > 1 {
			front = -1
		}
		if i%2 == 1 {
			side = 1
		}
		n := len(s.Bodies)
		add(Body{Name: leg + "_hip", Parent: 0, Offset: [3]float64{front * .183, side * .047, 0}}, x, -.803, .803)
		add(Body{Name: leg + "_thigh", Parent: n, Offset: [3]float64{0, side * .085, 0}}, y, -1.047, 4.189)
		add(Body{Name: leg + "_calf", Parent: n + 1, Offset: [3]float64{0, 0, -quadrupedThigh}}, y, -2.697, -.916)
		s.Bodies = append(s.Bodies, Body{Name: leg + "_foot", Parent: n + 2, Offset: [3]float64{0, 0, -quadrupedShin},
			Contacts: []Contact{{Radius: quadrupedFoot}}})
	}
	return s
}

// The generated gait of the quadruped.
const (
	trotFrameRate = 60   // frames a second
	trotLift      = 0.06 // the height in metres to which a foot swings
	trotHeight    = 0.27 // the height of the trunk in metres
)

// trot is a gait at a steady speed.
type trot struct {
	speed     float64
	cycleTime float64    // the seconds from one touch of the ground to the next
	duty      float64    // the part of the cycle in which a foot is on the ground
	phases    [4]float64 // the part of a cycle by which each leg, FR, FL, RR and RL, is ahead of FR
}

func newTrot(speed float64) trot {
	fast := math.Abs(speed)
	hind := 0.05 * max(0, min(1, fast-0.5)) // running dogs put the hind foot down later
	return trot{speed: speed, cycleTime: max(0.3, 0.5-0.1*fast), duty: max(0.5, 0.65-0.15*fast),
		phases: [4]float64{0, 0.5, 0.5 - hind, math.Mod(1-hind, 1)}}
}

// Trot makes a trot of [QuadrupedSkeleton] at a steady speed in m/s, at most 2; negative speeds go backwards. The clip
// wraps and is one cycle at 60 frames a second, whose last frame is its first. FL and RR swing while FR and RL stand,
// and the other way round. At higher speeds steps are quicker and stand shorter, and the hind feet follow up to a
// twentieth of a cycle later. Feet that stand move straight back as fast as the trunk goes forward, so they do not
// slide. Feet that swing go along a smooth arc. The angles follow by inverse kinematics.
func Trot(speed float64) (*Clip, error) {
	if !(math.Abs(speed) <= 2) {
		return nil, named("trot", fmt.Errorf("the speed must be between -2 and 2 m/s, and is %g", speed))
	}
	t := newTrot(speed)
	n := int(math.Round(t.cycleTime * trotFrameRate))
	clip := ClipConfig{Name: "trot", Loop: LoopWrap, Skeleton: QuadrupedSkeleton(),
		Durations: evenly(n+1, t.cycleTime/float64(n))}
	clip.Durations[n] = 0
	for k := range n + 1 {
		phase := float64(k) / float64(n)
		row := []float64{speed * t.cycleTime * phase, 0, trotHeight, 1, 0, 0, 0}
		for _, ahead := range t.phases {
			thigh, calf, err := legAngles(t.foot(phase + ahead))
			if err != nil {
				return nil, named("trot", err)
			}
			row = append(row, 0, thigh, calf)
		}
		clip.Frames = append(clip.Frames, row)
	}
	return NewClip(clip)
}

// foot returns a foot's place against its hip, in front and above, at a phase of its own cycle. The cycle begins as the
// foot touches the ground. A foot that swings follows a polynomial that leaves and meets the ground at the ground's
// speed.
func (t *trot) foot(phase float64) (x, z float64) {
	phase -= math.Floor(phase)
	stride := t.speed * t.cycleTime * t.duty // the way back of a foot that stands
	z = quadrupedFoot - trotHeight
	if phase < t.duty {
		return stride/2 - stride*phase/t.duty, z
	}
	f := (phase - t.duty) / (1 - t.duty)
	slope := -stride / t.duty * (1 - t.duty) // dx/df of the ground
	// Hermite's cubic from −stride/2 to stride/2 with that slope at both ends.
	x = -stride/2*(2*f*f*f-3*f*f+1) + stride/2*(3*f*f-2*f*f*f) + slope*(f*f*f-2*f*f+f) + slope*(f*f*f-f*f)
	s := math.Sin(math.Pi * f)
	return x, z + trotLift*s*s
}

// legAngles returns the angles of thigh and calf at which the foot is at (x, z) from the hip.
func legAngles(x, z float64) (thigh, calf float64, err error) {
	d := x*x + z*z
	cos := (d - quadrupedThigh*quadrupedThigh - quadrupedShin*quadrupedShin) / (2 * quadrupedThigh * quadrupedShin)
	if cos > 1 || cos < -1 {
		return 0, 0, errors.New("a leg cannot reach as far as the step needs")
	}
	calf = -math.Acos(cos)
	// Turned about y by an angle, the leg that hangs down points to (−sin, −cos).
	across, down := quadrupedShin*math.Sin(calf), quadrupedThigh+quadrupedShin*cos
	return math.Atan2(-x, -z) - math.Atan2(across, down), calf, nil
}
