package schedulers

import (
	"github.com/gorl-dev/gorl/internal/config"
)

// builtin lists the names of the built-in schedules.
var builtin = []string{"KLAdaptiveLR", "ConstantLR", "LinearLR", "CosineLR", "StepLR", "ExponentialLR"}

// aliases are further names, in lower case.
var aliases = map[string]string{
	"kladaptiverl": "KLAdaptiveLR", "kl_adaptive": "KLAdaptiveLR",
	"cosineannealinglr": "CosineLR", "cosine_annealing": "CosineLR",
	"constant": "ConstantLR", "linear": "LinearLR", "cosine": "CosineLR", "step": "StepLR",
	"exponential": "ExponentialLR",
}

// New makes the schedule of the given name on the learning rate base from the keyword arguments of skrl's or PyTorch's
// scheduler of that name; all take warmup_steps (default 0), warmup_factor (default 0.1) and min_lr too. The names are
// those of [Names], those of [Register] among them, in any case; CosineAnnealingLR and KLAdaptiveRL; and kl_adaptive,
// constant, linear, cosine, step, exponential. The empty name is ConstantLR.
//
// An unknown name or key, a wrong type or a value out of range is an error that says what is allowed.
func New(name string, base float64, kwargs map[string]any) (Scheduler, error) {
	canonical, err := resolve(name)
	if err != nil {
		return nil, err
	}
	switch o, err := ownOf(canonical, kwargs); {
	case err != nil:
		return nil, err
	case o != nil:
		return o.schedule(canonical, base)
	}
	s, _, err := read(canonical, base, kwargs)
	return s, err
}

// Settings are the keyword arguments of [New] with every default in them, under the names of this package's structs.
func Settings(name string, kwargs map[string]any) (map[string]any, error) {
	canonical, err := resolve(name)
	if err != nil {
		return nil, err
	}
	switch o, err := ownOf(canonical, kwargs); {
	case err != nil:
		return nil, err
	case o != nil:
		return config.Dict(o.settings), nil
	}
	_, settings, err := read(canonical, 1, kwargs)
	return settings, err
}

// read makes a built-in schedule, by its name in Names.
func read(canonical string, base float64, kwargs map[string]any) (Scheduler, map[string]any, error) {
	limits := Limits{Warmup: Warmup{Factor: DefaultWarmupFactor}}
	switch canonical {
	case "KLAdaptiveLR":
		cfg := DefaultKLAdaptive()
		cfg.Warmup = limits.Warmup
		return construct(canonical, base, cfg, kwargs, nil, NewKLAdaptive)
	case "LinearLR":
		cfg := DefaultLinear()
		cfg.Limits = limits
		return construct(canonical, base, cfg, kwargs, nil, NewLinear)
	case "CosineLR":
		return construct(canonical, base, CosineConfig{Limits: limits}, kwargs,
			map[string]config.Alias{"eta_min": {Key: "min_lr"}, "t_max": {Key: "T_max"}}, NewCosine)
	case "StepLR":
		return construct(canonical, base, StepConfig{Gamma: 0.1, Limits: limits}, kwargs, nil, NewStep)
	case "ExponentialLR":
		return construct(canonical, base, ExponentialConfig{Limits: limits}, kwargs, nil, NewExponential)
	}
	return construct(canonical, base, ConstantConfig{Factor: 1, Limits: limits}, kwargs, nil, NewConstant)
}

// construct merges kwargs over the defaults, hands them to the constructor, and returns them all.
func construct[C any, S Scheduler](name string, base float64, cfg C, kwargs map[string]any,
	aliases map[string]config.Alias, create func(float64, C) (S, error)) (Scheduler, map[string]any, error) {
	if err := config.Merge(&cfg, kwargs, config.Options{Prefix: "schedulers: " + name, Aliases: aliases}); err != nil {
		return nil, nil, err
	}
	s, err := create(base, cfg)
	if err != nil {
		return nil, nil, err
	}
	return s, config.Dict(cfg), nil
}
