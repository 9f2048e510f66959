package models

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/config"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// refusal is a spec in YAML and a part of the error, or nothing for a spec that is right.
type refusal [2]string

// checkRefusals builds specs, each of which must be refused with its part of an error.
func checkRefusals(t *testing.T, sp spaces.Set, list []refusal) {
	t.Helper()
	for _, c := range list {
		s, err := ParseSpec(check.Get(config.FromYAML([]byte(c[0])))(t))
		if err == nil {
			var p Policy
			if p, err = s.BuildPolicy(sp, 1); err == nil {
				p.Close()
			}
		}
		if c[1] == "" && err != nil || c[1] != "" && (err == nil || !strings.Contains(err.Error(), c[1]) ||
			!strings.HasPrefix(err.Error(), "models: ")) {
			t.Errorf("%s\n  error %v\n  want %s", c[0], err, c[1])
		}
	}
}

// What is wrong is said with the place and what to do.
func TestSpecErrors(t *testing.T) {
	const ok = "network: [{name: net, input: OBSERVATIONS, layers: [4], activations: relu}]\noutput: ACTIONS\n"
	network := func(text string) string { return "class: Gaussian\nnetwork: [" + text + "]\noutput: ACTIONS" }
	input := func(text string) string { return network("{name: net, input: '" + text + "', layers: [4]}") }
	layers := func(text string) string { return network("{name: net, input: OBSERVATIONS, layers: [" + text + "]}") }
	output := func(text string) string {
		return "class: Gaussian\nnetwork: [{name: net, input: OBSERVATIONS, layers: [4]}]\noutput: \"" + text + "\""
	}
	checkRefusals(t, boxes, []refusal{
		{ok, "models: class: it is missing"},
		{"class: Gaussian\nclip_action: true\n" + ok, `unknown key "clip_action"`},
		{"class: Categorical\n" + ok, "needs a Discrete action space"},
		{"class: Deterministic\nclip_actions: true\n" + ok, "whose outputs are no actions"},
		{"class: Deterministic\n" + ok, "no probabilities to learn from; use a Gaussian"},
		{network("{name: net, input: OBSERVATIONS, layer: [4]}"), `unknown key "layer"`},
		{network("{name: a, input: OBSERVATIONS}, {name: a, input: a}"), `two containers are named "a"`},
		{network("{name: net, input: OBSERVATIONS, layers: [4], activations: rellu}"),
			`models: network[0].activations: unknown activation "rellu" (did you mean "relu"?)`},
		{layers("0"), "models: network[0].layers[0]: the size 0"},
		{layers("{linear: {out_features: 4, in_features: 9}}"), "it is 9, but the layer's input has 3"},
		{layers("{gru: 5}"), "want a mapping, or a list of 1 to 3 values [hidden_size, num_layers, frames], got 5"},
		{layers("{rnn: {hidden_size: 4, frames: 2}}"), "layers[0]: a rnn over 2 frames, but the rows have 3 values"},
		{network("{name: net, input: OBSERVATIONS, layers: [6], type: GRU, num_layers: 2}"), ""},
		{input("ACTIONS"), "Q functions"},
		{input("OBSERVATION"), `did you mean "OBSERVATIONS"`},
		{input("OBSERVATIONS[0:2]"), "character 14: a first index would choose rows"},
		{input("OBSERVATIONS[:, 3]"), "takes none of them"},
		{input("permute(OBSERVATIONS, (0, 1))"), "these rows are flat"},
		{input("OBSERVATIONS / 0"), "division by zero"},
		{output("ONE"), "has 1 values, the policy needs 2"},
		{output("ACTIONS + ONE"), "both ACTIONS and ONE"},
		{"class: Gaussian\nnetwork: [{name: net, input: 'OBSERVATIONS[:, :2]'}]\noutput: net", "nothing to train"},
	})
}

// What is wrong about parts and pictures is said with the place and what to do.
func TestPartErrors(t *testing.T) {
	sp := spaces.Set{Observation: parted, State: spaces.NewTuple(spaces.NewPicture(8, 9, 3), spaces.Unbounded(1)),
		Action: spaces.NewBox(-1, 1, 2)}
	network := func(input, layers string) string {
		return "class: Gaussian\noutput: ACTIONS\nnetwork: [{name: net, input: '" + input + "', layers: [" + layers +
			"]}]"
	}
	input := func(text string) string { return network(text, "4") }
	layers := func(text string) string { return network("permute(STATES[0], (0, 3, 1, 2))", text) }
	conv := func(text string) string { return layers("{conv2d: {out_channels: 4, " + text + "}}") }
	checkRefusals(t, sp, []refusal{
		{input(`OBSERVATIONS["camra"]`),
			`there is no part "camra" (did you mean "camera"?); there are "ACTIONS", "a", "camera", "mode"`},
		{input(`OBSERVATIONS["a"][2]`), "there are the parts 0 to 1"},
		{input(`STATES[0][:, 0, 0, 0, 0]`), ""}, // what is left of a picture is a row
		{input(`concatenate([permute(STATES[0], (0, 3, 1, 2)), STATES[1]])`), "(3, 8, 9) and (1) do not join"},
		{input(`permute(STATES[0], (0, 3, 1, 2))`), "a picture of shape (3, 8, 9); put a layer flatten before it"},
		{network(`STATES[0]`, "{conv2d: [4, 3]}"), "write the input as permute(STATES[0], (0, 3, 1, 2))"},
		{layers(`{conv2d: [4, 3]}, 5`), "network[0].layers[1]: its input is a picture of shape (4, 6, 7)"},
		{conv(`kernel_size: 3, in_channels: 8`), "in_channels: it is 8, but the layer's input has the shape (3, 8, 9)"},
		{layers(`{conv2d: {features: 4, kernel_size: [2, 3], strides: [1, 2], use_bias: false, in_channels: 3, ` +
			`dilation: 2, padding: valid}}, {flatten: [1, -1]}, 4`), ""},
	})
}
