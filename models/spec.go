package models

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
)

// Spec describes a model in skrl's network language, as the role sections of its YAML files do. [ParseSpec] reads one
// from a dictionary. [Spec.BuildPolicy] and [Spec.BuildNetwork] build it for the spaces of an environment.
// [BuildShared] builds a policy and a value network on one trunk.
//
// A model is a list of containers and an output. Each container computes its input expression and passes it through its
// layers. The result gets the container's name. Expressions can have:
//
//   - OBSERVATIONS and, if there is a state space, STATES: the rows that the model reads;
//   - their parts, if the space is a Dict or a Tuple: OBSERVATIONS["camera"], OBSERVATIONS[0], STATES["arm"][1];
//   - the names of earlier containers;
//   - numbers, and NUM_OBSERVATIONS, NUM_STATES, NUM_ACTIONS and ONE, the sizes of spaces;
//   - + - * / and parentheses; rows of width 1 combine with rows of any width;
//   - columns: x[:, 0:3], x[:, -2:], x[:, 4] (which stays a column); for later dimensions x[:, :, 0:3] and x[..., 0:3];
//   - permute(x, (0, 3, 1, 2)), which turns pictures in the layout of cameras, (height, width, channels), into the
//     layout of conv2d, (channels, height, width);
//   - concatenate([x, y, ...]), which joins columns, or pictures along their first dimension;
//   - one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS), or with STATE_SPACE and STATES, for Discrete and MultiDiscrete
//     spaces and for such parts;
//   - activation functions by name (tanh(x), relu(x), softmax(x), ...), and exp, abs, sin, cos.
//
// In the output, ACTIONS adds a linear layer to the last container. It has as many outputs as the policy's distribution
// needs, in other models as many as the action space. ONE adds a linear layer with a single output. An output without
// either adds no layer. Container names in the output mean what the container's own layers computed.
//
// Parameters are named <container>.<index>.weight and .bias. The index counts layers and activations, including the
// output layer. skrl's names are the same, with "_container" after the container's name.
type Spec struct {
	// Class is skrl's mixin: a policy's is "Gaussian", "MultivariateGaussian", "Categorical" or "MultiCategorical",
	// that of a value network or a discriminator "Deterministic". Case and the suffix "Mixin" do not matter. It can
	// also be the name of a network that [Register] has added. Only ParseSpec reads such a network, which has settings
	// of its own in place of the fields below.
	Class string
	// Gaussian are the settings of the two Gaussian classes. Start from [DefaultGaussianConfig].
	Gaussian GaussianConfig
	// Reduction is MultiCategorical's, see [NewMultiCategorical].
	Reduction string
	// Network lists the containers. The output layer reads the last one.
	Network []Container
	// Output is the output expression, e.g. "ACTIONS", "ONE" or "2 * tanh(ACTIONS)".
	Output string
	// Initialization is "uniform" (default) or "orthogonal". InitialBias is "zero" or empty. HiddenGain multiplies the
	// weights of hidden layers, see [Initialization]. OutputGain multiplies those of the layer that ACTIONS or ONE
	// adds. An OutputGain of 0 means 1, or 0.01 for the orthogonal weights of a policy. In a dictionary the keys are
	// initialization, initial_bias, hidden_gain and output_gain.
	Initialization         string
	InitialBias            string
	HiddenGain, OutputGain float64
	// StatesAreObservations makes STATES mean observations if there is no state space, as in skrl 1.4.
	StatesAreObservations bool

	// own is the registered network that Class names, nil for skrl's classes.
	own *own
}

// Container is a named sequence of layers on an input expression.
type Container struct {
	// Name is the name of the result in expressions: letters, digits and underscores. It also begins the parameters'
	// names.
	Name string
	// Input is the input expression.
	Input string
	// Layers are applied in order.
	Layers []Layer
	// Activations follow the linear layers and convolutions: none, one for all, or one for each layer.
	Activations []string
}

