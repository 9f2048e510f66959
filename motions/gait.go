package motions

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// GaitConfig describes a planar walk: what the joints do over one cycle, and the legs that do it.
type GaitConfig struct {
	// CycleTime is the duration of two steps in seconds.
	CycleTime float64
	// Cycles is how many cycles the clip holds; more than one only matters where CycleTime is no
	// multiple of TimeStep. The whole clip has round(Cycles·CycleTime/TimeStep) frames.
	Cycles int
	// TimeStep is the time between frames in seconds.
	TimeStep float64
	// Hip, Knee and Ankle are the joints' angles in degrees over the cycle, which begins with the right
	// heel's strike. The left leg is half a cycle apart. Flexion and dorsiflexion are positive.
	Hip, Knee, Ankle GaitCurve
	// ThighLength and ShinLength are in metres.
	ThighLength, ShinLength float64
	// The sole is a capsule from FootBack metres behind the ankle to FootFront ahead of it, FootDrop
	// below it, of radius FootRadius.
	FootBack, FootFront, FootDrop, FootRadius float64
	// HipHeight is the height of the hip in metres at which the clip's column z is 0.
	HipHeight float64
	// HeightHarmonics is how many harmonics of a cycle the pelvis height keeps.
	HeightHarmonics int
	// Speed is the forward speed in m/s. Zero: the median speed at which the foot on the ground would
	// slip backwards under a pelvis that stands still.
	Speed float64
}

// DefaultGaitConfig returns normal human walking at 1.21 m/s (sagittal-plane joint angles, a cycle of
// 1.1 s) at 50 Hz, for the legs of the planar walker.
func DefaultGaitConfig() GaitConfig {
	return GaitConfig{
		CycleTime: 1.1, Cycles: 1, TimeStep: 0.02,
		Hip: GaitCurve{Waves: []GaitWave{{Order: 0, Amplitude: 9}, {Order: 1, Amplitude: 19},
			{Order: 2, Amplitude: 2.5, Phase: 0.6 - math.Pi/2}}},
		Knee: GaitCurve{Harmonics: 8, Knots: [][2]float64{{0, 5}, {.06, 10}, {.12, 16}, {.2, 16}, {.3, 11}, {.4, 6}, {.5, 9},
			{.6, 35}, {.66, 52}, {.72, 61}, {.8, 50}, {.9, 18}, {.96, 5}, {1, 5}}},
		Ankle: GaitCurve{Harmonics: 8, Knots: [][2]float64{{0, 0}, {.07, -5}, {.15, 0}, {.3, 6}, {.4, 9}, {.45, 9}, {.5, 4},
			{.6, -14}, {.63, -17}, {.7, -8}, {.8, 0}, {.9, 1}, {1, 0}}},
		ThighLength: 0.42, ShinLength: 0.42,
		FootBack: 0.05, FootFront: 0.17, FootDrop: 0.045, FootRadius: 0.035,
		HipHeight: 0.92, HeightHarmonics: 7,
	}
}

// gaitDescription names the nine columns: root, right leg, left leg.
func gaitDescription() *Description {
	return &Description{Columns: []Column{
		{"x", Travel}, {"z", Linear}, {"pitch", Linear},
		{"right_hip", Hinge}, {"right_knee", Hinge}, {"right_ankle", Hinge},
		{"left_hip", Hinge}, {"left_knee", Hinge}, {"left_ankle", Hinge},
	}}
}

// Gait makes a walk as a wrapping clip of nine columns: x (metres, from 0, going on from loop to loop), z
// (deviation from HipHeight, metres), pitch (0), hip, knee and ankle of the right leg, then of the left
// (radians). The pelvis is as high as the lower foot needs to touch the ground, smoothed; velocities are
// central differences. It fails, naming the setting, on a configuration that makes no gait.
func Gait(cfg GaitConfig) (*Clip, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("motions: gait: %w", err)
	}
	n := int(math.Round(float64(cfg.Cycles) * cfg.CycleTime / cfg.TimeStep))
	frames := make([][]float64, n)
	hip, knee, ankle := cfg.Hip.function(), cfg.Knee.function(), cfg.Ankle.function()
	for k := range frames {
		phase := float64(k) * float64(cfg.Cycles) / float64(n)
		f := make([]float64, 9)
		for leg, offset := range []float64{0, 0.5} {
			f[3+3*leg] = hip(phase+offset) * math.Pi / 180
			f[4+3*leg] = knee(phase+offset) * math.Pi / 180
			f[5+3*leg] = ankle(phase+offset) * math.Pi / 180
		}
		frames[k] = f
	}
	heights, speed := cfg.ground(frames)
	if cfg.Speed != 0 {
		speed = cfg.Speed
	}
	heights = lowPass(heights, cfg.HeightHarmonics*cfg.Cycles)
	durations := make([]float64, n)
	for k, f := range frames {
		f[0], f[1] = speed*cfg.TimeStep*float64(k), heights[k]
		durations[k] = cfg.TimeStep
	}
	return NewClip(ClipConfig{Name: "gait", Loop: LoopWrap, Frames: frames, Durations: durations,
		Description: gaitDescription()})
}

