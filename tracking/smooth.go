package tracking

import (
	"fmt"
	"math"
)

// Smoothed returns the curve's exponential moving average with a weight from 0, which changes nothing, to below 1: every
// value is weight times the average before it plus 1 − weight times the value, divided by 1 − weightⁿ after n values, so that
// the beginning is not drawn towards 0. It is what TensorBoard shows. Values that are not finite stay as they are and leave
// the average alone. Weights outside [0, 1) are an error.
func (s Series) Smoothed(weight float64) (Series, error) {
	if !(weight >= 0 && weight < 1) {
		return s, fmt.Errorf("tracking: the weight of smoothing is %v; want a number from 0 to below 1", weight)
	}
	average, missing := 0.0, 1.0 // missing is weightⁿ
	y := make([]float64, len(s.Y))
	for i, v := range s.Y {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			y[i] = v
			continue
		}
		average = weight*average + (1-weight)*v
		missing *= weight
		y[i] = average / (1 - missing)
	}
	s.Y = y
	return s, nil
}
