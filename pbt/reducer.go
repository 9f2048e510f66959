package pbt

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// reducers are the known ones, the default first.
var reducers = []Reducer{ReduceMean, ReduceMedian, ReduceMin, ReduceMax, ReduceLast, ReduceEMA, ReduceLCB}

// reduce makes one number of at least one measurement, oldest first. A NaN among those it looks at makes it NaN.
func (r Reducer) reduce(x []float64, minimise bool) float64 {
	switch r {
	case ReduceMedian:
		return median(x)
	case ReduceMin:
		return slices.Min(x)
	case ReduceMax:
		return slices.Max(x)
	case ReduceLast:
		return x[len(x)-1]
	case ReduceEMA:
		weight, average := 2/float64(len(x)+1), x[0]
		for _, v := range x[1:] {
			average += weight * (v - average)
		}
		return average
	case ReduceLCB:
		mean, deviation := stat.MeanStdDev(x, nil)
		if len(x) == 1 { // one measurement says nothing about its own error
			return mean
		}
		if minimise {
			return mean + stat.StdErr(deviation, float64(len(x)))
		}
		return mean - stat.StdErr(deviation, float64(len(x)))
	}
	return stat.Mean(x, nil)
}

// median is the middle one, or the mean of the two in the middle.
func median(x []float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}
