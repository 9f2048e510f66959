package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/models/description"
)

// assembler turns a Spec into a plan, one run of layers at a time. A run is the layers of a container, or the output
// layer.
type assembler struct {
	plan

	// now is what the run has computed so far, which the next layer and the containers after it read.
	now term
	// next is the index in the names of the next parameters. It counts layers and activations, as a PyTorch Sequential
	// does.
	next int
	// open says that the last step is a layer of this run. The next layer then reads the step before it, and its Inputs
	// stay nil. simplify recognises layers that follow each other by the nil.
	open bool
}

// begin starts a run of layers on result at, whose width and shape are t's.
func (a *assembler) begin(at int, t term) {
	a.now, a.next, a.open = term{width: t.width, at: at, shape: t.shape, laid: t.laid}, 0, false
}

// place adds the steps of a term and of its arguments, arguments first, and returns the number of the term's result.
func (a *assembler) place(t term) int {
	if t.number {
		return a.Add(description.Step{Op: description.Number, Number: t.num})
	}
	if t.step.Op == "" {
		return t.at
	}
	s := t.step
	for _, arg := range t.args {
		s.Inputs = append(s.Inputs, a.place(arg))
	}
	return a.Add(s)
}

// end makes a term the network's result, which is the result of its last step. A term that is an earlier result gets a
// step that copies it: an Activate without activation.
func (a *assembler) end(output term) {
	if at := a.place(output); at != len(a.Steps) {
		a.Add(description.Step{Op: description.Activate, Inputs: []int{at}})
	}
}

// linear adds a linear layer with out outputs to the run. Its result is flat.
func (a *assembler) linear(name string, out int, bias bool) {
	s := description.Step{Op: description.Linear, Outputs: out, Weight: name + ".weight"}
	if !a.open {
		s.Inputs = []int{a.now.at}
	}
	if bias {
		s.Bias = name + ".bias"
	}
	a.now, a.open = term{width: int64(out), at: a.Add(s)}, true
	a.next++
}

// norm adds a layer normalisation of the row to the run.
func (a *assembler) norm(name string) {
	at := a.Add(description.Step{Op: description.LayerNorm, Inputs: []int{a.now.at}, Weight: name + ".weight",
		Bias: name + ".bias"})
	a.now, a.open = term{width: a.now.width, at: at}, false
	a.next++
}

// recurrent adds a stack of recurrent layers to the run. It returns an error if l's frames do not divide the width of
// the rows.
func (a *assembler) recurrent(name string, l RecurrentLayer) error {
	if err := l.Validate(int(a.now.width)); err != nil {
		return err
	}
	s := l.Step(name)
	s.Inputs = []int{a.now.at}
	a.now.at = a.Add(s)
	a.now.width, a.open = int64(l.HiddenSize), false
	a.next++
	return nil
}

// activate adds an activation after the run's last layer, which is the last step. Linear layers and convolutions
// compute it themselves; softmax is a step of its own. An empty name adds nothing.
func (a *assembler) activate(name string) {
	switch name {
	case "":
		return
	case description.Softmax:
		a.now.at, a.open = a.Add(description.Step{Op: description.Softmax, Inputs: []int{a.now.at}}), false
	default:
		a.Steps[len(a.Steps)-1].Activation = name
	}
	a.next++
}

// container adds the steps of one container, and returns known with the container's name added. path names the
// container in errors.
func (a *assembler) container(path string, c Container, known *names) (*names, error) {
	input, err := known.compile(path+".input", c.Input)
	if err != nil {
		return nil, err
	}
	if !input.rows() {
		return nil, fmt.Errorf("models: %s.input: %q is no rows; want an expression such as OBSERVATIONS", path,
			c.Input)
	}
	follow, err := c.activations(path)
	if err != nil {
		return nil, err
	}
	a.begin(a.place(input), input)
	for i, l := range c.Layers {
		at := fmt.Sprintf("%s.layers[%d]", path, i)
		if l.Flatten {
			// A flatten needs no step: rows are flat unless a shape says otherwise. It counts in names, as in a PyTorch
			// Sequential.
			a.now.shape = nil
			a.next++
			continue
		}
		name := fmt.Sprintf("%s.%d", c.Name, a.next)
		if l.Norm {
			if err := a.flat(at); err != nil {
				return nil, err
			}
			a.norm(name)
			continue
		}
		out, err := known.size(at, l.Out)
		if err != nil {
			return nil, err
		}
		// in is the number of inputs, or of a convolution the channels, that the file expects. 0: it says nothing.
		in, inputs := 0, ".in_features"
		if l.Conv != nil {
			inputs = ".in_channels"
		}
		if l.In != "" {
			if in, err = known.size(at+inputs, l.In); err != nil {
				return nil, err
			}
		}
		if l.Conv != nil {
			if err := a.conv(at, name, c.Input, l, out, in); err != nil {
				return nil, err
			}
			if follow[i] == description.Softmax {
				return nil, fmt.Errorf("models: %s: softmax is over a row, and does not follow a convolution", at)
			}
			a.activate(follow[i])
			continue
		}
		if err := a.flat(at); err != nil {
			return nil, err
		}
		if in > 0 && int64(in) != a.now.width {
			return nil, fmt.Errorf("models: %s.in_features: it is %d, but the layer's input has %d values; "+
				"leave it out", at, in, a.now.width)
		}
		if l.Recurrent != "" {
			if err := a.recurrent(name, RecurrentLayer{Kind: l.Recurrent, HiddenSize: out, Layers: l.Layers,
				Frames: l.Frames}); err != nil {
				return nil, fmt.Errorf("models: %s: %s", at, strings.TrimPrefix(err.Error(), "description: "))
			}
			continue
		}
		a.linear(name, out, !l.NoBias)
		a.activate(follow[i])
	}
	return known.with(c.Name, a.now), nil
}

