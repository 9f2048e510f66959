package strategy

import "github.com/gorl-dev/gorl/internal/config"

var registry = &config.Registry[Strategy]{Kind: "strategy"}

// Register adds a strategy of one's own under a name, which the file of a population then takes in place of the
// strategy of its preset:
//
//	pbt: {strategy: Podium, strategy_kwargs: {places: 3}}
//
// defaults is a struct with the defaults of the strategy's settings. build receives the struct with the keyword
// arguments merged into it. The tag yaml:"key" is a field's key, and config:"..." says which values are allowed
// (min=, max=, gt=, lt= for numbers, oneof=a|b for texts, minlen=, maxlen= for lists).
//
// Register panics if the name is taken or empty, if defaults is not a struct, or if build is nil. Call it from init
// functions or at the start of main; several goroutines may call it at once.
func Register[S any](name string, defaults S, build func(settings S) (Strategy, error)) {
	config.Register(registry, name, defaults, build)
}

// New makes a registered strategy from its keyword arguments.
func New(name string, kwargs map[string]any) (Strategy, error) { return registry.New(name, kwargs) }
