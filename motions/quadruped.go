package motions

import (
	"errors"
	"fmt"
	"math"
)

// The quadruped's lengths in metres.
const (
	quadrupedThigh = 0.2
	quadrupedShin  = 0.2
	quadrupedFoot  = 0.02 // the foot's radius
)

// QuadrupedSkeleton returns a quadruped of the sizes of Unitree's A1: a trunk and four legs of three hinges each, in
// the order FR, FL, RR, RL (front right and so on), hip about x, thigh and calf about y, as on the robot. The legs hang
// down straight in the zero pose, in which the feet's lower ends are 0.42 m below the trunk; it stands with thighs at
// 0.9 and calves at −1.8 rad, 0.27 m high.
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

// TrotConfig describes a generated gait of the quadruped.
type TrotConfig struct {
	// Speed is the speed forwards in m/s, at most 2; negative values go backwards.
	Speed float64
	// CycleTime is the seconds that a leg takes from one touch of the ground to the next. Zero: 0.5 s at rest and
	// shorter at higher speeds, 0.35 s at 1.5 m/s.
	CycleTime float64
	// Pairs is by how much of a cycle the legs FL and RR are ahead of FR and RL, which move together: 0.5 is a trot.
	// Zero: 0.5.
	Pairs float64
	// Hind is by how much of a cycle each hind leg is behind the front leg across from it. Zero: 0 up to 0.5 m/s and
	// from there up to 0.05 at 1.5 m/s, as running dogs put the hind foot down later.
	Hind float64
	// Duty is the part of the cycle that a foot is on the ground. Zero: 0.65 at rest down to 0.5 at 1 m/s and above.
	Duty float64
	// Lift is how high a foot swings in metres. Zero: 0.06.
	Lift float64
	// Height is the trunk's in metres. Zero: 0.27.
	Height float64
	// Rate is the number of frames a second, at least 10. Zero: 60.
	Rate float64
}

// withDefaults puts values for zeros.
func (cfg TrotConfig) withDefaults() TrotConfig {
	fast := math.Abs(cfg.Speed)
	set := func(x *float64, value float64) {
		if *x == 0 {
			*x = value
		}
	}
	set(&cfg.CycleTime, max(0.3, 0.5-0.1*fast))
	set(&cfg.Pairs, 0.5)
	set(&cfg.Hind, 0.05*max(0, min(1, fast-0.5)))
	set(&cfg.Duty, max(0.5, 0.65-0.15*fast))
	set(&cfg.Lift, 0.06)
	set(&cfg.Height, 0.27)
	set(&cfg.Rate, 60)
	return cfg
}

// LegPhases returns by how much of a cycle each leg, in the order FR, FL, RR, RL, is ahead of FR: in [0, 1).
func (cfg TrotConfig) LegPhases() [4]float64 {
	cfg = cfg.withDefaults()
	phases := [4]float64{0, cfg.Pairs, cfg.Pairs - cfg.Hind, -cfg.Hind}
	for i, p := range phases {
		phases[i] = p - math.Floor(p)
	}
	return phases
}

// Trot makes a gait of [QuadrupedSkeleton] at a steady speed, as a wrapping clip of one cycle, whose last frame is its
// first. FL and RR swing while FR and RL stand and the other way round, by the phases of [TrotConfig.LegPhases]; at
// higher speeds steps are quicker, stand shorter and the hind feet follow a little later. Feet that stand move straight
// back as fast as the trunk goes forward, so they do not slide; feet that swing go along a smooth arc. Angles follow by
// the legs' inverse kinematics.
//
// It fails, naming the setting, where a setting is out of range or a leg too short for the step.
func Trot(cfg TrotConfig) (*Clip, error) {
	c, err := trot(cfg.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("motions: trot: %w", err)
	}
	return c, nil
}

func (cfg *TrotConfig) check() error {
	for _, s := range []struct {
		name        string
		value       float64
		least, most float64
	}{
		{"Speed", cfg.Speed, -2, 2}, {"CycleTime", cfg.CycleTime, 0.1, 2}, {"Pairs", cfg.Pairs, -1, 1}, {"Hind", cfg.Hind, -0.5, 0.5},
		{"Duty", cfg.Duty, 0.2, 0.9}, {"Lift", cfg.Lift, 0, 0.2}, {"Height", cfg.Height, 0.1, quadrupedThigh + quadrupedShin + quadrupedFoot},
		{"Rate", cfg.Rate, 10, 1000},
	} {
		if !(s.value >= s.least && s.value <= s.most) {
			return fmt.Errorf("%s must be between %g and %g, and is %g", s.name, s.least, s.most, s.value)
		}
	}
	return nil
}

func trot(cfg TrotConfig) (*Clip, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	n := max(4, int(math.Round(cfg.CycleTime*cfg.Rate)))
	phases := cfg.LegPhases()
	clip := ClipConfig{Name: "trot", Loop: LoopWrap, Skeleton: QuadrupedSkeleton()}
	for k := range n + 1 {
		phase := float64(k) / float64(n)
		row := []float64{cfg.Speed * cfg.CycleTime * phase, 0, cfg.Height, 1, 0, 0, 0}
		for _, ahead := range phases {
			x, z := cfg.foot(phase + ahead)
			thigh, calf, err := cfg.leg(x, z)
			if err != nil {
				return nil, err
			}
			row = append(row, 0, thigh, calf)
		}
		clip.Frames, clip.Durations = append(clip.Frames, row), append(clip.Durations, cfg.CycleTime/float64(n))
	}
	clip.Durations[n] = 0
	return newClip(clip)
}

// foot is where a foot is against its hip, in front and above, at a phase of its own cycle, which begins as it touches
// the ground. While it swings its place is a polynomial that leaves and meets the ground as fast as the ground passes.
func (cfg *TrotConfig) foot(phase float64) (x, z float64) {
	phase -= math.Floor(phase)
	stride := cfg.Speed * cfg.CycleTime * cfg.Duty // how far the foot goes back while it stands
	z = quadrupedFoot - cfg.Height
	if phase < cfg.Duty {
		return stride/2 - stride*phase/cfg.Duty, z
	}
	f := (phase - cfg.Duty) / (1 - cfg.Duty)
	slope := -stride / cfg.Duty * (1 - cfg.Duty) // dx/df of the ground
	// Hermite's cubic from −stride/2 to stride/2 with that slope at both ends.
	x = -stride/2*(2*f*f*f-3*f*f+1) + stride/2*(3*f*f-2*f*f*f) + slope*(f*f*f-2*f*f+f) + slope*(f*f*f-f*f)
	s := math.Sin(math.Pi * f)
	return x, z + cfg.Lift*s*s
}

// leg returns the angles of thigh and calf at which the foot is at (x, z) from the hip.
func (cfg *TrotConfig) leg(x, z float64) (thigh, calf float64, err error) {
	d := x*x + z*z
	cos := (d - quadrupedThigh*quadrupedThigh - quadrupedShin*quadrupedShin) / (2 * quadrupedThigh * quadrupedShin)
	if cos > 1 || cos < -1 {
		return 0, 0, errors.New("a leg cannot reach as far as the step needs; choose a lower Height or Speed, or a shorter CycleTime")
	}
	calf = -math.Acos(cos)
	// Turned about y by an angle, the leg that hangs down points to (−sin, −cos).
	across, down := quadrupedShin*math.Sin(calf), quadrupedThigh+quadrupedShin*cos
	return math.Atan2(-x, -z) - math.Atan2(across, down), calf, nil
}
