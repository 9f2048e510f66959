// Package preprocessors brings observations and targets into a range that networks like.
package preprocessors

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/tensor"
)

// ScalerConfig tunes a [RunningStandardScaler].
type ScalerConfig struct {
	// Epsilon is added to the standard deviation. Default 1e-8.
	Epsilon float64 `yaml:"epsilon" config:"gt=0"`
	// ClipThreshold is the bound of scaled values. Default 5.
	ClipThreshold float64 `yaml:"clip_threshold" config:"gt=0"`
	// Unbiased merges each batch's unbiased variance, as skrl 2.0 does. The biased one makes the running variance
	// exact and allows batches of one row.
	Unbiased bool `yaml:"unbiased"`
	// FreezeAfter is the number of rows after which the statistics stop; 0 is never.
	FreezeAfter float64 `yaml:"freeze_after" config:"min=0"`
}

// DefaultScalerConfig returns the defaults named in [ScalerConfig].
func DefaultScalerConfig() ScalerConfig { return ScalerConfig{Epsilon: 1e-8, ClipThreshold: 5} }

// RunningStandardScaler keeps the running mean and variance of rows of width Size, and standardises rows with them
// (skrl: RunningStandardScaler; the merge is Chan et al.'s). Its statistics are float64. A nil scaler is the
// identity.
type RunningStandardScaler struct {
	// Mean and Variance are (Size) and Count is (1), float64. A new scaler has mean 0, variance 1, count 1.
	Mean, Variance, Count tensor.Tensor

	cfg   ScalerConfig
	scope *tensor.Scope
	size  int
}

// NewRunningStandardScaler returns a scaler of rows of the given width on device d.
func NewRunningStandardScaler(size int, cfg ScalerConfig, d tensor.Device) (*RunningStandardScaler, error) {
	if size <= 0 {
		return nil, fmt.Errorf("preprocessors: scaler size %d must be positive", size)
	}
	if !(cfg.Epsilon > 0) || !(cfg.ClipThreshold > 0) || math.IsInf(cfg.Epsilon, 0) || !(cfg.FreezeAfter >= 0) {
		return nil, fmt.Errorf("preprocessors: scaler epsilon %g and clip_threshold %g must be positive, and "+
			"freeze_after %g not negative (start from DefaultScalerConfig)", cfg.Epsilon, cfg.ClipThreshold,
			cfg.FreezeAfter)
	}
	s := tensor.NoGrad().On(d)
	r := &RunningStandardScaler{cfg: cfg, scope: s, size: size}
	r.Mean = s.Full(tensor.Float64, 0, int64(size))
	r.Variance = s.Full(tensor.Float64, 1, int64(size))
	r.Count = s.Full(tensor.Float64, 1, 1)
	return r, s.Err()
}

// Config returns the settings.
func (r *RunningStandardScaler) Config() ScalerConfig { return r.cfg }

// Size is the width of the rows.
func (r *RunningStandardScaler) Size() int { return r.size }

// Learn merges the rows of x (…, Size) into the statistics. Their values must be finite.
func (r *RunningStandardScaler) Learn(s *tensor.Scope, x tensor.Tensor) {
	if r == nil || s.Err() != nil {
		return
	}
	s.ScalerUpdate(x, r.Mean, r.Variance, r.Count, r.cfg.Unbiased, r.cfg.FreezeAfter)
}

// Moments returns what the rows of x (…, Size) amount to, (2·Size + 1) float64: their count n, the sums of their
// distances from the present mean, and the sums of the squares of these. Moments of several batches, or of several
// processes with the same statistics, are added up, and Merge learns from the sum what Learn learns from all rows
// at once.
func (r *RunningStandardScaler) Moments(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	size := int64(r.size)
	d := s.Sub(s.As(s.Reshape(x, tensor.Numel(x)/size, size), tensor.Float64), r.Mean)
	count := s.Full(tensor.Float64, float64(tensor.Numel(x)/size), 1)
	return s.Cat(0, count, s.Sum(d, 0), s.Sum(s.Square(d), 0))
}

// ZeroMoments implements [Scaler].
func (r *RunningStandardScaler) ZeroMoments(s *tensor.Scope) tensor.Tensor {
	return s.Full(tensor.Float64, 0, int64(2*r.size+1))
}

// Merge merges the rows of which these are the moments into the statistics.
func (r *RunningStandardScaler) Merge(s *tensor.Scope, moments tensor.Tensor) {
	size := int64(r.size)
	n, sum, square := s.Narrow(moments, 0, 0, 1), s.Narrow(moments, 0, 1, size), s.Narrow(moments, 0, 1+size, size)
	delta := s.Div(sum, s.ClampMin(n, 1))     // of the mean; no rows change nothing
	batch := s.Sub(square, s.Mul(delta, sum)) // Σ(x − mean of x)²
	if r.cfg.Unbiased {
		batch = s.Div(s.Mul(batch, n), s.AddScalar(n, -1))
	}
	total := s.Add(r.Count, n)
	spread := s.Div(s.Mul(s.Mul(s.Square(delta), r.Count), n), total)
	variance := s.Div(s.Add(s.Add(s.Mul(r.Variance, r.Count), batch), spread), total)
	mean := s.Add(r.Mean, s.Div(s.Mul(delta, n), total))
	if after := r.cfg.FreezeAfter; after > 0 { // decided on the device: the host does not wait for the count
		frozen := s.GtScalar(r.Count, after)
		mean, variance, total = s.Where(frozen, r.Mean, mean), s.Where(frozen, r.Variance, variance), s.Where(frozen,
			r.Count, total)
	}
	s.Copy(r.Mean, mean)
	s.Copy(r.Variance, variance)
	s.Copy(r.Count, total)
}

// Forward standardises the rows of x (…, Size): clamp((x − mean) / (√variance + ε), ±clip_threshold). Gradients do
// not flow through it.
func (r *RunningStandardScaler) Forward(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if r == nil {
		return x
	}
	return s.ScalerForward(x, r.Mean, r.Variance, r.cfg.Epsilon, r.cfg.ClipThreshold)
}

// ForwardColumns is Forward for some columns of rows: columns (n, w) are those from column from on. Gradients flow
// through it.
func (r *RunningStandardScaler) ForwardColumns(s *tensor.Scope, columns tensor.Tensor, from int) tensor.Tensor {
	if r == nil || s.Err() != nil {
		return columns
	}
	w := tensor.Size(columns, 1)
	part := func(x tensor.Tensor) tensor.Tensor { return s.As(s.Narrow(x, 0, int64(from), w), tensor.Float32) }
	deviation := s.AddScalar(s.Sqrt(part(r.Variance)), r.cfg.Epsilon)
	return s.Clamp(s.Div(s.Sub(columns, part(r.Mean)), deviation), -r.cfg.ClipThreshold, r.cfg.ClipThreshold)
}

// Inverse brings standardised rows back: √variance · clamp(x, ±clip_threshold) + mean.
func (r *RunningStandardScaler) Inverse(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if r == nil {
		return x
	}
	return s.ScalerInverse(x, r.Mean, r.Variance, r.cfg.ClipThreshold)
}

// Close releases the statistics. It may be called twice, and on nil.
func (r *RunningStandardScaler) Close() {
	if r != nil {
		r.scope.Close()
	}
}