// uses reports whether an expression contains a name. A nil node, the bound of columns that is left out, has none.
func (n *node) uses(name string) bool {
	if n == nil {
		return false
	}
	uses := func(a *node) bool { return a.uses(name) }
	return n.op == "name" && n.name == name || slices.ContainsFunc(n.args, uses)
}

// finish adds the output layer and the output expression, and returns the width of the output. lastName is the name of
// the last container. layerName names the output layer; if it is empty, the layer is the container's next.
func (a *assembler) finish(text string, known *names, lastName, layerName string) (int64, error) {
	root, err := parseExpression("output", text)
	if err != nil {
		return 0, err
	}
	token, width := "", 0 // of the output layer
	switch actions, one := root.uses("ACTIONS"), root.uses("ONE"); {
	case actions && one:
		return 0, fmt.Errorf("models: output: it has both ACTIONS and ONE; one output layer is added, so use one " +
			"of them")
	case actions:
		token, width = "ACTIONS", known.sizes
	case one:
		token, width = "ONE", 1
	}
	if token != "" {
		if err := a.flat("output"); err != nil {
			return 0, err
		}
		if layerName == "" {
			layerName = fmt.Sprintf("%s.%d", lastName, a.next)
		}
		// The expression also uses the container's own result. The output layer must therefore not continue the run.
		if root.uses(lastName) {
			a.begin(a.now.at, a.now)
		}
		a.linear(layerName, width, true)
		a.last = len(a.Steps) - 1
		known = known.with(token, a.now)
	}
	output, err := known.resolve("output", text, root)
	if err != nil {
		return 0, err
	}
	hasWeights := func(s description.Step) bool { return len(s.Arrays(1)) > 0 }
	switch {
	case !output.rows():
		return 0, fmt.Errorf("models: output: %q is no rows; want an expression such as ACTIONS, ONE or the last "+
			"container's name", text)
	case output.picture():
		return 0, fmt.Errorf("models: output: %q is a picture of shape %s; give its container a last layer flatten",
			text, shapeText(output.shape))
	case !slices.ContainsFunc(a.Steps, hasWeights):
		return 0, fmt.Errorf("models: the network has no layer with weights, so there is nothing to train; give a " +
			"container layers, or the output ACTIONS or ONE")
	}
	a.end(output)
	a.simplify(token)
	// A network that reads no states can be described, even if the environment has states.
	if !slices.ContainsFunc(a.Steps, func(s description.Step) bool {
		return slices.Contains(s.Inputs, description.StateRow)
	}) {
		a.States = 0
	}
	return output.width, nil
}

// simplify turns the steps into those of a perceptron if they are one. A perceptron is linear layers one after another
// on an input, and perhaps an activation of the output layer. token is the name of the output layer in the expression,
// or "" without one. One native call then computes the network, see Net.whole.
func (a *assembler) simplify(token string) {
	readers, n := map[int]int{}, 0
	for i := range a.Steps {
		for _, j := range a.Sources(i) {
			readers[j]++
		}
	}
	for n < len(a.Steps) && a.Steps[n].Op == description.Linear && (n == 0 || a.Steps[n].Inputs == nil &&
		readers[n] == 1) {
		n++
	}
	if n == 0 {
		return
	}
	switch after := a.Steps[n:]; {
	case len(after) == 0:
	// tanh(ACTIONS): the activation moves into the output layer.
	case len(after) == 1 && after[0].Op == description.Activate && after[0].Activation != "" && token != "":
		a.Steps[n-1].Activation = description.Written(after[0].Activation)
	default:
		return
	}
	a.Steps = a.Steps[:n]
	// A perceptron on states reads them as its only row.
	if a.states = a.Steps[0].Inputs[0] == description.StateRow; a.states {
		a.Inputs, a.States = a.States, 0
	}
	a.Steps[0].Inputs = nil
}
