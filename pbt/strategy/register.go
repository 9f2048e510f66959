package strategy

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

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

// Check lets a strategy check its own settings, where it can (see [Strategy]), for a population of so many members.
func Check(s Strategy, members int) error {
	if v, ok := s.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	if v, ok := s.(interface{ ValidateMembers(members int) error }); ok {
		return v.ValidateMembers(members)
	}
	return nil
}

// Describe returns a strategy's type and settings, for people to read in journals. Journals of format 1 name the types
// by the packages in which they were when the format was fixed.
func Describe(s Strategy) string {
	text := fmt.Sprintf("%T%+v", s, s)
	own, ok := strings.CutPrefix(text, "strategy.")
	switch s.(type) {
	case Tournament, MultiFrequency:
		return "evolution." + own
	}
	if ok {
		return "pbt." + own
	}
	return text
}
