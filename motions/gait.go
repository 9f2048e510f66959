package motions

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"
)

// The planar walk and the walker's legs, in seconds and metres. The sole is a capsule from gaitFootBack behind the
// ankle to gaitFootFront ahead of it.
const (
	gaitCycle      = 1.1 // the duration of two steps
	gaitTimeStep   = 0.02
	gaitThigh      = 0.42
	gaitShin       = 0.42
	gaitFootBack   = 0.05
	gaitFootFront  = 0.17
	gaitFootDrop   = 0.045 // of the capsule's axis below the ankle
	gaitFootRadius = 0.035
	gaitHipHeight  = 0.92 // at which the column z is 0
)

// Sagittal-plane joint angles of normal human walking over a cycle, in degrees. The cycle begins with the heel's
// strike. Flexion and dorsiflexion are positive. Knots are (phase, degrees).
var (
	kneeKnots = [][2]float64{{0, 5}, {.06, 10}, {.12, 16}, {.2, 16}, {.3, 11}, {.4, 6}, {.5, 9}, {.6, 35}, {.66, 52},
		{.72, 61}, {.8, 50}, {.9, 18}, {.96, 5}, {1, 5}}
	ankleKnots = [][2]float64{{0, 0}, {.07, -5}, {.15, 0}, {.3, 6}, {.4, 9}, {.45, 9}, {.5, 4}, {.6, -14}, {.63, -17},
		{.7, -8}, {.8, 0}, {.9, 1}, {1, 0}}
)

const (
	curveSamples    = 200 // of the lines through the knots
	curveHarmonics  = 8   // that the lines through the knots keep
	heightHarmonics = 7   // that the pelvis height keeps
)

func hipAngle(phase float64) float64 {
	return 9 + 19*math.Cos(2*math.Pi*phase) + 2.5*math.Cos(2*math.Pi*2*phase+(0.6-math.Pi/2))
}

// gaitDescription names the nine columns: root, right leg, left leg.
func gaitDescription() *Description {
	return &Description{Columns: []Column{
		{"x", Travel}, {"z", Linear}, {"pitch", Linear},
		{"right_hip", Hinge}, {"right_knee", Hinge}, {"right_ankle", Hinge},
		{"left_hip", Hinge}, {"left_knee", Hinge}, {"left_ankle", Hinge},
	}}
}

// Gait makes the walk of the planar walker, normal human walking at 1.21 m/s, as a wrapping clip of one cycle of 1.1 s
// at 50 Hz. The nine columns are x (metres, from 0), z (deviation of the hip's height from 0.92 m), pitch (0), then
// hip, knee and ankle (radians) of the right leg and of the left leg. The pelvis is as high as the lower foot needs to
// touch the ground, smoothed. The speed is the median speed at which the foot on the ground would slip backwards under
// a pelvis that stands still.
func Gait() *Clip {
	n := int(math.Round(gaitCycle / gaitTimeStep))
	frames := make([][]float64, n)
	knee, ankle := smoothCurve(kneeKnots), smoothCurve(ankleKnots)
	for k := range frames {
		phase := float64(k) / float64(n)
		f := make([]float64, 9)
		for leg := range 2 {
			p := phase + 0.5*float64(leg) // the left leg is half a cycle apart
			f[3+3*leg] = hipAngle(p) * math.Pi / 180
			f[4+3*leg] = knee(p) * math.Pi / 180
			f[5+3*leg] = ankle(p) * math.Pi / 180
		}
		frames[k] = f
	}
	heights, speed := ground(frames)
	heights = lowPass(heights, heightHarmonics)
	for k, f := range frames {
		f[0], f[1] = speed*gaitTimeStep*float64(k), heights[k]
	}
	c, err := newClip(ClipConfig{Name: "gait", Loop: LoopWrap, Frames: frames, Durations: evenly(n, gaitTimeStep),
		Description: gaitDescription()})
	if err != nil {
		panic("motions: gait: " + err.Error())
	}
	return c
}

// ground returns the pelvis heights (less gaitHipHeight) at which the lower foot touches the ground, and the median
// speed at which that foot moves backwards relative to the hip.
func ground(frames [][]float64) (heights []float64, speed float64) {
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
			ax, az := gaitThigh*st+gaitShin*ss, -gaitThigh*ct-gaitShin*cs
			for end, fx := range []float64{-gaitFootBack, gaitFootFront} {
				points[k][2*leg+end] = [2]float64{ax + fx*cf + gaitFootDrop*sf,
					az + fx*sf - gaitFootDrop*cf - gaitFootRadius}
			}
		}
		for i, p := range points[k] {
			if p[1] < points[k][lowest[k]][1] {
				lowest[k] = i
			}
		}
		heights[k] = -points[k][lowest[k]][1] - gaitHipHeight
	}
	slips := make([]float64, n)
	for k := range slips {
		before := points[(k+n-1)%n]
		slips[k] = -(points[k][lowest[k]][0] - before[lowest[k]][0]) / gaitTimeStep
	}
	slices.Sort(slips)
	return heights, (slips[(n-1)/2] + slips[n/2]) / 2
}

// smoothCurve returns the straight lines through knots, smoothed, as a function of any phase.
func smoothCurve(knots [][2]float64) func(phase float64) float64 {
	table := make([]float64, curveSamples)
	for i := range table {
		x := float64(i) / curveSamples
		at := sort.Search(len(knots), func(i int) bool { return knots[i][0] > x })
		a, b := knots[at-1], knots[at]
		table[i] = a[1] + (x-a[0])/(b[0]-a[0])*(b[1]-a[1])
	}
	table = lowPass(table, curveHarmonics)
	return func(phase float64) float64 {
		at := (phase - math.Floor(phase)) * curveSamples
		i := int(at)
		a, b := table[i%curveSamples], table[(i+1)%curveSamples]
		return a + (at-float64(i))*(b-a)
	}
}

// lowPass keeps the mean and a number of harmonics of one period of samples.
func lowPass(samples []float64, harmonics int) []float64 {
	fft := fourier.NewFFT(len(samples))
	coefficients := fft.Coefficients(nil, samples)
	clear(coefficients[harmonics+1:])
	out := fft.Sequence(nil, coefficients)
	floats.Scale(1/float64(len(samples)), out)
	return out
}
