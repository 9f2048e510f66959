package rlgames

import (
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/internal/config"
)

// activations maps rl_games' names of activation functions to those of package models. "" is none. rl_games' swish is
// PyTorch's SiLU.
var activations = map[string]string{
	"None": "", "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "elu": "elu", "selu": "selu", "swish": "silu",
	"gelu":     "gelu",
	"softplus": "softplus",
}

// activation returns the name in package models of an activation of rl_games, "" for none.
func activation(name string) string { return activations[name] }

// applied returns an output expression of package models with an activation around it: "tanh(ACTIONS)". name is
// rl_games' name of the activation.
func applied(name, output string) string {
	if name = activation(name); name == "" {
		return output
	}
	return name + "(" + output + ")"
}

// models writes the section "models": policy, value and, of AMP, discriminator, in the language of package models.
func (c *conversion) models() {
	m := c.section("models")
	policy := c.containers("network", "OBSERVATIONS")
	// Policy and value share their layers unless the file separates them. A central value always has its own layers.
	shared := !c.flag("network.separate") && !c.given(central)
	m["separate"] = !shared
	// rl_games clips neither actions nor log σ in its model; wrappers clip actions (conversion.environment).
	gaussian := map[string]any{
		"clip_actions": false, "clip_log_std": false,
		"initial_log_std": c.number("network.space.continuous.sigma_init.val"),
		"fixed_log_std":   !c.flag("network.space.continuous.learn_sigma"),
	}
	// Without fixed_sigma log σ is an output of the network, next to the mean. gorl has one output expression for both,
	// and starts its biases at 0. Files that need more are refused.
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
	// Without a central value, the value network has the layers of the policy. rl_games has no keys for others.
	value := config.Clone(policy).([]any)
	if c.given(central) {
		if !c.given(central + ".network.mlp") {
			// refuse quotes the value at the path, which would be the section.
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
	// The OBSERVATIONS of a discriminator are the AMP observations.
	m["discriminator"] = c.model("DeterministicMixin", []any{map[string]any{
		"name": "disc", "input": "OBSERVATIONS", "layers": c.values["network.disc.units"],
		"activations": activation(c.text("network.disc.activation")),
	}}, "ONE", nil)
}

// model returns a role's model: its class in skrl, its containers, its output expression, and settings of the class.
// Biases start at zero in all layers, as rl_games sets them.
func (c *conversion) model(class string, containers []any, output string, settings map[string]any) map[string]any {
	m := map[string]any{"class": class, "network": containers, "output": output, "initial_bias": "zero"}
	maps.Copy(m, settings)
	return m
}

// containers returns the containers of a network in their order: convolutions, recurrent layers and perceptron. section
// is "network" or the central value's, input what the first container reads. Each container reads the one before it.
// Errors are reported with c.refuse.
func (c *conversion) containers(section, input string) []any {
	// last is the name of the container that the next one reads.
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
		// permute_input: pictures are (height, width, channels), and convolutions want the channels first.
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
		// With before_mlp the recurrent layer comes first, and the perceptron reads its output.
		before := c.flag(section + ".rnn.before_mlp")
		if !before {
			perceptron()
		}
		in := last
		// concat_input adds the observations to the perceptron's output. Without a perceptron the input is the
		// observations already.
		if !before && c.flag(section+".rnn.concat_input") && last != input {
			in = fmt.Sprintf("concatenate([%s, %s])", last, input)
		}
		layers := []any{map[string]any{name: map[string]any{"hidden_size": units,
			"num_layers": c.whole(section + ".rnn.layers")}}}
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

// convolutions returns the layers of a section's cnn for package models, with a flatten at the end. It renames
// rl_games' filters and strides to PyTorch's out_channels and stride. On an error it reports the problem.
func (c *conversion) convolutions(section string) []any {
	path := section + ".cnn.convs"
	names := map[string]string{"filters": "out_channels", "kernel_size": "kernel_size", "padding": "padding",
		"strides": "stride"}
	given, _ := c.values[path].([]any)
	var layers []any
	for i, x := range given {
		conv, ok := x.(map[string]any)
		own := map[string]any{}
		for key, value := range conv {
			name, known := names[key]
			own[name], ok = value, ok && known // another key would change the layer
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
