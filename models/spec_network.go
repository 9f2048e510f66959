package models

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

// stage is a run of layers that one native call applies, and perhaps a softmax after it.
type stage struct {
	layers  tensor.Layers
	softmax bool
}

// box is a container ready to run: its input and its stages.
type box struct {
	input  term
	width  int64 // of the result
	stages []*stage
	next   int // index of the next layer or activation, for parameters' names
}

// network is what a Spec compiles to where it is more than an [MLP].
type network struct {
	inputs  int // the width of observations
	boxes   []*box
	output  term
	params  []tensor.Parameter
	weights []tensor.Tensor
	scope   *tensor.Scope
}

// Forward implements [Network].
func (n *network) Forward(s *tensor.Scope, in Inputs) tensor.Tensor {
	f := frame{s: s, in: in, results: make([]tensor.Tensor, len(n.boxes))}
	for i, b := range n.boxes {
		x := b.input.eval(&f)
		for _, st := range b.stages {
			if len(st.layers.Weights) > 0 {
				x = s.MLP(x, &st.layers)
			}
			if st.softmax {
				x = s.Softmax(x, -1)
			}
		}
		if s.Err() != nil {
			return tensor.Tensor{}
		}
		f.results[i] = x
	}
	return n.output.eval(&f)
}

// Parameters implements [Network].
func (n *network) Parameters() []tensor.Parameter { return n.params }

// LinearWeights implements [Linears].
func (n *network) LinearWeights() []tensor.Tensor { return n.weights }

// Close implements [Network].
func (n *network) Close() { n.scope.Close() }

// result is the term of what box i computes.
func (n *network) result(i int) term {
	return term{
		width:  n.boxes[i].width,
		eval:   func(f *frame) tensor.Tensor { return f.results[i] },
		sketch: func(k *sketch) int { return k.results[i] },
	}
}

// assembler makes a network's parameters.
type assembler struct {
	*network
	gen                    *tensor.Generator
	fromHidden, fromOutput start // how the layers of containers start, and that of ACTIONS or ONE
}

// linear adds a linear layer to a box.
func (a *assembler) linear(b *box, name string, out int, bias bool, from start) {
	w, bb := newLinear(a.scope, a.gen, int(b.width), out, from)
	if !bias {
		bb = tensor.Tensor{}
	}
	a.weights = append(a.weights, w)
	a.params = append(a.params, addLinear(&b.last().layers, name, w, bb, tensor.Identity)...)
	b.width = int64(out)
	b.next++
}

// last is the stage that the next layer goes to.
func (b *box) last() *stage {
	if n := len(b.stages); n > 0 && !b.stages[n-1].softmax {
		return b.stages[n-1]
	}
	b.stages = append(b.stages, &stage{})
	return b.stages[len(b.stages)-1]
}

// activate puts an activation behind the box's last linear layer.
func (b *box) activate(f activation) {
	if f.none() {
		return
	}
	st := b.stages[len(b.stages)-1]
	st.softmax = f.softmax
	if !f.softmax {
		st.layers.Activations[len(st.layers.Activations)-1] = f.f
	}
	b.next++
}

// container builds one container and returns the names with its own added.
func (a *assembler) container(path string, c Container, known *names) (*names, error) {
	input, err := known.compile(path+".input", c.Input)
	if err != nil {
		return nil, err
	}
	if !input.rows() {
		return nil, fmt.Errorf("models: %s.input: %q is no rows; want an expression such as OBSERVATIONS", path, c.Input)
	}
	follow, err := c.activations(path)
	if err != nil {
		return nil, err
	}
	b := &box{input: input, width: input.width}
	for i, l := range c.Layers {
		at := fmt.Sprintf("%s.layers[%d]", path, i)
		if l.Flatten {
			b.next++
			continue
		}
		out, err := known.size(at, l.Out)
		if err != nil {
			return nil, err
		}
		if l.In != "" {
			in, err := known.size(at+".in_features", l.In)
			if err != nil {
				return nil, err
			}
			if int64(in) != b.width {
				return nil, fmt.Errorf("models: %s.in_features: it is %d, but the layer's input has %d values; leave it out", at, in, b.width)
			}
		}
		if int64(out)*b.width > 1<<31 {
			return nil, fmt.Errorf("models: %s: a layer of %d inputs and %d outputs is too large", at, b.width, out)
		}
		a.linear(b, fmt.Sprintf("%s.%d", c.Name, b.next), out, !l.NoBias, a.fromHidden)
		b.activate(follow[i])
	}
	a.boxes = append(a.boxes, b)
	return known.with(c.Name, a.result(len(a.boxes)-1)), nil
}

