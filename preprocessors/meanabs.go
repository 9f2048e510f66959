package preprocessors

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/tensor"
)

// Scaler is what the scalers of this package have in common: statistics of rows of width Size that learn from
// batches.
type Scaler interface {
	// Size is the width of the rows.
	Size() int
	// Learn learns from the rows of x (…, Size), whose values must be finite. It does not wait for the device.
	Learn(s *tensor.Scope, x tensor.Tensor)
	// Forward returns the rows of x (…, Size), scaled. Gradients do not flow through it.
	Forward(s *tensor.Scope, x tensor.Tensor) tensor.Tensor
	// Moments returns what the rows of x (…, Size) amount to, as many float64 as ZeroMoments has: those of several
	// batches, or of several processes with the same statistics, are added up, and Merge learns from the sum what
	// Learn learns from all rows at once.
	Moments(s *tensor.Scope, x tensor.Tensor) tensor.Tensor
	// ZeroMoments returns the moments of no rows.
	ZeroMoments(s *tensor.Scope) tensor.Tensor
	// Merge learns from the rows of which these are the moments.
	Merge(s *tensor.Scope, moments tensor.Tensor)
	// Close releases the statistics. It may be called twice.
	Close()
}

// MeanAbsConfig tunes a [RunningMeanAbsScaler].
type MeanAbsConfig struct {
	// MinMean is the least mean that rows are divided by, so that columns of zeros stay finite. Default 1e-4.
	MinMean float64 `yaml:"min_mean" config:"gt=0"`
	// FreezeAfter is the number of rows after which the statistics stop; 0 is never.
	FreezeAfter float64 `yaml:"freeze_after" config:"min=0"`
}

// DefaultMeanAbsConfig returns the defaults named in [MeanAbsConfig].
func DefaultMeanAbsConfig() MeanAbsConfig { return MeanAbsConfig{MinMean: 1e-4} }

// RunningMeanAbsScaler divides each column of rows of width Size by the running mean of its absolute values. It does
// not subtract a mean, so that 0 stays 0: the discriminator of differences needs that (Zhang et al. 2025, ADD). Its
// statistics are float64.
type RunningMeanAbsScaler struct {
	// Mean is (Size), the mean of |x| of all rows; Count is (1), their number. A new scaler has mean 1 and count 0,
	// so that it changes nothing, and the first rows replace that mean.
	Mean, Count tensor.Tensor

	cfg   MeanAbsConfig
	scope *tensor.Scope
	size  int
}

// NewRunningMeanAbsScaler returns a scaler of rows of the given width on device d.
func NewRunningMeanAbsScaler(size int, cfg MeanAbsConfig, d tensor.Device) (*RunningMeanAbsScaler, error) {
	if size <= 0 {
		return nil, fmt.Errorf("preprocessors: scaler size %d must be positive", size)
	}
	if !(cfg.MinMean > 0) || math.IsInf(cfg.MinMean, 0) || !(cfg.FreezeAfter >= 0) {
		return nil, fmt.Errorf("preprocessors: scaler min_mean %g must be positive and freeze_after %g not "+
			"negative (start from DefaultMeanAbsConfig)",
			cfg.MinMean, cfg.FreezeAfter)
	}
	s := tensor.NoGrad().On(d)
	r := &RunningMeanAbsScaler{cfg: cfg, scope: s, size: size}
	r.Mean, r.Count = s.Full(tensor.Float64, 1, int64(size)), s.Full(tensor.Float64, 0, 1)
	return r, s.Err()
}

// Size is the width of the rows.
func (r *RunningMeanAbsScaler) Size() int { return r.size }

// Learn implements [Scaler].
func (r *RunningMeanAbsScaler) Learn(s *tensor.Scope, x tensor.Tensor) { r.Merge(s, r.Moments(s, x)) }

// Moments implements [Scaler]: the number of rows and the sums of |x|, (Size + 1) float64.
func (r *RunningMeanAbsScaler) Moments(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	shape, n := tensor.Shape(x), int64(1) // Reshape refuses rows of another width
	for _, k := range shape[:max(len(shape)-1, 0)] {
		n *= k
	}
	sum := s.Sum(s.Abs(s.As(s.Reshape(x, n, int64(r.size)), tensor.Float64)), 0)
	return s.Cat(0, s.Full(tensor.Float64, float64(n), 1), sum)
}

// ZeroMoments implements [Scaler].
func (r *RunningMeanAbsScaler) ZeroMoments(s *tensor.Scope) tensor.Tensor {
	return s.Full(tensor.Float64, 0, int64(r.size)+1)
}

// Merge implements [Scaler]. No rows change nothing.
func (r *RunningMeanAbsScaler) Merge(s *tensor.Scope, moments tensor.Tensor) {
	n, sum := s.Narrow(moments, 0, 0, 1), s.Narrow(moments, 0, 1, int64(r.size))
	total := s.Add(r.Count, n)
	mean := s.Div(s.Add(s.Mul(r.Mean, r.Count), sum), s.ClampMin(total, 1))
	keep := s.EqScalar(n, 0)
	if after := r.cfg.FreezeAfter; after > 0 { // decided on the device: the host does not wait for the count
		frozen := s.GtScalar(r.Count, after)
		mean, total = s.Where(frozen, r.Mean, mean), s.Where(frozen, r.Count, total)
	}
	s.Copy(r.Mean, s.Where(keep, r.Mean, mean))
	s.Copy(r.Count, s.Where(keep, r.Count, total))
}

// Forward divides the rows of x (…, Size) by max(mean |x|, min_mean), column by column.
func (r *RunningMeanAbsScaler) Forward(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	return s.Div(s.Detach(x), s.As(s.ClampMin(r.Mean, r.cfg.MinMean), tensor.Float32))
}

// Close implements [Scaler].
func (r *RunningMeanAbsScaler) Close() { r.scope.Close() }