// Layer is one layer of a container. It is a linear layer unless one of these fields is set:
//
//   - Conv: a convolution of pictures.
//   - Recurrent: a stack of recurrent layers.
//   - Norm: a layer normalisation of the row (PyTorch's LayerNorm). No activation follows it.
//   - Flatten: it turns a picture into a row, channel after channel, each row by row. Flat rows stay as they are.
type Layer struct {
	Flatten, Norm bool
	// Recurrent is "gru", "lstm" or "rnn". Layers is the number of recurrent layers, and Frames is as in
	// [RecurrentLayer].
	Recurrent      string
	Layers, Frames int
	// Out is the number of outputs: the channels of a convolution, the hidden size of a recurrent layer. It is a number
	// or an expression of sizes such as "2 * NUM_ACTIONS".
	Out string
	// In is the expected number of inputs, of a convolution the expected channels. It is only checked. Empty: no check.
	In string
	// NoBias leaves the bias out.
	NoBias bool
	// Conv makes the layer a convolution of pictures of shape (channels, height, width).
	Conv *Conv
}

// Conv is the geometry of a convolution. The first number of each pair is for rows, the second for columns.
type Conv struct {
	// Kernel is the size of a kernel in pixels.
	Kernel [2]int
	// Stride is the kernel's step, and Dilation the distance of its elements, in pixels. 0 means 1.
	Stride, Dilation [2]int
	// Padding is the number of zeros on either side. Same chooses the padding so that the result is as large as the
	// picture. It requires strides of 1.
	Padding [2]int
	Same    bool
	// Groups is the number of parts of the channels that are convolved separately. 0 means 1.
	Groups int
}

// The canonical classes: skrl's mixins without "Mixin".
const (
	classGaussian             = "Gaussian"
	classMultivariateGaussian = "MultivariateGaussian"
	classCategorical          = "Categorical"
	classMultiCategorical     = "MultiCategorical"
	classDeterministic        = "Deterministic"
)

// classes lists the canonical classes in the order in which errors name them.
var classes = []string{classGaussian, classMultivariateGaussian, classCategorical, classMultiCategorical,
	classDeterministic}

// classOf returns the canonical name of a class. Case and the suffix "Mixin" do not matter for skrl's classes. The name
// of a registered network must match exactly. The error names the nearest class.
func classOf(name string) (string, error) {
	short := strings.TrimSuffix(strings.ToLower(name), "mixin")
	for _, c := range classes {
		if strings.ToLower(c) == short {
			return c, nil
		}
	}
	all := Classes()
	if slices.Contains(all, name) {
		return name, nil
	}
	near := cmp.Or(config.Hint(short, classes), config.Hint(name, all))
	return "", fmt.Errorf("models: class: unknown class %q%s; want one of %s, with or without Mixin", name, near,
		strings.Join(all, ", "))
}

// The keys of a model's dictionary, by class. A key of another class is an error, which the separate structs give for
// free.
type (
	// commonKeys are the keys of every class. Network and Output are parsed by parseContainer and expressionText, so
	// they accept anything here.
	commonKeys struct {
		// Class is the model's class.
		Class string `yaml:"class"`
		// Network is a list of containers {name, input, layers, activations}.
		Network any `yaml:"network"`
		// Output is an expression: ACTIONS and ONE add an output layer.
		Output any `yaml:"output"`

		// Initialization says how weights begin; empty is uniform.
		Initialization string `yaml:"initialization" config:"oneof=|uniform|orthogonal"`
		// InitialBias says how biases begin; empty is uniform, too.
		InitialBias string `yaml:"initial_bias" config:"oneof=|zero"`
		// HiddenGain multiplies the weights of hidden layers; 0 is the initialization's own.
		HiddenGain float64 `yaml:"hidden_gain" config:"min=0"`
		// OutputGain multiplies the weights of the output layer; 0 is 1, or 0.01 for the orthogonal weights of a
		// policy.
		OutputGain float64 `yaml:"output_gain" config:"min=0"`
	}
	// gaussianKeys are the keys of Gaussian and MultivariateGaussian.
	gaussianKeys struct {
		commonKeys     `yaml:",inline"`
		GaussianConfig `yaml:",inline"`
	}
	// categoricalKeys are the keys of Categorical. skrl's UnnormalizedLogProb is accepted if it is true.
	categoricalKeys struct {
		commonKeys `yaml:",inline"`
		// UnnormalizedLogProb is skrl's; only true is accepted.
		UnnormalizedLogProb bool `yaml:"unnormalized_log_prob"`
	}
	// multiCategoricalKeys are the keys of MultiCategorical.
	multiCategoricalKeys struct {
		categoricalKeys `yaml:",inline"`
		// Reduction joins the probabilities of several actions.
		Reduction string `yaml:"reduction" config:"oneof=sum|mean|prod"`
	}
	// deterministicKeys are the keys of Deterministic. skrl's ClipActions is accepted if it is false.
	deterministicKeys struct {
		commonKeys `yaml:",inline"`
		// ClipActions is skrl's; only false is accepted.
		ClipActions bool `yaml:"clip_actions"`
	}
)

