package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

// allPaths is the mean over the warping path that has the least sum, by trying every path.
func allPaths(n, m int, cost func(i, j int) float64) (mean float64) {
	sum := math.Inf(1)
	var walk func(i, j int, total float64, length int)
	walk = func(i, j int, total float64, length int) {
		total, length = total+cost(i, j), length+1
		if i == n-1 && j == m-1 {
			if total < sum {
				sum, mean = total, total/float64(length)
			}
			return
		}
		for _, step := range [][2]int{{1, 1}, {1, 0}, {0, 1}} {
			if a, b := i+step[0], j+step[1]; a < n && b < m {
				walk(a, b, total, length)
			}
		}
	}
	walk(0, 0, 0, 0)
	return mean
}

// track makes a track of three bodies that swing, of a walk at another pace and heading.
func track(steps int, pace, heading float64) *Track {
	t := &Track{}
	sin, cos := math.Sincos(heading)
	for k := range steps {
		at := pace * float64(k) / 30
		var row []float64
		for b := range 3 {
			x, y, z := at+0.3*float64(b)*math.Sin(5*at), 0.1*float64(b), 1-0.4*float64(b)+0.1*float64(b)*math.Cos(5*at)
			row = append(row, cos*x-sin*y, sin*x+cos*y, z)
		}
		t.Positions, t.Headings = append(t.Positions, row), append(t.Headings, heading)
	}
	return t
}

// The pose error is equation 10 by brute force, is blind to pace, and is 0 for the motion itself wherever it is.
func TestPoseError(t *testing.T) {
	a, b := track(6, 1, 0), track(5, 1.7, 0.3)
	cost := func(i, j int) float64 {
		sum := 0.0
		for n := range 3 {
			square := 0.0
			for d := range 3 {
				x := a.Positions[i][3*n+d] - a.Positions[i][d]
				y := b.Positions[j][3*n+d] - b.Positions[j][d]
				square += (x - y) * (x - y)
			}
			sum += math.Sqrt(square)
		}
		return sum / 3
	}
	must.Near(t, must.Get(PoseError(a, b, true))(t), allPaths(6, 5, cost), 1e-9, "the pose error")
	for _, heading := range []float64{0, 1, -2.5} {
		same := must.Get(PoseError(track(60, 1, 0), track(60, 1, heading), false))(t)
		must.Near(t, same, 0, 1e-9, "the same motion, turned")
		turned := must.Get(PoseError(track(60, 1, 0), track(60, 1, heading), true))(t)
		must.Is(t, turned > 0.01, heading != 0, "turned by %g: %g", heading, turned)
	}
	slower := must.Get(PoseError(track(60, 1, 0), track(72, 1/1.2, 0), true))(t)
	must.Not(t, slower > 0.01, "a slower walk: %g", slower)
	other := must.Get(PoseError(track(60, 1, 0), track(60, 0, 0), true))(t)
	must.Not(t, other < 0.1, "standing still: %g", other)
}

func TestRootVelocityError(t *testing.T) {
	got := must.Get(RootVelocityError(track(31, 1, 0), track(40, 1.5, 0), 1./30))(t)
	must.Near(t, got, 0.5, 1e-9, "half a metre a second too fast")
	got = must.Get(RootVelocityError(track(31, 1, 0), track(31, 1, math.Pi/2), 1./30))(t)
	must.Near(t, got, math.Sqrt2, 1e-9, "to the side")
}

func TestSuccess(t *testing.T) {
	reference := track(90, 1, 0)
	for _, x := range []struct {
		episode *Track
		ok      bool
		failed  int
	}{
		{track(90, 1, 0), true, 0},
		{track(50, 1, 0), false, 50}, // fell
		{track(90, 0, 0), false, 15}, // stays behind by 1/30 m a step, and the arms' swing on top
	} {
		ok, failed, err := Success(reference, x.episode, 0.5)
		must.Not(t, err != nil || ok != x.ok || (!ok && failed > x.failed+2) || (!ok && failed < x.failed-10),
			"%v at %d, %v; want %v at %d", ok, failed, err, x.ok, x.failed)
	}
}

