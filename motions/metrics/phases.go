package metrics

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
)

// Phases finds the rhythm of a gait. signals holds one series a leg, for example the heights of its foot, all of one
// length and dt seconds apart. frequency, between low and high in Hz, is the one at which all signals together have
// most power, in steps of 0.01 Hz. phases are the parts of a cycle by which each signal is ahead of the first one, in
// [0, 1); compare them across 1.
//
// Phases fails if there are no signals, they differ in length, last less than two cycles of low, or do not move.
func Phases(signals [][]float64, dt, low, high float64) (phases []float64, frequency float64, err error) {
	if len(signals) == 0 || !(dt > 0) || !(low > 0) || !(high > low) || high > 0.5/dt {
		return nil, 0, fmt.Errorf("metrics: phases need signals, a time step above 0 and frequencies 0 < low < high "+
			"of at most half the sampling rate, not %g, %g and %g", dt, low, high)
	}
	n := len(signals[0])
	if float64(n)*dt*low < 2 {
		return nil, 0, fmt.Errorf("metrics: phases need two cycles of %g Hz; the signals last %g s", low, float64(n)*dt)
	}
	swings := make([][]float64, len(signals)) // about the means, faded in and out against cut cycles
	for i, s := range signals {
		if len(s) != n {
			return nil, 0, fmt.Errorf("metrics: signal %d has %d values, signal 0 has %d", i, len(s), n)
		}
		mean := 0.0
		for _, x := range s {
			mean += x / float64(n)
		}
		for k, x := range s {
			window := 0.5 - 0.5*math.Cos(2*math.Pi*(float64(k)+0.5)/float64(n))
			swings[i] = append(swings[i], (x-mean)*window)
		}
	}
	most := 0.0
	for f := low; f <= high; f += 0.01 {
		power := 0.0
		for _, s := range swings {
			a := cmplx.Abs(component(s, f*dt))
			power += a * a
		}
		if power > most {
			most, frequency = power, f
		}
	}
	if most < 1e-18 {
		return nil, 0, errors.New("metrics: the signals do not move, so they have no phases")
	}
	first := cmplx.Phase(component(swings[0], frequency*dt))
	for _, s := range swings {
		p := (cmplx.Phase(component(s, frequency*dt)) - first) / (2 * math.Pi)
		phases = append(phases, p-math.Floor(p))
	}
	return phases, frequency, nil
}

// component returns the part of a signal at a frequency in cycles a sample.
func component(s []float64, frequency float64) complex128 {
	sum := complex128(0)
	for k, x := range s {
		sum += complex(x, 0) * cmplx.Rect(1, -2*math.Pi*frequency*float64(k))
	}
	return sum / complex(float64(len(s)), 0)
}