// ParseSpec reads a model from a dictionary with the keys of skrl's YAML files: class, network, output, and the class's
// settings (clip_actions, initial_log_std, ...). Unknown keys, unknown layers, unknown activations and malformed
// expressions are errors that name the place.
func ParseSpec(dict map[string]any) (Spec, error) {
	name, ok := dict["class"].(string)
	if !ok {
		return Spec{}, fmt.Errorf("models: class: it is missing or no text; want one of %s",
			strings.Join(Classes(), ", "))
	}
	s := Spec{Gaussian: DefaultGaussianConfig(), Reduction: "sum"}
	var err error
	if s.Class, err = classOf(name); err != nil {
		return Spec{}, err
	}
	// A registered network has keys of its own in place of network and output.
	if slices.Contains(registered.Names(), s.Class) {
		settings := maps.Clone(dict)
		delete(settings, "class")
		s.own, err = registered.New(s.Class, settings)
		return s, err
	}
	common, err := s.settings(dict)
	if err != nil {
		return Spec{}, err
	}
	s.Initialization, s.InitialBias = common.Initialization, common.InitialBias
	s.HiddenGain, s.OutputGain = common.HiddenGain, common.OutputGain
	list, ok := common.Network.([]any)
	if !ok || len(list) == 0 {
		return Spec{}, fmt.Errorf("models: network: want a list of at least one container {name, input, layers, "+
			"activations}, got %v", common.Network)
	}
	for i, entry := range list {
		c, err := parseContainer(fmt.Sprintf("network[%d]", i), entry)
		if err != nil {
			return Spec{}, err
		}
		s.Network = append(s.Network, c)
	}
	if s.Output, err = expressionText("output", common.Output); err != nil {
		return Spec{}, err
	}
	return s, s.Validate()
}

// keysOf returns a pointer to the keys of a class with their defaults.
func keysOf(class string) any {
	switch class {
	case classGaussian, classMultivariateGaussian:
		return &gaussianKeys{GaussianConfig: DefaultGaussianConfig()}
	case classCategorical:
		return &categoricalKeys{UnnormalizedLogProb: true}
	case classMultiCategorical:
		return &multiCategoricalKeys{categoricalKeys{UnnormalizedLogProb: true}, "sum"}
	}
	return &deterministicKeys{}
}

// settings merges the keys of the spec's class into the spec. It returns the keys that all classes have, unparsed.
func (s *Spec) settings(dict map[string]any) (commonKeys, error) {
	keys := keysOf(s.Class)
	if err := config.Merge(keys, dict, config.Options{Prefix: "models: " + s.Class}); err != nil {
		return commonKeys{}, err
	}
	switch k := keys.(type) {
	case *gaussianKeys:
		s.Gaussian = k.GaussianConfig
		return k.commonKeys, nil
	case *categoricalKeys:
		return k.check()
	case *multiCategoricalKeys:
		s.Reduction = k.Reduction
		return k.check()
	}
	k := keys.(*deterministicKeys)
	// skrl's files say clip_actions: false of every Deterministic model.
	if k.ClipActions {
		return k.commonKeys, fmt.Errorf("models: clip_actions is true: a Deterministic model is a value network or a " +
			"discriminator, whose outputs are no actions; leave it out")
	}
	return k.commonKeys, nil
}