func TestCoverage(t *testing.T) {
	clips := [][][]float64{{{0, 0, 7}, {1, 0, 7}}, {{10, 0, 7}, {11, 0, 7}}, {{0, 0.1, 7}, {1, 0.1, 7}},
		{{20, 0.1, 7}}}
	// The second feature varies by hundredths and the first by tens; standardised they count alike. The third does not
	// vary.
	c := must.Get(Coverage(clips, [][]float64{{0.4, 0.001, 99}, {0.6, 0.099, -99}, {10.5, 0.02, 0}, {10.7, 0, 7}}))(t)
	must.Near(t, c, 0.75, 1e-9, "three of four clips")
	c = must.Get(Coverage(clips, [][]float64{{0.4, 0.001, 99}, {10.5, 0.02, 0}}))(t)
	must.Near(t, c, 0.5, 1e-9, "two of four clips")
}

func TestRejects(t *testing.T) {
	good := track(3, 1, 0)
	must.Refused(PoseError(good, &Track{}, true))(t, "metrics: a track has no steps")
	must.Refused(RootVelocityError(good, track(1, 1, 0), 0.1))(t, "metrics: a velocity needs two steps")
	must.Refused(NewTrack(motions.HumanoidSkeleton(), [][]float64{make([]float64, 3)}))(t,
		"metrics: row 0 has 3 values; the skeleton humanoid has 35")
	_, _, err := Phases([][]float64{make([]float64, 100)}, 0.1, 1, 6)
	must.Refuse(t, err, "metrics: ", "half the sampling rate")
}

// feetOf are the heights of the quadruped's feet, 30 a second, with noise.
func feetOf(c *motions.Clip, steps int, noise float64) [][]float64 {
	rng := rand.New(rand.NewPCG(3, 1))
	s := c.Skeleton()
	row, positions := make([]float64, c.Width()), make([]float64, 3*len(s.Bodies))
	signals := make([][]float64, 4)
	for k := range steps {
		c.At(float64(k)/30, row, nil)
		s.Forward(row, positions, nil)
		for i, leg := range []string{"FR", "FL", "RR", "RL"} {
			signals[i] = append(signals[i], positions[3*s.Body(leg+"_foot")+2]+noise*rng.NormFloat64())
		}
	}
	return signals
}

// The phases and the frequency of generated gaits are found from their feet in 20 s, with noise of 1 cm on them, too.
func TestPhases(t *testing.T) {
	for _, speed := range []float64{-0.5, 0.3, 0.8, 1.5} {
		hind := 0.05 * max(0, min(1, speed-0.5))
		for noise, allowed := range map[float64]float64{0: 0.005, 0.01: 0.02} { // m, and of a cycle
			c := must.Get(motions.Trot(speed))(t)
			phases, frequency, err := Phases(feetOf(c, 600, noise), 1./30, 1, 4)
			must.Do(t, err)
			must.Near(t, frequency*c.Duration(), 1, 0.03, "%g m/s: %g Hz, want %g", speed, frequency, 1/c.Duration())
			for leg, want := range []float64{0, 0.5, 0.5 - hind, -hind} {
				must.Near(t, math.Remainder(phases[leg]-want, 1), 0, allowed, "%g m/s, leg %d", speed, leg)
			}
		}
	}
}

func ExamplePoseError() {
	walk, err := motions.Builtin("humanoid_walk")
	if err != nil {
		panic(err)
	}
	reference, err := ClipTrack(walk, 0, 1./30, 60)
	if err != nil {
		panic(err)
	}
	episode, err := ClipTrack(walk, 0.1, 1./30, 60) // what a policy did, say
	if err != nil {
		panic(err)
	}
	e, err := PoseError(reference, episode, true)
	fmt.Printf("%.3f m, %v\n", e, err)
	// Output: 0.005 m, <nil>
}
