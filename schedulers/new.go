package schedulers

import (
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

// Names are the schedules that [New] makes.
func Names() []string {
	return []string{"KLAdaptiveLR", "ConstantLR", "LinearLR", "CosineLR", "StepLR", "ExponentialLR"}
}

// aliases are further names, in lower case.
var aliases = map[string]string{
	"kladaptiverl": "KLAdaptiveLR", "kl_adaptive": "KLAdaptiveLR",
	"cosineannealinglr": "CosineLR", "cosine_annealing": "CosineLR",
	"constant": "ConstantLR", "linear": "LinearLR", "cosine": "CosineLR", "step": "StepLR", "exponential": "ExponentialLR",
}

// New makes the schedule of the given name on the learning rate base from the keyword arguments of skrl's or PyTorch's
// scheduler of that name; all take warmup_steps (default 0), warmup_factor (default 0.1) and min_lr too. The names are
// those of [Names], in any case; CosineAnnealingLR and KLAdaptiveRL; and kl_adaptive, constant, linear, cosine, step,
// exponential. The empty name is ConstantLR.
//
// An unknown name or key, a wrong type or a value out of range is an error that says what is allowed.
func New(name string, base float64, kwargs map[string]any) (Scheduler, error) {
	s, _, err := read(name, base, kwargs)
	return s, err
}

// Settings are the keyword arguments of [New] with every default in them, under the names of this package's structs.
func Settings(name string, kwargs map[string]any) (map[string]any, error) {
	_, settings, err := read(name, 1, kwargs)
	return settings, err
}

func read(name string, base float64, kwargs map[string]any) (Scheduler, map[string]any, error) {
	canonical, err := resolve(name)
	if err != nil {
		return nil, nil, err
	}
	limits := Limits{Warmup: Warmup{Factor: DefaultWarmupFactor}}
	switch canonical {
	case "KLAdaptiveLR":
		cfg := DefaultKLAdaptive()
		cfg.Warmup = limits.Warmup
		return build(canonical, base, cfg, kwargs, nil, NewKLAdaptive)
	case "LinearLR":
		cfg := DefaultLinear()
		cfg.Limits = limits
		return build(canonical, base, cfg, kwargs, nil, NewLinear)
	case "CosineLR":
		return build(canonical, base, CosineConfig{Limits: limits}, kwargs,
			map[string]config.Alias{"eta_min": {Key: "min_lr"}, "t_max": {Key: "T_max"}}, NewCosine)
	case "StepLR":
		return build(canonical, base, StepConfig{Gamma: 0.1, Limits: limits}, kwargs, nil, NewStep)
	case "ExponentialLR":
		return build(canonical, base, ExponentialConfig{Limits: limits}, kwargs, nil, NewExponential)
	}
	return build(canonical, base, ConstantConfig{Factor: 1, Limits: limits}, kwargs, nil, NewConstant)
}

func resolve(name string) (string, error) {
	if name == "" {
		return "ConstantLR", nil
	}
	lower := strings.ToLower(name)
	if canonical, ok := aliases[lower]; ok {
		return canonical, nil
	}
	for _, n := range Names() {
		if strings.ToLower(n) == lower {
			return n, nil
		}
	}
	// The choices stand in a struct tag, so that the error is the one that every other setting gives.
	return "", config.Check(struct {
		Name string `yaml:"learning_rate_scheduler" config:"oneof=KLAdaptiveLR|ConstantLR|LinearLR|CosineLR|StepLR|ExponentialLR"`
	}{name}, "schedulers")
}

// build merges kwargs over the defaults, hands them to the constructor, and returns them all.
func build[C any, S Scheduler](name string, base float64, cfg C, kwargs map[string]any, aliases map[string]config.Alias,
	construct func(float64, C) (S, error)) (Scheduler, map[string]any, error) {
	if err := config.Merge(&cfg, kwargs, config.Options{Prefix: "schedulers: " + name, Aliases: aliases}); err != nil {
		return nil, nil, err
	}
	s, err := construct(base, cfg)
	if err != nil {
		return nil, nil, err
	}
	return s, config.Dict(cfg), nil
}
