package schedulers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
)

var (
	mu         sync.RWMutex
	registered = map[string]func(kwargs map[string]any) (own, error){}
)

// Register adds a schedule of one's own under a name, which agents then take as learning_rate_scheduler:
//
//	agent: {learning_rate_scheduler: Sawtooth, learning_rate_scheduler_kwargs: {period: 10}}
//
// defaults is a struct with the defaults of the schedule's settings, and build is given the learning rate to scale
// and the struct with the keyword arguments in it. The tag yaml:"key" names a field's key, and config:"..." says what
// is allowed (min=, max=, gt=, lt= for numbers, oneof=a|b for texts, minlen=, maxlen= for lists). The schedule's Name
// must be the registered one: checkpoints have it.
//
// Agents step a schedule once an update, or once a learning epoch if it UsesKL. One with a method Plan(epochs int64)
// is told how many of these steps the run has, as [Curve.Plan] is.
//
// A name that is taken or empty, defaults that are no struct, and no function are programming errors and panic.
// Register is meant for init functions and the beginning of main, and may be called from several goroutines.
func Register[S any](name string, defaults S, build func(base float64, settings S) (Scheduler, error)) {
	if build == nil {
		panic("schedulers: Register of " + name + " without a function that builds the schedule")
	}
	config.Keys(defaults) // panics if it is no struct, or a malformed one
	_, unknown := resolve(name)
	mu.Lock()
	defer mu.Unlock()
	if name == "" || unknown == nil || registered[name] != nil {
		panic(fmt.Sprintf("schedulers: %q cannot name a schedule: it is empty, or a schedule there is already", name))
	}
	registered[name] = func(kwargs map[string]any) (own, error) {
		settings := defaults
		err := config.Merge(&settings, kwargs, config.Options{Prefix: "schedulers: " + name})
		return own{settings, func(base float64) (Scheduler, error) { return build(base, settings) }}, err
	}
}

// own is a registered schedule with its settings.
type own struct {
	settings any
	build    func(base float64) (Scheduler, error)
}

// schedule makes the registered schedule of a name.
func (o own) schedule(name string, base float64) (Scheduler, error) {
	if err := checkBase(base); err != nil {
		return nil, err
	}
	s, err := o.build(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("schedulers: %s: %w", name, err)
	case s == nil:
		return nil, fmt.Errorf("schedulers: %s: its function returns neither a schedule nor an error", name)
	case s.Name() != name:
		return nil, fmt.Errorf("schedulers: %s: its function returns a schedule with the Name %q; Name must return %q",
			name, s.Name(), name)
	}
	return s, nil
}

// Names are the schedules that [New] makes: gorl's, then registered ones, sorted.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	return append(slices.Clone(builtin), slices.Sorted(maps.Keys(registered))...)
}

// ownOf returns the registered schedule of a name with its settings, nil if the name is one of gorl's.
func ownOf(name string, kwargs map[string]any) (*own, error) {
	mu.RLock()
	read := registered[name]
	mu.RUnlock()
	if read == nil {
		return nil, nil
	}
	o, err := read(kwargs)
	return &o, err
}

// resolve returns the name of a schedule as Names has it.
func resolve(name string) (string, error) {
	if name == "" {
		return "ConstantLR", nil
	}
	lower, names := strings.ToLower(name), Names()
	if canonical, ok := aliases[lower]; ok {
		return canonical, nil
	}
	for _, n := range names {
		if strings.ToLower(n) == lower {
			return n, nil
		}
	}
	return "", &config.Error{Prefix: "schedulers", Path: "learning_rate_scheduler", Given: name,
		Allowed: `one of "` + strings.Join(names, `", "`) + `"`, Nearest: config.Nearest(name, names)}
}
