// Package preprocessors brings observations and targets into a range that networks like.
package preprocessors

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/tensor"
)

// ScalerConfig tunes a [RunningStandardScaler].
type ScalerConfig struct {
	// Epsilon is added to the standard deviation, default 1e-8.
	Epsilon float64 `yaml:"epsilon" config:"gt=0"`
	// ClipThreshold limits normalised values to ±ClipThreshold, default 5.
	ClipThreshold float64 `yaml:"clip_threshold" config:"gt=0"`
	// Unbiased merges each batch's unbiased variance, as skrl 2.0 does. The default merges the biased one, which makes
	// the running variance exact and lets a batch have a single row.
	Unbiased bool `yaml:"unbiased"`
	// FreezeAfter stops the statistics after so many rows; 0 never does.
	FreezeAfter float64 `yaml:"freeze_after" config:"min=0"`
}

// DefaultScalerConfig returns the defaults named in [ScalerConfig].
func DefaultScalerConfig() ScalerConfig { return ScalerConfig{Epsilon: 1e-8, ClipThreshold: 5} }

// RunningStandardScaler keeps the running mean and variance of rows of width Size, and standardises rows with them
// (skrl: RunningStandardScaler; the merge is Chan et al.'s). Its statistics are float64. A nil scaler is the identity.
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
	if !(cfg.Epsilon > 0) || !(cfg.ClipThreshold > 0) || math.IsInf(cfg.Epsilon, 0) {
		return nil, fmt.Errorf("preprocessors: scaler epsilon %g and clip_threshold %g must be positive (start from DefaultScalerConfig)", cfg.Epsilon, cfg.ClipThreshold)
	}
	if !(cfg.FreezeAfter >= 0) {
		return nil, fmt.Errorf("preprocessors: scaler freeze_after %g must not be negative", cfg.FreezeAfter)
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

// Update merges the rows of x (…, Size) into the statistics.
func (r *RunningStandardScaler) Update(s *tensor.Scope, x tensor.Tensor) {
	if r == nil || s.Err() != nil {
		return
	}
	s.ScalerUpdate(x, r.Mean, r.Variance, r.Count, r.cfg.Unbiased, r.cfg.FreezeAfter)
}

// Forward standardises the rows of x (…, Size): clamp((x − mean) / (√variance + ε), ±clip_threshold). Gradients do not
// flow through it.
func (r *RunningStandardScaler) Forward(s *tensor.Scope, x tensor.Tensor) tensor.Tensor {
	if r == nil {
		return x
	}
	return s.ScalerForward(x, r.Mean, r.Variance, r.cfg.Epsilon, r.cfg.ClipThreshold)
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
