package models

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
)

// The layers that a specification can name are read here: linear, recurrent, layer_norm and flatten; conv2d is in
// spec_conv.go.

// parseContainer reads {name, input, layers, activations}. With {type: GRU, num_layers: n} the numbers in layers are
// sizes of recurrent layers, as in Isaac Lab's files.
func parseContainer(path string, entry any) (Container, error) {
	dict, ok := entry.(map[string]any)
	if !ok {
		return Container{}, fmt.Errorf("models: %s: want a mapping {name, input, layers, activations}, got %v", path,
			entry)
	}
	var k struct {
		Name        string `yaml:"name"`
		Input       any    `yaml:"input"`
		Layers      any    `yaml:"layers"`
		Activations any    `yaml:"activations"`
		Type        string `yaml:"type"`
		Count       int    `yaml:"num_layers" config:"min=1"`
	}
	k.Count = 1
	if err := config.Merge(&k, dict, config.Options{Prefix: "models: " + path}); err != nil {
		return Container{}, err
	}
	c := Container{Name: k.Name}
	var err error
	if c.Input, err = expressionText(path+".input", k.Input); err != nil {
		return c, err
	}
	if c.Layers, err = parseLayers(path+".layers", k.Layers); err != nil {
		return c, err
	}
	if err = c.retype(path, k.Type, k.Count, dict["num_layers"] != nil); err != nil {
		return c, err
	}
	c.Activations, err = parseActivations(path+".activations", k.Activations)
	return c, err
}

// retype turns linear layers into recurrent ones of the given type. Each number becomes a stack of count layers.
// counted says that the file has num_layers, which is an error without a type. An empty type changes nothing.
func (c *Container) retype(path, kind string, count int, counted bool) error {
	switch short := strings.ToLower(kind); short {
	case "":
		if counted {
			return fmt.Errorf("models: %s.num_layers: it belongs to type: GRU, LSTM or RNN; leave it out", path)
		}
	case description.GRU, description.LSTM, description.RNN:
		for i, l := range c.Layers {
			if l.Flatten || l.Norm || l.Conv != nil || l.Recurrent != "" || l.In != "" || l.NoBias {
				return fmt.Errorf("models: %s.layers[%d]: with type: %s want a number, the size of a layer", path, i,
					kind)
			}
			c.Layers[i] = Layer{Recurrent: short, Out: l.Out, Layers: count}
		}
	default:
		return fmt.Errorf("models: %s.type: %q; want GRU, LSTM or RNN, or leave it out", path, kind)
	}
	return nil
}

// expressionText reads an expression, which must be text.
func expressionText(path string, value any) (string, error) {
	if v, ok := value.(string); ok {
		return v, nil
	}
	return "", fmt.Errorf("models: %s: want an expression (text) such as OBSERVATIONS or ACTIONS, got %v", path, value)
}

// parseActivations reads one name for all layers, or one for each. null and "" mean none.
func parseActivations(path string, value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []string{v}, nil
	case []any:
		names := make([]string, len(v))
		for i, x := range v {
			name, ok := x.(string)
			if !ok && x != nil {
				return nil, fmt.Errorf("models: %s[%d]: want the name of an activation, got %v", path, i, x)
			}
			names[i] = name
		}
		return names, nil
	case []string:
		return v, nil
	}
	return nil, fmt.Errorf("models: %s: want the name of an activation, or a list of names, got %v", path, value)
}