// check refuses a discrete policy that does not read logits.
func (k *categoricalKeys) check() (commonKeys, error) {
	if !k.UnnormalizedLogProb {
		return k.commonKeys, fmt.Errorf("models: unnormalized_log_prob is false: gorl's discrete policies read " +
			"logits; leave it out, and the output without a softmax")
	}
	return k.commonKeys, nil
}

// initialization returns how layers start. A spec has one gain of an output layer, which is passed as the policy's
// whatever the class. An orthogonal policy gets the default of 0.01. The Deterministic class is no policy's, so it
// keeps 1.
func (s Spec) initialization() Initialization {
	i := Initialization{Kind: s.Initialization, Bias: s.InitialBias, HiddenGain: s.HiddenGain,
		PolicyOutputGain: s.OutputGain}
	if class, _ := classOf(s.Class); s.OutputGain == 0 && i.orthogonal() && class != classDeterministic {
		i.PolicyOutputGain = policyOutputGain
	}
	return i
}

// Settings returns the settings of the spec's class with every default filled in, by the keys that [ParseSpec] reads.
// Trainers record them with a run.
func (s Spec) Settings() map[string]any {
	if s.own != nil {
		return config.Dict(s.own.settings)
	}
	switch s.Class {
	case classGaussian, classMultivariateGaussian:
		return config.Dict(s.Gaussian)
	case classMultiCategorical:
		return map[string]any{"reduction": s.Reduction}
	case classDeterministic:
		return map[string]any{"clip_actions": false}
	}
	return map[string]any{}
}

func init() {
	for _, class := range classes {
		config.Declare("models", class, reflect.ValueOf(keysOf(class)).Elem().Interface())
	}
}

// identifier matches the names that expressions can refer to.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate checks everything that does not depend on spaces. Sizes and shapes are checked when the spec is built.
func (s Spec) Validate() error {
	if _, err := classOf(s.Class); err != nil || s.own != nil {
		return err
	}
	if slices.Contains(registered.Names(), s.Class) {
		return fmt.Errorf("models: class: %q is a registered network; ParseSpec makes its spec", s.Class)
	}
	if len(s.Network) == 0 {
		return fmt.Errorf("models: network: there is no container; want at least one")
	}
	if err := s.initialization().Validate(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, c := range s.Network {
		path := fmt.Sprintf("network[%d]", i)
		switch {
		case !identifier.MatchString(c.Name):
			return fmt.Errorf("models: %s.name: %q is not a name; use letters, digits and underscores", path, c.Name)
		case slices.Contains(reserved, c.Name) || slices.Contains(functions, c.Name) || slices.Contains(calls, c.Name):
			return fmt.Errorf("models: %s.name: %q has a meaning in expressions; choose another", path, c.Name)
		case seen[c.Name]:
			return fmt.Errorf("models: %s.name: two containers are named %q", path, c.Name)
		}
		seen[c.Name] = true
		if err := c.validate(path); err != nil {
			return err
		}
	}
	_, err := parseExpression("output", s.Output)
	return err
}

// parseActivation reads the activation of a layer. It returns "softmax" (over the row), an activation as steps write
// it, or "" for none. path names the setting in errors.
func parseActivation(path, name string) (string, error) {
	if strings.EqualFold(name, description.Softmax) {
		return description.Softmax, nil
	}
	if _, err := description.ParseActivation(name); err != nil {
		names := append(description.Activations(), description.Softmax)
		return "", fmt.Errorf("models: %s: unknown activation %q%s; want one of %s", path, name,
			config.Hint(name, names), strings.Join(names, ", "))
	}
	return description.Written(name), nil
}
