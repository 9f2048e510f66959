package models

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// Role is the purpose of a registered network: what it reads, and how many values it computes.
type Role struct {
	// Spaces are the environment's. For a discriminator Observation is the AMP observation space.
	Spaces spaces.Set
	// Outputs is the number of values that the network computes for each row. For a policy the distribution of the
	// actions decides it. It is 1 for a value network or a discriminator.
	Outputs int
	// Seed is for drawing the initial parameters.
	Seed int64
}

// own is a registered network together with settings that were read for it.
type own struct {
	// settings is the user's struct: the registered defaults with the values of the file merged into them.
	settings any
	// build calls the registered function with these settings.
	build func(Role) (Network, error)
}

// registered has the networks by their class names.
var registered = config.Registry[*own]{Kind: "models"}

// Register adds a user's network under a name, which files give as the class of a model:
//
//	models:
//	  policy: {class: Residual, width: 64}
//	  value: {class: Residual}
//
// defaults is a struct with the defaults of the network's settings. Its tags are as for catalog.Register. build
// receives a copy with the file's settings. Equal roles must make equal networks, so build draws parameters from
// Role.Seed only. A policy uses the usual distribution of its action space on the network's outputs
// ([NewDistribution] with [DefaultGaussianConfig]).
//
// Register panics if the name is empty or taken, if defaults is not a struct, or if build is nil. Call it from init
// functions or at the beginning of main. It may be called from several goroutines.
func Register[S any](name string, defaults S, build func(settings S, role Role) (Network, error)) {
	if build == nil {
		panic("models: Register of " + name + " without a function that builds the network")
	}
	// classOf fails for names that are free. It also knows skrl's names in any case and with "Mixin", which a user's
	// network must not hide.
	if _, unknown := classOf(name); unknown == nil {
		panic(fmt.Sprintf("models: %q cannot name a network: a class there is already", name))
	}
	config.Register(&registered, name, defaults, func(settings S) (*own, error) {
		return &own{settings, func(r Role) (Network, error) { return build(settings, r) }}, nil
	})
	config.Declare("models", name, defaults)
}

// Classes returns the names that a model's class may have: skrl's mixins first, then the registered networks, sorted.
func Classes() []string {
	return append(slices.Clone(classes), registered.Names()...)
}

// network builds the network for a role. The registered function is user code, so a nil network without an error is
// refused here, not at the first batch. class names the network in errors.
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
