// Package aggregate joins the results of runs that differ by their seeds alone: means and interquartile means with
// bootstrap confidence intervals, of figures and of curves. The definitions are those of rliable (Agarwal et al., Deep
// Reinforcement Learning at the Edge of the Statistical Precipice, 2021) for one task.
package aggregate

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
)

// Resamples is the number of bootstrap resamples, and Level the confidence level of the intervals.
const (
	Resamples = 2000
	Level     = 0.95
)

// Statistic reduces the values of all seeds to one value. It may change the order of the values.
type Statistic func(values []float64) float64

// Mean returns the arithmetic mean. It is NaN without values.
func Mean(values []float64) float64 { return stat.Mean(values, nil) }

// IQM returns the interquartile mean: the mean without the lowest and the highest quarter of the values, each rounded
// down to a whole number of values (scipy.stats.trim_mean with 0.25). Fewer than four values are all used.
func IQM(values []float64) float64 {
	if slices.ContainsFunc(values, math.IsNaN) { // which has no place in an order
		return math.NaN()
	}
	slices.Sort(values)
	cut := len(values) / 4
	return Mean(values[cut : len(values)-cut])
}

// Estimate is a statistic of all seeds, with the bounds of its confidence interval.
type Estimate struct{ Value, Low, High float64 }

// Of estimates a statistic of the values of several seeds. The bounds are percentiles of the statistic over
// [Resamples] resamples of the seeds with replacement. The resamples are drawn with a fixed seed: equal values give
// equal bounds. With fewer than two values the bounds are NaN.
func Of(values []float64, statistic Statistic) Estimate {
	return estimate(values, statistic, draw(len(values)))
}

// draw returns the indices of all resamples of n seeds.
func draw(n int) [][]int {
	if n < 2 {
		return nil
	}
	random := rand.New(rand.NewPCG(1, 0))
	list := make([][]int, Resamples)
	for i := range list {
		list[i] = make([]int, n)
		for k := range list[i] {
			list[i][k] = random.IntN(n)
		}
	}
	return list
}

func estimate(values []float64, statistic Statistic, resamples [][]int) Estimate {
	row := slices.Clone(values)
	e := Estimate{statistic(row), math.NaN(), math.NaN()}
	if len(resamples) == 0 || math.IsNaN(e.Value) {
		return e
	}
	all := make([]float64, len(resamples))
	for i, indices := range resamples {
		for k, from := range indices {
			row[k] = values[from]
		}
		all[i] = statistic(row)
	}
	slices.Sort(all)
	e.Low, e.High = percentile(all, (1-Level)/2), percentile(all, (1+Level)/2)
	return e
}

// percentile interpolates between the two nearest of sorted values, as numpy.percentile does by default. gonum's
// quantiles have other definitions.
func percentile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Curve is a statistic over an axis, with the bounds of its confidence interval.
type Curve struct{ X, Y, Low, High []float64 }

// maxPoints is the largest number of points of a joined curve.
const maxPoints = 500

// Curves joins the curves of several seeds: curve i goes through (x[i][k], y[i][k]), in ascending order of x. The
// result has the places of all curves, or [maxPoints] equally spaced ones if there are more. Between its points a curve
// is interpolated linearly. The result begins where the last curve begins and ends where the first one ends, so that
// every point is of all seeds. It is empty if the curves have no common range.
func Curves(x, y [][]float64, statistic Statistic) (c Curve) {
	from, to := math.Inf(-1), math.Inf(1)
	for _, own := range x {
		if len(own) == 0 {
			return c
		}
		from, to = max(from, own[0]), min(to, own[len(own)-1])
	}
	for _, own := range x {
		for _, at := range own {
			if at >= from && at <= to {
				c.X = append(c.X, at)
			}
		}
	}
	slices.Sort(c.X)
	if c.X = slices.Compact(c.X); len(c.X) > maxPoints {
		c.X = c.X[:maxPoints]
		for i := range c.X {
			c.X[i] = from + (to-from)*float64(i)/(maxPoints-1)
		}
		c.X[maxPoints-1] = to
	}
	resamples, values := draw(len(x)), make([]float64, len(x))
	for _, at := range c.X {
		for i := range x {
			values[i] = interpolate(x[i], y[i], at)
		}
		e := estimate(values, statistic, resamples)
		c.Y, c.Low, c.High = append(c.Y, e.Value), append(c.Low, e.Low), append(c.High, e.High)
	}
	return c
}

// interpolate returns the value at a place between the first and the last x. Of several values at one place it is the
// last.
func interpolate(x, y []float64, at float64) float64 {
	above := sort.Search(len(x), func(i int) bool { return x[i] > at })
	below := above - 1
	if x[below] == at {
		return y[below]
	}
	return y[below] + (at-x[below])/(x[above]-x[below])*(y[above]-y[below])
}
