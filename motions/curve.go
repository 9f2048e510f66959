package motions

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// GaitCurve is an angle in degrees over a cycle: the sum of Waves and of a line through Knots.
type GaitCurve struct {
	Waves []GaitWave
	// Knots are (phase, degrees) with phases rising from 0 to 1, joined by straight lines. May be empty.
	Knots [][2]float64
	// Harmonics is how many harmonics of the line through Knots are kept; the rest is smoothed away.
	Harmonics int
}

// GaitWave is Amplitude·cos(2π·Order·phase + Phase), in degrees; Phase is in radians.
type GaitWave struct {
	Order            int
	Amplitude, Phase float64
}

// curveSamples is how finely the line through the knots is sampled before smoothing.
const curveSamples = 200

func (c GaitCurve) check() error {
	if len(c.Waves) == 0 && len(c.Knots) == 0 {
		return errors.New("has neither waves nor knots")
	}
	for i, w := range c.Waves {
		if !finite(w.Amplitude) || !finite(w.Phase) {
			return fmt.Errorf("wave %d is not finite", i)
		}
	}
	if len(c.Knots) == 0 {
		return nil
	}
	for i, k := range c.Knots {
		if !finite(k[0]) || !finite(k[1]) {
			return fmt.Errorf("knot %d is not finite", i)
		}
		if i > 0 && k[0] <= c.Knots[i-1][0] {
			return fmt.Errorf("the phase of knot %d must be above that of knot %d", i, i-1)
		}
	}
	if c.Knots[0][0] != 0 || c.Knots[len(c.Knots)-1][0] != 1 {
		return errors.New("the knots' phases must go from 0 to 1")
	}
	if c.Harmonics < 1 || c.Harmonics > curveSamples/2 {
		return fmt.Errorf("Harmonics must be between 1 and %d where there are knots, and is %d", curveSamples/2, c.Harmonics)
	}
	return nil
}

func finite(x float64) bool { return !infinite(x) }

// infinite reports whether x is an infinity or NaN.
func infinite(x float64) bool { return x-x != 0 }

// function returns the curve as a function of any phase.
func (c GaitCurve) function() func(phase float64) float64 {
	var table []float64
	if len(c.Knots) > 0 {
		table = make([]float64, curveSamples)
		for i := range table {
			table[i] = throughKnots(c.Knots, float64(i)/curveSamples)
		}
		table = lowPass(table, c.Harmonics)
	}
	return func(phase float64) float64 {
		y := 0.0
		for _, w := range c.Waves {
			y += w.Amplitude * math.Cos(2*math.Pi*float64(w.Order)*phase+w.Phase)
		}
		if table == nil {
			return y
		}
		at := (phase - math.Floor(phase)) * curveSamples
		i := int(at)
		a, b := table[i%curveSamples], table[(i+1)%curveSamples]
		return y + a + (at-float64(i))*(b-a)
	}
}

func throughKnots(knots [][2]float64, x float64) float64 {
	i := sort.Search(len(knots), func(i int) bool { return knots[i][0] > x })
	if i == len(knots) {
		return knots[i-1][1]
	}
	a, b := knots[i-1], knots[i]
	return a[1] + (x-a[0])/(b[0]-a[0])*(b[1]-a[1])
}

// lowPass keeps the mean and the given number of harmonics of one period of samples.
func lowPass(samples []float64, harmonics int) []float64 {
	n := len(samples)
	out := make([]float64, n)
	for h := 0; h <= harmonics && 2*h <= n; h++ {
		var re, im float64
		for i, x := range samples {
			s, c := math.Sincos(2 * math.Pi * float64(h*i%n) / float64(n))
			re += x * c
			im += x * s
		}
		scale := 2 / float64(n)
		if h == 0 || 2*h == n {
			scale = 1 / float64(n)
		}
		for i := range out {
			s, c := math.Sincos(2 * math.Pi * float64(h*i%n) / float64(n))
			out[i] += scale * (re*c + im*s)
		}
	}
	return out
}