// parseLayers reads a list of layers. Programs may give the sizes as []int.
func parseLayers(path string, value any) ([]Layer, error) {
	var list []any
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		list = v
	case []int:
		for _, n := range v {
			list = append(list, n)
		}
	default:
		return nil, fmt.Errorf("models: %s: want a list of layers such as [128, 64], got %v", path, value)
	}
	layers := make([]Layer, len(list))
	for i, x := range list {
		var err error
		if layers[i], err = parseLayer(fmt.Sprintf("%s[%d]", path, i), x); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

// layerForms ends the error of every unknown layer.
const layerForms = "want a number of outputs, {linear: ...}, {conv2d: ...}, {gru: ...}, {lstm: ...}, {rnn: ...}, " +
	"layer_norm or flatten"

// parseLayer reads one layer in skrl's forms: a size, a name, or a mapping from a kind to its arguments.
func parseLayer(path string, value any) (Layer, error) {
	switch v := value.(type) {
	case string:
		if strings.EqualFold(v, "flatten") {
			return Layer{Flatten: true}, nil
		}
		if strings.EqualFold(v, description.LayerNorm) {
			return Layer{Norm: true}, nil
		}
		return Layer{}, fmt.Errorf("models: %s: unknown layer %q; %s", path, v, layerForms)
	case map[string]any:
		if len(v) == 1 {
			for kind, args := range v {
				return parseLayerDict(path, kind, args)
			}
		}
		return Layer{}, fmt.Errorf("models: %s: a layer is a mapping with one key, got %d; %s", path, len(v),
			layerForms)
	}
	out, err := sizeText(path, value)
	if err != nil {
		return Layer{}, fmt.Errorf("models: %s: %v is no layer; %s", path, value, layerForms)
	}
	return Layer{Out: out}, nil
}

// parseLayerDict reads the arguments of a layer of a kind. The case of the kind does not matter.
func parseLayerDict(path, kind string, args any) (Layer, error) {
	path += "." + kind
	switch strings.ToLower(kind) {
	case "flatten":
		return parseFlatten(path, args)
	case "conv2d":
		return parseConv(path, args)
	case "linear":
		return parseLinear(path, args)
	case description.GRU, description.LSTM, description.RNN:
		return parseRecurrent(path, strings.ToLower(kind), args)
	}
	return Layer{}, fmt.Errorf("models: %s: unknown layer %q%s; %s", path, kind, config.Hint(kind, []string{"linear",
		"flatten", "conv2d", "gru", "lstm", "rnn"}), layerForms)
}

// otherNames are the names of keys in skrl's other frameworks, so that one file serves all.
var otherNames = map[string]string{"out_features": "features", "out_channels": "features", "stride": "strides",
	"bias": "use_bias"}

// mergeLayer reads a layer's arguments into the struct settings. They are a mapping, or a list of values in the order
// of keys. The shortest allowed list has least values.
func mergeLayer(path string, args, settings any, least int, keys ...string) error {
	dict, ok := args.(map[string]any)
	if list, is := args.([]any); is && len(list) >= least && len(list) <= len(keys) {
		dict, ok = map[string]any{}, true
		for i, v := range list {
			dict[keys[i]] = v
		}
	}
	if !ok {
		return fmt.Errorf("models: %s: want a mapping, or a list of %d to %d values [%s], got %v", path, least,
			len(keys), strings.Join(keys, ", "), args)
	}
	aliases := map[string]config.Alias{}
	for _, key := range keys {
		if other, ok := otherNames[key]; ok {
			aliases[other] = config.Alias{Key: key}
		}
	}
	return config.Merge(settings, dict, config.Options{Prefix: "models: " + path, Aliases: aliases})
}

// parseFlatten reads no arguments, [start, end] or {start_dim, end_dim}. Only PyTorch's defaults are accepted, because
// what follows reads flat rows.
func parseFlatten(path string, args any) (Layer, error) {
	k := struct {
		Start int `yaml:"start_dim" config:"min=1,max=1"`
		End   int `yaml:"end_dim" config:"min=-1,max=-1"`
	}{1, -1}
	if args == nil {
		return Layer{Flatten: true}, nil
	}
	return Layer{Flatten: true}, mergeLayer(path, args, &k, 0, "start_dim", "end_dim")
}

// parseRecurrent reads [hidden_size, num_layers, frames] or a mapping of these keys. kind is "gru", "lstm" or "rnn".
func parseRecurrent(path, kind string, args any) (Layer, error) {
	k := struct {
		Hidden any `yaml:"hidden_size"`
		Layers int `yaml:"num_layers" config:"min=1"`
		Frames int `yaml:"frames" config:"min=0"`
	}{Layers: 1}
	if err := mergeLayer(path, args, &k, 1, "hidden_size", "num_layers", "frames"); err != nil {
		return Layer{}, err
	}
	out, err := sizeText(path+".hidden_size", k.Hidden)
	return Layer{Recurrent: kind, Layers: k.Layers, Frames: k.Frames, Out: out}, err
}

// parseLinear reads n, [out, bias] or {out_features, bias, in_features}.
func parseLinear(path string, args any) (Layer, error) {
	k := struct {
		Out  any  `yaml:"out_features"`
		Bias bool `yaml:"bias"`
		In   any  `yaml:"in_features"`
	}{Out: args, Bias: true}
	_, list := args.([]any)
	if _, dict := args.(map[string]any); dict || list {
		k.Out = nil
		if err := mergeLayer(path, args, &k, 1, "out_features", "bias"); err != nil {
			return Layer{}, err
		}
	}
	out, err := sizeText(path+".out_features", k.Out)
	l := Layer{Out: out, NoBias: !k.Bias}
	if err == nil && k.In != nil {
		l.In, err = sizeText(path+".in_features", k.In)
	}
	return l, err
}

// sizeText returns a size as the text of an expression. Sizes such as "2 * NUM_ACTIONS" depend on the spaces, so the
// layer keeps the text until it is built.
func sizeText(path string, value any) (string, error) {
	if v, ok := value.(string); ok {
		return v, nil
	}
	if n, ok := config.Whole(value); ok {
		return strconv.Itoa(n), nil
	}
	return "", fmt.Errorf("models: %s: want a whole number of values, or a size such as NUM_ACTIONS, got %v", path,
		value)
}

// activated reports whether an activation may follow the layer. Recurrent layers have their own, and PyTorch's
// LayerNorm has none.
func (l Layer) activated() bool { return !l.Flatten && !l.Norm && l.Recurrent == "" }

// validate checks what does not depend on spaces: that every expression can be parsed, and that the numbers of layers
// and activations agree.
func (c Container) validate(path string) error {
	if _, err := parseExpression(path+".input", c.Input); err != nil {
		return err
	}
	for i, l := range c.Layers {
		if l.Conv != nil {
			if err := l.Conv.validate(fmt.Sprintf("%s.layers[%d]", path, i)); err != nil {
				return err
			}
		}
		for _, text := range []string{l.Out, l.In} {
			if l.Flatten || l.Norm || text == "" && l.Out != "" {
				continue
			}
			if _, err := parseExpression(fmt.Sprintf("%s.layers[%d]", path, i), text); err != nil {
				return err
			}
		}
	}
	_, err := c.activations(path)
	return err
}

// activations returns the activation of each layer, "" for none, in the order of Layers. A list in the file may name
// one for each layer, or one for each layer that can have one. Flatten, layer_norm and recurrent layers never have one.
func (c Container) activations(path string) ([]string, error) {
	var parsed []string
	for i, name := range c.Activations {
		at := path + ".activations"
		if len(c.Activations) > 1 {
			at = fmt.Sprintf("%s[%d]", at, i)
		}
		a, err := parseActivation(at, name)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, a)
	}
	var able []int // the layers that can have an activation
	for i, l := range c.Layers {
		if l.activated() {
			able = append(able, i)
		}
	}
	each := make([]string, len(c.Layers))
	if k := len(parsed); k > 1 && k != len(each) && k != len(able) {
		return nil, fmt.Errorf("models: %s.activations: there are %d for %d layers; give none, one for all, or one a "+
			"layer", path, k, len(each))
	}
	for j, i := range able {
		switch len(parsed) {
		case 0:
		case 1:
			each[i] = parsed[0]
		case len(each):
			each[i] = parsed[i]
		default:
			each[i] = parsed[j]
		}
	}
	return each, nil
}