// layerOf says what the output layer is: the number of its outputs, or 0 where the expression asks for none.
func layerOf(root *node, outputs int) (name string, width int, err error) {
	switch actions, one := root.uses("ACTIONS"), root.uses("ONE"); {
	case actions && one:
		return "", 0, fmt.Errorf("models: output: it has both ACTIONS and ONE; one output layer is added, so use one of them")
	case actions:
		return "ACTIONS", outputs, nil
	case one:
		return "ONE", 1, nil
	}
	return "", 0, nil
}

// uses reports whether an expression has a name.
func (n *node) uses(name string) bool {
	if n == nil {
		return false
	}
	uses := func(a *node) bool { return a.uses(name) }
	return n.op == "name" && n.name == name || slices.ContainsFunc(n.args, uses)
}

// finish compiles the output, and returns an [MLP] where the network is no more than one.
func (a *assembler) finish(text string, known *names, lastName, layerName string) (Network, int64, error) {
	root, err := parseExpression("output", text)
	if err != nil {
		return nil, 0, err
	}
	token, width, err := layerOf(root, known.sizes)
	if err != nil {
		return nil, 0, err
	}
	last := len(a.boxes) - 1
	if token != "" {
		if layerName == "" {
			layerName = fmt.Sprintf("%s.%d", lastName, a.boxes[last].next)
		}
		if root.uses(lastName) { // the container's own result is wanted too, so the layer stands beside it
			r := a.result(last)
			a.boxes = append(a.boxes, &box{input: r, width: r.width})
			last++
		}
		a.linear(a.boxes[last], layerName, width, true, a.fromOutput)
		known = known.with(token, a.result(last))
	}
	if a.output, err = known.resolve("output", text, root); err != nil {
		return nil, 0, err
	}
	switch {
	case !a.output.rows():
		return nil, 0, fmt.Errorf("models: output: %q is no rows; want an expression such as ACTIONS, ONE or the last container's name", text)
	case len(a.params) == 0:
		return nil, 0, fmt.Errorf("models: the network has no linear layer, so there is nothing to train; give a container layers, or the output ACTIONS or ONE")
	}
	if err := a.scope.Err(); err != nil {
		return nil, 0, err
	}
	if m := a.plain(root, token, lastName); m != nil {
		return m, a.output.width, nil
	}
	return a.network, a.output.width, nil
}

// plain returns the network as an MLP if it is one: a single run of layers on a single input, whose output is the last
// layer's, perhaps after an activation.
func (a *assembler) plain(root *node, token, lastName string) *MLP {
	if len(a.boxes) != 1 || a.boxes[0].input.source == "" || len(a.boxes[0].stages) != 1 || a.boxes[0].stages[0].softmax {
		return nil
	}
	layers := a.boxes[0].stages[0].layers
	if root.op == "call" && len(root.args) == 1 && token != "" && root.args[0].op == "name" && root.args[0].name == token {
		f, err := tensor.ParseActivation(root.name)
		if err != nil {
			return nil
		}
		layers.Activations[len(layers.Activations)-1] = f
	} else if root.op != "name" || root.name != token && root.name != lastName {
		return nil
	}
	return &MLP{layers: layers, params: a.params, scope: a.scope, states: a.boxes[0].input.source == "states"}
}
