package schedulers

import "math"

// ConstantConfig tunes ConstantLR.
type ConstantConfig struct {
	// Factor scales the base rate during the first TotalIters epochs. Default 1 (PyTorch: 1/3, of 5 epochs).
	Factor     float64 `yaml:"factor" config:"min=0,max=1"`
	TotalIters int64   `yaml:"total_iters" config:"min=0"`
	Limits     `yaml:",inline"`
}

// newConstant returns a schedule that stays at base.
func newConstant(base float64, cfg ConstantConfig) (*Curve, error) {
	return newCurve("ConstantLR", base, cfg, cfg.Limits, 0, func(base float64, t, _ int64) float64 {
		if t < cfg.TotalIters {
			return base * cfg.Factor
		}
		return base
	})
}

// LinearConfig tunes LinearLR.
type LinearConfig struct {
	// StartFactor and EndFactor scale the base rate at the first and last epoch. Default 1/3 and 1 (PyTorch). A
	// decay to zero is 1 and 0.
	StartFactor float64 `yaml:"start_factor" config:"gt=0,max=1"`
	EndFactor   float64 `yaml:"end_factor" config:"min=0,max=1"`
	// TotalIters is the number of epochs to EndFactor, which then stays. Default 5 (PyTorch). [Auto] ("auto") is the
	// length of the run.
	TotalIters Iterations `yaml:"total_iters"`
	// StartEpoch is the epoch of the line at which the run starts. 1 is Stable-Baselines3's: with [Auto], update k
	// of K has the rate base·(1 − k/K).
	StartEpoch int64 `yaml:"start_epoch" config:"min=0"`
	Limits     `yaml:",inline"`
}

// DefaultLinear is PyTorch's default configuration.
func DefaultLinear() LinearConfig {
	return LinearConfig{StartFactor: 1.0 / 3, EndFactor: 1, TotalIters: 5}
}

// newLinear returns a schedule that goes in a straight line from StartFactor·base to EndFactor·base.
func newLinear(base float64, cfg LinearConfig) (*Curve, error) {
	if err := cfg.TotalIters.check("LinearLR", "total_iters"); err != nil {
		return nil, err
	}
	return newCurve("LinearLR", base, cfg, cfg.Limits, cfg.TotalIters, func(base float64, t, end int64) float64 {
		part := math.Min(float64(t+cfg.StartEpoch)/float64(end), 1)
		return base * (cfg.StartFactor + (cfg.EndFactor-cfg.StartFactor)*part)
	})
}

// CosineConfig tunes CosineLR. Its floor MinLR (eta_min in dictionaries) is where the cosine ends.
type CosineConfig struct {
	// TMax is the number of epochs to MinLR, which then stays. There is no default. [Auto] ("auto") is the length of
	// the run.
	TMax   Iterations `yaml:"T_max"`
	Limits `yaml:",inline"`
}

// newCosine returns a schedule that falls from base to the floor along half a cosine (Loshchilov & Hutter 2017, without
// restarts).
func newCosine(base float64, cfg CosineConfig) (*Curve, error) {
	if err := cfg.TMax.check("CosineLR", "T_max"); err != nil {
		return nil, err
	}
	return newCurve("CosineLR", base, cfg, cfg.Limits, cfg.TMax, func(base float64, t, end int64) float64 {
		if t >= end {
			return cfg.MinLR
		}
		return cfg.MinLR + (base-cfg.MinLR)*(1+math.Cos(math.Pi*float64(t)/float64(end)))/2
	})
}

// StepConfig tunes StepLR.
type StepConfig struct {
	// StepSize is the number of epochs of a step. There is no default.
	StepSize int64 `yaml:"step_size" config:"min=1"`
	// Gamma is the factor of the rate at the end of each. Default 0.1.
	Gamma  float64 `yaml:"gamma" config:"gt=0,max=1"`
	Limits `yaml:",inline"`
}

// newStep returns a schedule that is multiplied by Gamma every StepSize epochs.
func newStep(base float64, cfg StepConfig) (*Curve, error) {
	return newCurve("StepLR", base, cfg, cfg.Limits, 0, func(base float64, t, _ int64) float64 {
		return base * math.Pow(cfg.Gamma, float64(t/cfg.StepSize))
	})
}

// ExponentialConfig tunes ExponentialLR.
type ExponentialConfig struct {
	// Gamma is the factor of the rate per epoch. There is no default.
	Gamma  float64 `yaml:"gamma" config:"gt=0,max=1"`
	Limits `yaml:",inline"`
}

// newExponential returns a schedule that is multiplied by Gamma each epoch.
func newExponential(base float64, cfg ExponentialConfig) (*Curve, error) {
	return newCurve("ExponentialLR", base, cfg, cfg.Limits, 0, func(base float64, t, _ int64) float64 {
		return base * math.Pow(cfg.Gamma, float64(t))
	})
}
