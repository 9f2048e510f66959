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
// defaults is a struct with the defaults of the schedule's settings. build receives the learning rate to scale, and
// the struct with the keyword arguments merged into it. The tag yaml:"key" is a field's key, and config:"..." says
// which values are allowed (min=, max=, gt=, lt= for numbers, oneof=a|b for texts, minlen=, maxlen= for lists). The
// schedule's Name must return the registered name, because checkpoints store it.
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
	if name == "" || unknown == nil || registered[name] != nil {
		panic(fmt.Sprintf("schedulers: %q cannot name a schedule: it is empty, or a schedule there is already", name))
	}
	registered[name] = func(kwargs map[string]any) (own, error) {
		settings := defaults
		err := config.Merge(&settings, kwargs, config.Options{Prefix: "schedulers: " + name})
		return own{settings, func(base float64) (Scheduler, error) { return build(base, settings) }}, err
	}
}

// own is a registered schedule of the user with its settings.
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

// Names returns the names of the schedules that [New] makes: built-in ones, then registered ones, sorted.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	return append(slices.Clone(builtin), slices.Sorted(maps.Keys(registered))...)
}

// ownOf returns the registered schedule of a name with its settings, or nil if the name is built in.
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
