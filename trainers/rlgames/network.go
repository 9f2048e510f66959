package rlgames

import (
	"fmt"

	"github.com/gorl-dev/gorl/internal/config"
)

// activations are rl_games' in gorl's words.
var activations = map[string]string{
	"None": "", "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "elu": "elu", "selu": "selu", "swish": "silu",
	"gelu":     "gelu",
	"softplus": "softplus",
}

// activation is a name of rl_games' in gorl's words.
func activation(name string) string { return activations[name] }

// applied is an output with an activation around it.
func applied(name, output string) string {
	if name = activation(name); name == "" {
		return output
	}
	return name + "(" + output + ")"
}

// models describes the networks in the language of package models.
func (c *conversion) models() {
	m := c.section("models")
	policy := c.containers("network", "OBSERVATIONS")
	shared := !c.flag("network.separate") && !c.given(central)
	m["separate"] = !shared
	gaussian := map[string]any{
		"clip_actions": false, "clip_log_std": false,
		"initial_log_std": c.number("network.space.continuous.sigma_init.val"),
		"fixed_log_std":   !c.flag("network.space.continuous.learn_sigma"),
	}
	if !c.flag("network.space.continuous.fixed_sigma") {
		if gaussian["initial_log_std"] != 0.0 { // of which rl_games makes weights, and gorl biases
			c.refuse("network.space.continuous.sigma_init.val", "with fixed_sigma: False gorl's log σ begins at 0")
		}
		if activation(c.text("network.space.continuous.mu_activation")) != "" {
			c.refuse("network.space.continuous.mu_activation", "with fixed_sigma: False it would be log σ's as well")
		}
		gaussian["state_dependent_log_std"] = true
	}
	m["policy"] = c.model("GaussianMixin", policy, applied(c.text("network.space.continuous.mu_activation"), "ACTIONS"),
		gaussian)
	value := config.Clone(policy).([]any)
	if c.given(central) {
		if !c.given(central + ".network.mlp") {
			c.values[central+".network"] = nil
			c.refuse(central+".network", "it has no mlp")
			return
		}
		value = c.containers(central+".network", "STATES")
	}
	m["value"] = c.model("DeterministicMixin", value, applied(c.text("network.value_activation"), "ONE"), nil)
	if !c.amp() {
		return
	}
	if !c.given("network.disc.units") {
		c.refuse("network.disc.units", "it is missing; want the widths of the discriminator's layers")
		return
	}
	m["discriminator"] = c.model("DeterministicMixin", []any{map[string]any{
		"name": "disc", "input": "OBSERVATIONS", "layers": c.values["network.disc.units"],
		"activations": activation(c.text("network.disc.activation")),
	}}, "ONE", nil)
}

// model is a role's model.
func (c *conversion) model(class string, containers []any, output string, settings map[string]any) map[string]any {
	m := map[string]any{"class": class, "network": containers, "output": output, "initial_bias": "zero"}
	for key, value := range settings {
		m[key] = value
	}
	return m
}

// containers are the parts of a network in their order: convolutions, recurrent layers and perceptron. input is what
// the first one reads.
func (c *conversion) containers(section, input string) []any {
	var list []any
	last := input
	add := func(name, in string, layers any, activation string) {
		container := map[string]any{"name": name, "input": in, "layers": layers}
		if activation != "" {
			container["activations"] = activation
		}
		list, last = append(list, container), name
	}
	if c.given(section + ".cnn") {
		in := input
		if c.flag(section + ".cnn.permute_input") {
			in = fmt.Sprintf("permute(%s, (0, 3, 1, 2))", input)
		}
		add("cnn", in, c.convolutions(section), activation(c.text(section+".cnn.activation")))
		if c.flag("config.normalize_input") {
			c.refuse("config.normalize_input",
				"gorl's scaler has a mean for every pixel, rl_games' one for every channel of a picture; give False")
		}
	}
	perceptron := func() {
		units, _ := c.values[section+".mlp.units"].([]any)
		if len(units) > 0 {
			add("mlp", last, units, activation(c.text(section+".mlp.activation")))
		}
	}
	if !c.given(section + ".rnn") {
		perceptron()
	} else {
		name, units := c.text(section+".rnn.name"), c.whole(section+".rnn.units")
		if name == "" || units == 0 {
			c.values[section+".rnn.name"] = c.text(section + ".rnn.name")
			c.refuse(section+".rnn.name", "a recurrent layer needs a name and units")
			return nil
		}
		before := c.flag(section + ".rnn.before_mlp")
		if !before {
			perceptron()
		}
		in := last
		if !before && c.flag(section+".rnn.concat_input") && last != input {
			in = fmt.Sprintf("concatenate([%s, %s])", last, input)
		}
		layer := map[string]any{name: map[string]any{"hidden_size": units,
			"num_layers": c.whole(section + ".rnn.layers")}}
		layers := []any{layer}
		if c.flag(section + ".rnn.layer_norm") {
			layers = append(layers, "layer_norm")
		}
		add("rnn", in, layers, "")
		if before {
			perceptron()
		}
	}
	if len(list) == 0 {
		c.refuse(section+".mlp.units", "the network has no layers; want at least one")
	}
	return list
}

// convolutions are the layers of a section's cnn, with a flatten behind them.
func (c *conversion) convolutions(section string) []any {
	path := section + ".cnn.convs"
	given, _ := c.values[path].([]any)
	var layers []any
	for i, x := range given {
		conv, ok := x.(map[string]any)
		own := map[string]any{}
		for key, value := range conv {
			switch key {
			case "filters":
				own["out_channels"] = value
			case "kernel_size", "padding":
				own[key] = value
			case "strides":
				own["stride"] = value
			default:
				ok = false
			}
		}
		if !ok || own["out_channels"] == nil || own["kernel_size"] == nil {
			c.refuse(path, "element %d is not filters and kernel_size, and strides and padding", i)
			return nil
		}
		layers = append(layers, map[string]any{"conv2d": own})
	}
	if len(layers) == 0 {
		c.refuse(path, "there are no convolutions; want a list of {filters, kernel_size, strides, padding}")
	}
	return append(layers, "flatten")
}
