package models

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// Role is what a registered network is made for.
type Role struct {
	// Spaces are those of the environment; for a discriminator Observation is the AMP observation space.
	Spaces spaces.Set
	// Outputs is the number of values that the network makes of a row: what the distribution of the policy's actions
	// needs, and 1 for a value or a discriminator.
	Outputs int
	// Seed is for the first parameters.
	Seed int64
}

// own is a registered network with its settings.
type own struct {
	settings any
	build    func(Role) (Network, error)
}

var (
	mu         sync.RWMutex
	registered = map[string]func(prefix string, dict map[string]any) (*own, error){}
)

// Register adds a user's network under a name, which files give as the class of a model:
//
//	models:
//	  policy: {class: Residual, width: 64}
//	  value: {class: Residual}
//
// defaults is a struct with the defaults of the network's settings, and build is given it with the settings in it; its
// tags are those of a struct for catalog.Register. A policy acts by the usual distribution of its action space on the
// network's outputs ([NewDistribution] with [DefaultGaussianConfig]). The seed of a role fixes the network.
//
// A name that is taken or empty, defaults that are no struct, and no function are programming errors and panic.
// Register is meant for init functions and the beginning of main, and may be called from several goroutines.
func Register[S any](name string, defaults S, build func(settings S, role Role) (Network, error)) {
	if build == nil {
		panic("models: Register of " + name + " without a function that builds the network")
	}
	config.Keys(defaults) // panics where it is no struct, or a malformed one
	_, unknown := classOf(name)
	mu.Lock()
	defer mu.Unlock()
	if name == "" || unknown == nil || registered[name] != nil {
		panic(fmt.Sprintf("models: %q cannot name a network: it is empty, or a class there is already", name))
	}
	registered[name] = func(prefix string, dict map[string]any) (*own, error) {
		s := defaults
		err := config.Merge(&s, dict, config.Options{Prefix: prefix})
		return &own{s, func(r Role) (Network, error) { return build(s, r) }}, err
	}
}

// readerOf is the function that reads the settings of a registered network, nil if none has that name.
func readerOf(name string) func(prefix string, dict map[string]any) (*own, error) {
	mu.RLock()
	defer mu.RUnlock()
	return registered[name]
}

// Classes are the names that a model's class may have: those of skrl's mixins, then those of registered networks,
// sorted.
func Classes() []string {
	mu.RLock()
	defer mu.RUnlock()
	return append(slices.Clone(classes), slices.Sorted(maps.Keys(registered))...)
}

// ClassSettings are the settings of a class with their defaults, nil if there is no such class.
func ClassSettings(class string) map[string]any {
	if read := readerOf(class); read != nil {
		if o, err := read("models", nil); err == nil {
			return config.Dict(o.settings)
		}
	}
	name, err := classOf(class)
	if err != nil {
		return nil
	}
	return Spec{Class: name, Gaussian: DefaultGaussianConfig(), Reduction: "sum"}.Settings()
}

// network builds the network for a role.
func (o *own) network(class string, role Role) (Network, error) {
	net, err := o.build(role)
	switch {
	case err != nil:
		return nil, fmt.Errorf("models: %s: %w", class, err)
	case net == nil:
		return nil, fmt.Errorf("models: %s: its function returns neither a network nor an error", class)
	}
	return net, nil
}
