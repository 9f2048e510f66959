package onpolicy

import (
	"fmt"
	"math"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tensor"
)

// One finite value can ruin running statistics. After a value of 1e8 among 128,000 of unit variance, the variance is
// 8e10, and all other values are standardised to about the same number for the rest of the run. The agent does not
// clip, because its numbers must equal skrl's. Instead, if a variance has jumped in an update, the agent searches the
// rollout for outliers and reports them (agents.Noter). Other updates do not read the rollout for this.
const (
	// jump is the factor by which a variance must grow in one update to start the search. The first update always
	// searches.
	jump = 100
	// farAway is the least distance of an outlier from the mean of the other values, in their standard deviations. A
	// deviation below 1 counts as 1, so that rare events in columns that hardly vary are no outliers.
	farAway = 1e5
	// tooLarge is the upper bound of rewards, and of mean and deviation of returns. Squares of larger values, summed
	// over a rollout, overflow float32 (3.4e38).
	tooLarge = 1 << 60
)

// outlierCheck checks the statistics of scalers at the end of an update.
type outlierCheck struct {
	*Core
	noted map[string]bool // the columns, FIELD/INDEX, whose outliers have been reported
}

// check returns a DivergedError, which undoes the update, if a scaler's statistics are not finite or too large for
// float32. It reports the outliers behind statistics that have jumped. after and before are the numbers of
// scalers.statistics now and before the update. rewards are the rollout's as they were then.
func (c *outlierCheck) check(after, before []float64, rewards tensor.Tensor) error {
	for _, x := range c.all {
		jumped := c.Updates == 0
		for _, of := range x.statistics() {
			spread := of.name == layout.RunningVariance || of.name == layout.RunningMeanAbs
			limit := math.MaxFloat64
			if x.name == layout.ValueScaler && of.name == layout.RunningMean {
				limit = tooLarge
			} else if x.name == layout.ValueScaler && spread {
				limit = tooLarge * tooLarge
			}
			n := tensor.Numel(of.Tensor)
			for i, v := range after[:n] {
				if !(math.Abs(v) <= limit) {
					detail := fmt.Sprintf("%s of %s has become %g in dimension %d, which float32 cannot compute with",
						of.name, x.name, v, i)
					return &agents.DivergedError{Agent: c.name, Detail: detail}
				}
				jumped = jumped || spread && v > jump*before[i]
			}
			after, before = after[n:], before[n:]
		}
		if jumped {
			if err := c.noteOutliers(x.name, rewards); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteOutliers searches the rows of the rollout that a scaler has learned from for outliers. It reports each column
// once. Pictures are not searched.
func (c *outlierCheck) noteOutliers(scaler string, rewards tensor.Tensor) error {
	field := map[string]string{layout.ObservationScaler: "observations", layout.StateScaler: "states",
		layout.ValueScaler: "rewards", layout.AMPObservationScaler: "amp_observations"}[scaler]
	rows := c.Rollout.Rows(field)
	if field == "rewards" { // an update may have changed them
		rows = rewards
	}
	if tensor.TypeOf(rows) == tensor.Uint8 {
		return nil
	}
	values, err := tensor.Float32s(rows)
	if err != nil {
		return err
	}
	width, found, more := len(values)/(c.Rollout.Steps()*c.numEnvs), "", 0
	for _, o := range outliers(values, width, c.recordedInvalid()) {
		key := fmt.Sprint(field, "/", o.column)
		if c.noted[key] {
			continue
		}
		c.noted[key] = true
		if found != "" {
			more++
			continue
		}
		at := ""
		if width > 1 {
			at = fmt.Sprintf(", dimension %d", o.column)
		}
		found = fmt.Sprintf("%s: %s: environment %d%s is %g at timestep %d, where the others have mean %.3g and "+
			"standard deviation %.3g; %s has learned from it and will hardly tell them apart; repair or clip what the "+
			"environment returns, and begin again or go on from an earlier checkpoint", c.prefix,
			strings.ReplaceAll(field, "amp_", "AMP "), o.row%c.numEnvs, at, o.value,
			c.Timestep-int64(c.Rollout.Steps())+int64(o.row/c.numEnvs), o.mean, o.deviation, scaler)
	}
	if more > 0 {
		found += fmt.Sprintf(" (%d more dimensions have outliers)", more)
	}
	if found != "" {
		c.Figures.Note(found)
	}
	return nil
}

// outlier is a value far away from the others of its column.
type outlier struct {
	row, column     int
	value           float32
	mean, deviation float64 // of the column's other values
}

// outliers returns, for each column that has outliers, the value farthest from the mean. Up to a tenth of the rows may
// be outliers. Rows whose skip is true are ignored.
func outliers(values []float32, width int, skip []bool) (found []outlier) {
	sums, least, most, n := make([]float64, width), make([]int, width), make([]int, width), 0
	for row, skipped := range skip {
		if skipped {
			continue
		}
		x := values[row*width : (row+1)*width]
		for j, v := range x {
			sums[j] += float64(v)
			if n == 0 || v < values[least[j]*width+j] {
				least[j] = row
			}
			if n == 0 || v > values[most[j]*width+j] {
				most[j] = row
			}
		}
		n++
	}
	for j := range width {
		mean, o := sums[j]/float64(n), outlier{row: most[j], column: j}
		if mean-float64(values[least[j]*width+j]) > float64(values[o.row*width+j])-mean {
			o.row = least[j]
		}
		o.value = values[o.row*width+j]
		half := math.Abs(float64(o.value)-mean) / 2
		if half < farAway/4 { // too close to the mean to be an outlier
			continue
		}
		sum, squares, others := 0.0, 0.0, 0.0
		for row, skipped := range skip {
			v := float64(values[row*width+j])
			if !skipped && math.Abs(v-float64(o.value)) > half {
				sum, squares, others = sum+v-mean, squares+(v-mean)*(v-mean), others+1
			}
		}
		off := sum / others
		o.mean, o.deviation = mean+off, math.Sqrt(max(squares/others-off*off, 0))
		if others >= 0.9*float64(n) && math.Abs(float64(o.value)-o.mean) > farAway*max(o.deviation, 1) {
			found = append(found, o)
		}
	}
	return found
}
