package schedulers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
)

// builtin lists the names of the built-in schedules.
var builtin = []string{"KLAdaptiveLR", "ConstantLR", "LinearLR", "CosineLR", "StepLR", "ExponentialLR"}

// aliases are further names, in lower case.
var aliases = map[string]string{
	"": "ConstantLR", "kladaptiverl": "KLAdaptiveLR", "kl_adaptive": "KLAdaptiveLR",
	"cosineannealinglr": "CosineLR", "cosine_annealing": "CosineLR",
	"constant": "ConstantLR", "linear": "LinearLR", "cosine": "CosineLR", "step": "StepLR",
	"exponential": "ExponentialLR",
}

// build makes a schedule, whose settings are known, on a learning rate.
type build func(base float64) (Scheduler, error)

// registry reads the settings of the schedules, with their defaults, by the schedules' names, built-in or registered.
var (
	mu       sync.RWMutex
	registry = map[string]func(kwargs map[string]any) (settings any, construct build, err error){}
)

func init() {
	limits := Limits{Warmup: Warmup{Factor: DefaultWarmupFactor}}
	adaptive, linear := DefaultKLAdaptive(), DefaultLinear()
	adaptive.Warmup, linear.Limits = limits.Warmup, limits
	registry["KLAdaptiveLR"] = reader("KLAdaptiveLR", adaptive, newKLAdaptive)
	registry["ConstantLR"] = reader("ConstantLR", ConstantConfig{Factor: 1, Limits: limits}, newConstant)
	registry["LinearLR"] = reader("LinearLR", linear, newLinear)
	registry["CosineLR"] = reader("CosineLR", CosineConfig{Limits: limits}, newCosine)
	registry["StepLR"] = reader("StepLR", StepConfig{Gamma: 0.1, Limits: limits}, newStep)
	registry["ExponentialLR"] = reader("ExponentialLR", ExponentialConfig{Limits: limits}, newExponential)
}

// reader returns the function that merges keyword arguments into a schedule's defaults.
func reader[C any, S Scheduler](name string, defaults C, construct func(float64, C) (S, error)) func(
	map[string]any) (any, build, error) {
	options := config.Options{Prefix: "schedulers: " + name}
	if name == "CosineLR" { // PyTorch's names
		options.Aliases = map[string]config.Alias{"eta_min": {Key: "min_lr"}, "t_max": {Key: "T_max"}}
	}
	config.Declare("schedules", name, defaults, slices.Collect(maps.Keys(options.Aliases))...)
	return func(kwargs map[string]any) (any, build, error) {
		cfg := defaults
		err := config.Merge(&cfg, kwargs, options)
		return cfg, func(base float64) (Scheduler, error) {
			s, err := construct(base, cfg)
			if err != nil { // a nil S would be no nil Scheduler
				return nil, err
			}
			return s, nil
		}, err
	}
}

// New makes the schedule of the given name on the learning rate base from the keyword arguments of skrl's or PyTorch's
// scheduler of that name; all take warmup_steps (default 0), warmup_factor (default 0.1) and min_lr too. The names are
// those of [Names], those of [Register] among them, in any case; CosineAnnealingLR and KLAdaptiveRL; and kl_adaptive,
// constant, linear, cosine, step, exponential. The empty name is ConstantLR.
//
// An unknown name or key, a wrong type or a value out of range is an error that says what is allowed.
func New(name string, base float64, kwargs map[string]any) (Scheduler, error) {
	_, construct, err := settle(name, kwargs)
	if err != nil {
		return nil, err
	}
	return construct(base)
}

// Settings are the keyword arguments of [New] with every default in them, under the names of this package's structs.
func Settings(name string, kwargs map[string]any) (map[string]any, error) {
	settings, _, err := settle(name, kwargs)
	if err != nil {
		return nil, err
	}
	return config.Dict(settings), nil
}

// Names returns the names of the schedules that [New] makes: built-in ones, then registered ones, sorted.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	own := slices.DeleteFunc(slices.Sorted(maps.Keys(registry)), func(name string) bool {
		return slices.Contains(builtin, name)
	})
	return append(slices.Clone(builtin), own...)
}

// settle finds a schedule by any of its names and reads its settings.
func settle(name string, kwargs map[string]any) (settings any, construct build, err error) {
	canonical, err := resolve(name)
	if err != nil {
		return nil, nil, err
	}
	mu.RLock()
	read := registry[canonical]
	mu.RUnlock()
	return read(kwargs)
}

// resolve returns the name of a schedule as Names has it.
func resolve(name string) (string, error) {
	lower, names := strings.ToLower(name), Names()
	if canonical, ok := aliases[lower]; ok {
		return canonical, nil
	}
	if i := slices.IndexFunc(names, func(n string) bool { return strings.ToLower(n) == lower }); i >= 0 {
		return names[i], nil
	}
	return "", &config.Error{Prefix: "schedulers", Path: "learning_rate_scheduler", Given: name,
		Allowed: `one of "` + strings.Join(names, `", "`) + `"`, Nearest: config.Nearest(name, names)}
}

// Register adds a schedule of one's own under a name, which agents then take as learning_rate_scheduler:
//
//	agent: {learning_rate_scheduler: Sawtooth, learning_rate_scheduler_kwargs: {period: 10}}
//
// defaults is a struct with the defaults of the schedule's settings. build receives the learning rate to scale, and
// the struct with the keyword arguments merged into it. The tag yaml:"key" is a field's key, and config:"..." says
// which values are allowed (min=, max=, gt=, lt= for numbers, oneof=a|b for texts, minlen=, maxlen= for lists). The
// schedule's Name must return the registered name, because checkpoints store it. [NewCurve] makes a schedule of a
// function of the epoch.
//
// Agents step a schedule once an update, or once a learning epoch if it UsesKL. If the schedule has a method
// Plan(epochs int64), agents call it with the number of these steps in the run, as they call [Curve.Plan].
//
// Register panics if the name is taken or empty, if defaults is not a struct, or if build is nil. Call it from init
// functions or at the start of main; several goroutines may call it at once.
func Register[S any](name string, defaults S, build func(base float64, settings S) (Scheduler, error)) {
	if build == nil {
		panic("schedulers: Register of " + name + " without a function that builds the schedule")
	}
	config.Keys(defaults) // panics if it is no struct, or a malformed one
	_, unknown := resolve(name)
	mu.Lock()
	defer mu.Unlock()
	if unknown == nil || registry[name] != nil {
		panic(fmt.Sprintf("schedulers: %q cannot name a schedule: it is empty, or a schedule there is already", name))
	}
	registry[name] = reader(name, defaults, func(base float64, settings S) (s Scheduler, err error) {
		if err := checkBase(base); err != nil {
			return nil, err
		}
		switch s, err = build(base, settings); {
		case err != nil:
			return nil, fmt.Errorf("schedulers: %s: %w", name, err)
		case s == nil:
			return nil, fmt.Errorf("schedulers: %s: its function returns neither a schedule nor an error", name)
		case s.Name() != name:
			return nil, fmt.Errorf("schedulers: %s: its function returns a schedule with the Name %q; Name must "+
				"return %q", name, s.Name(), name)
		}
		return s, nil
	})
}