func (cfg *GaitConfig) check() error {
	for _, s := range []struct {
		name  string
		value float64
		zero  bool // may be zero
	}{
		{"CycleTime", cfg.CycleTime, false}, {"TimeStep", cfg.TimeStep, false},
		{"ThighLength", cfg.ThighLength, false}, {"ShinLength", cfg.ShinLength, false},
		{"FootBack", cfg.FootBack, true}, {"FootFront", cfg.FootFront, true}, {"FootDrop", cfg.FootDrop, true},
		{"FootRadius", cfg.FootRadius, true}, {"HipHeight", cfg.HipHeight, false}, {"Speed", cfg.Speed, true},
	} {
		if !(s.value >= 0) || math.IsInf(s.value, 0) || (s.value == 0 && !s.zero) {
			return fmt.Errorf("%s must be positive and finite, and is %g", s.name, s.value)
		}
	}
	if cfg.Cycles < 1 || cfg.HeightHarmonics < 0 {
		return fmt.Errorf("Cycles must be at least 1 and HeightHarmonics at least 0, and are %d and %d", cfg.Cycles,
			cfg.HeightHarmonics)
	}
	if n := float64(cfg.Cycles) * cfg.CycleTime / cfg.TimeStep; n < 4 || n > 1e6 {
		return fmt.Errorf("CycleTime %g s over TimeStep %g s makes %.0f frames; between 4 and a million are possible",
			cfg.CycleTime, cfg.TimeStep, n)
	}
	for _, c := range []struct {
		name  string
		curve GaitCurve
	}{{"Hip", cfg.Hip}, {"Knee", cfg.Knee}, {"Ankle", cfg.Ankle}} {
		if err := c.curve.check(); err != nil {
			return errors.New(c.name + ": " + err.Error())
		}
	}
	return nil
}

// ground returns the pelvis heights (less HipHeight) at which the lower foot touches the ground, and the
// median speed at which that foot moves backwards relative to the hip.
func (cfg *GaitConfig) ground(frames [][]float64) (heights []float64, speed float64) {
	n := len(frames)
	points := make([][4][2]float64, n) // heel and toe of the right foot, then of the left
	lowest := make([]int, n)
	heights = make([]float64, n)
	for k, f := range frames {
		for leg := range 2 {
			thigh := f[3+3*leg]
			shin := thigh - f[4+3*leg]
			foot := shin + f[5+3*leg]
			st, ct := math.Sincos(thigh)
			ss, cs := math.Sincos(shin)
			sf, cf := math.Sincos(foot)
			ax, az := cfg.ThighLength*st+cfg.ShinLength*ss, -cfg.ThighLength*ct-cfg.ShinLength*cs
			for end, fx := range []float64{-cfg.FootBack, cfg.FootFront} {
				points[k][2*leg+end] = [2]float64{ax + fx*cf + cfg.FootDrop*sf, az + fx*sf - cfg.FootDrop*cf - cfg.FootRadius}
			}
		}
		for i, p := range points[k] {
			if p[1] < points[k][lowest[k]][1] {
				lowest[k] = i
			}
		}
		heights[k] = -points[k][lowest[k]][1] - cfg.HipHeight
	}
	slips := make([]float64, n)
	for k := range slips {
		before := points[(k+n-1)%n]
		slips[k] = -(points[k][lowest[k]][0] - before[lowest[k]][0]) / cfg.TimeStep
	}
	slices.Sort(slips)
	return heights, (slips[(n-1)/2] + slips[n/2]) / 2
}
