package explore

import "github.com/gorl-dev/gorl/internal/config"

var explorers = &config.Registry[Explorer]{Kind: "explorer"}

// Register adds an explorer of one's own under a name, which the file of a population then takes in place of the
// explorer of its preset:
//
//	pbt: {explorer: Halving, explorer_kwargs: {key: learning_rate}}
//
// defaults is a struct with the defaults of the explorer's settings. build receives the struct with the keyword
// arguments merged into it. Tags and panics are those of strategy.Register. See [RegisterRule] for a rule of one's
// own.
func Register[S any](name string, defaults S, build func(settings S) (Explorer, error)) {
	config.Register(explorers, name, defaults, build)
}

// New makes a registered explorer from its keyword arguments.
func New(name string, kwargs map[string]any) (Explorer, error) { return explorers.New(name, kwargs) }
