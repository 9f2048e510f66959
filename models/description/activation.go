package description

import (
	"fmt"
	"slices"
	"strings"
)

// Activations returns the names that a Step's Activation may have. An empty Activation means "identity".
func Activations() []string {
	return []string{"identity", "relu", "elu", "tanh", "sigmoid", "leaky_relu", "softplus", "softsign", "gelu", "silu",
		"selu"}
}

// ParseActivation returns the canonical name of an activation, one of [Activations]. Case does not matter. "none" and
// the empty name are "identity", and "swish" is "silu".
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

// canonical is ParseActivation that returns unknown names unchanged. It is for comparing and printing, after
// validation.
func canonical(name string) string {
	if f, err := ParseActivation(name); err == nil {
		return f
	}
	return name
}

// Written returns an activation as steps spell it: the canonical name, or "" for the identity.
func Written(name string) string {
	if name = canonical(name); name == "identity" {
		return ""
	}
	return name
}
