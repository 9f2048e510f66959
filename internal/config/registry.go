package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Registry holds what programs register under names, each with settings of its own, to be made from a file. Several
// goroutines may use it at once.
type Registry[T comparable] struct {
	// Kind is what is registered, for messages: "strategy".
	Kind string

	mu    sync.RWMutex
	known map[string]func(kwargs map[string]any) (T, error)
}

// Register adds what build makes from a struct of settings, whose defaults are those of defaults. It panics if the name
// is empty or taken, if defaults is not a struct with well-formed tags, or if build is nil.
func Register[S any, T comparable](r *Registry[T], name string, defaults S, build func(settings S) (T, error)) {
	if build == nil {
		panic(fmt.Sprintf("%s: Register of %q without a function that builds it", r.Kind, name))
	}
	Keys(defaults) // panics if it is no struct, or a malformed one
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" || r.known[name] != nil {
		panic(fmt.Sprintf("%s: the name %q is empty or taken", r.Kind, name))
	}
	if r.known == nil {
		r.known = make(map[string]func(map[string]any) (T, error))
	}
	r.known[name] = func(kwargs map[string]any) (made T, err error) {
		settings := defaults
		if err := Merge(&settings, kwargs, Options{Prefix: r.Kind + ": " + name}); err != nil {
			return made, err
		}
		var none T
		made, err = build(settings)
		if err == nil && made == none {
			err = errors.New("its function returned nothing")
		}
		if err != nil {
			return none, fmt.Errorf("%s: %s: %w", r.Kind, name, err)
		}
		return made, nil
	}
}

// New makes what is registered under a name from keyword arguments.
func (r *Registry[T]) New(name string, kwargs map[string]any) (T, error) {
	r.mu.RLock()
	build := r.known[name]
	r.mu.RUnlock()
	if build == nil {
		var none T
		return none, fmt.Errorf("%s: %q is not registered: %s", r.Kind, name, Among(name, r.Names()))
	}
	return build(kwargs)
}

// Names returns the registered names, sorted.
func (r *Registry[T]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.known))
}
