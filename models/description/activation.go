package description

import (
	"fmt"
	"slices"
	"strings"
)

// Activations are the names that a Step's Activation may have. The empty name means "identity".
func Activations() []string {
	return []string{"identity", "relu", "elu", "tanh", "sigmoid", "leaky_relu", "softplus", "softsign", "gelu", "silu",
		"selu"}
}

// ParseActivation returns the one of [Activations] that a name stands for. Case does not matter. "none" and the empty
// name are "identity", "swish" is "silu".
func ParseActivation(name string) (string, error) {
	lower := strings.ToLower(name)
	switch lower {
	case "", "none":
		return "identity", nil
	case "swish":
		return "silu", nil
	}
	if !slices.Contains(Activations(), lower) {
		return "", fmt.Errorf("unknown activation %q: want one of %s", name, strings.Join(Activations(), ", "))
	}
	return lower, nil
}

// canonical is ParseActivation that returns unknown names unchanged.
func canonical(name string) string {
	if f, err := ParseActivation(name); err == nil {
		return f
	}
	return name
}

// Written returns an activation as steps spell it: the canonical name, and nothing for the identity.
func Written(name string) string {
	if name = canonical(name); name == "identity" {
		return ""
	}
	return name
}
