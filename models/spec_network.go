package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/models/description"
)

// assembler describes a network, one run of layers at a time.
type assembler struct {
	plan

	at    int   // the result that the next layer reads
	width int64 // of that result
	shape []int // of its elements, see term
	laid  bool
	next  int  // index of the next layer or activation, for parameters' names
	open  bool // the last step is a layer of this run
}

// begin starts a run of layers on a result.
func (a *assembler) begin(at int, t term) {
	a.at, a.width, a.shape, a.laid, a.next, a.open = at, t.width, t.shape, t.laid, 0, false
}

// result is what the run has computed so far.
func (a *assembler) result() term {
	return term{width: a.width, at: a.at, shape: a.shape, laid: a.laid}
}

// place adds the steps of a term and returns which result it is.
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

// end makes a term the network's result, which is that of its last step.
func (a *assembler) end(output term) {
	if at := a.place(output); at != len(a.Steps) {
		a.Add(description.Step{Op: description.Activate, Inputs: []int{at}})
	}
}

// linear adds a linear layer to the run.
func (a *assembler) linear(name string, out int, bias bool) {
	s := description.Step{Op: description.Linear, Outputs: out, Weight: name + ".weight"}
	if !a.open {
		s.Inputs = []int{a.at}
	}
	if bias {
		s.Bias = name + ".bias"
	}
	a.at = a.Add(s)
	a.width, a.shape, a.laid, a.open = int64(out), nil, false, true
	a.next++
}

// norm adds a layer normalisation to the run.
func (a *assembler) norm(name string) {
	a.at = a.Add(description.Step{Op: description.LayerNorm, Inputs: []int{a.at}, Weight: name + ".weight",
		Bias: name + ".bias"})
	a.shape, a.laid, a.open = nil, false, false
	a.next++
}

// recurrent adds a stack of recurrent layers to the run.
func (a *assembler) recurrent(name string, l RecurrentLayer) error {
	if err := l.Validate(int(a.width)); err != nil {
		return err
	}
	s := l.Step(name)
	s.Inputs = []int{a.at}
	a.at = a.Add(s)
	a.width, a.open = int64(l.HiddenSize), false
	a.next++
	return nil
}

// activate puts an activation behind the run's last layer.
func (a *assembler) activate(name string) {
	switch name {
	case "":
		return
	case description.Softmax:
		a.at, a.open = a.Add(description.Step{Op: description.Softmax, Inputs: []int{a.at}}), false
	default:
		a.Steps[len(a.Steps)-1].Activation = name
	}
	a.next++
}

// container builds one container and returns the names with its own added.
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
			if err := l.checkFlatten(at, a.result().dims()); err != nil {
				return nil, err
			}
			a.shape = nil
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
		if l.Conv != nil {
			in := 0
			if l.In != "" {
				if in, err = known.size(at+".in_channels", l.In); err != nil {
					return nil, err
				}
			}
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
		if l.In != "" {
			in, err := known.size(at+".in_features", l.In)
			if err != nil {
				return nil, err
			}
			if int64(in) != a.width {
				return nil, fmt.Errorf("models: %s.in_features: it is %d, but the layer's input has %d values; leave "+
					"it out", at, in, a.width)
			}
		}
		if int64(out)*a.width > 1<<31 {
			return nil, fmt.Errorf("models: %s: a layer of %d inputs and %d outputs is too large", at, a.width, out)
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
	return known.with(c.Name, a.result()), nil
}

// layerOf says what the output layer is: the number of its outputs, or 0 where the expression asks for none.
func layerOf(root *node, outputs int) (name string, width int, err error) {
	switch actions, one := root.uses("ACTIONS"), root.uses("ONE"); {
	case actions && one:
		return "", 0, fmt.Errorf("models: output: it has both ACTIONS and ONE; one output layer is added, so use one " +
			"of them")
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

// finish adds the output's expression and returns its width. known.spec's last container is called last.
func (a *assembler) finish(text string, known *names, lastName, layerName string) (int64, error) {
	root, err := parseExpression("output", text)
	if err != nil {
		return 0, err
	}
	token, width, err := layerOf(root, known.sizes)
	if err != nil {
		return 0, err
	}
	if token != "" {
		if err := a.flat("output"); err != nil {
			return 0, err
		}
		if layerName == "" {
			layerName = fmt.Sprintf("%s.%d", lastName, a.next)
		}
		if root.uses(lastName) { // the container's own result is wanted too, so the layer stands beside it
			a.begin(a.at, a.result())
		}
		a.linear(layerName, width, true)
		a.last = len(a.Steps) - 1
		known = known.with(token, a.result())
	}
	output, err := known.resolve("output", text, root)
	if err != nil {
		return 0, err
	}
	hasWeights := func(s description.Step) bool { return len(s.Arrays(1)) > 0 }
	switch {
	case !output.rows():
		return 0, fmt.Errorf("models: output: %q is no rows; want an expression such as ACTIONS, ONE or the last "+
			"container's "+
			"name", text)
	case output.picture():
		return 0, fmt.Errorf("models: output: %q is a picture of shape %s; give its container a last layer flatten",
			text, shapeText(output.shape))
	case !slices.ContainsFunc(a.Steps, hasWeights):
		return 0, fmt.Errorf("models: the network has no layer with weights, so there is nothing to train; give a " +
			"container " +
			"layers, or the output ACTIONS or ONE")
	}
	a.end(output)
	a.simplify(token)
	if !slices.ContainsFunc(a.Steps, readsStateRow) {
		a.States = 0
	}
	return output.width, nil
}

// simplify turns the steps into those of a perceptron if they are no more than one: layers one after another on an
// input, and perhaps an activation of the output layer, which token names. One native call then computes the network.
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
	case len(after) == 1 && after[0].Op == description.Activate && after[0].Activation != "" && token != "":
		a.Steps[n-1].Activation = description.Written(after[0].Activation)
	default:
		return
	}
	a.Steps = a.Steps[:n]
	if a.states = a.Steps[0].Inputs[0] == description.StateRow; a.states {
		a.Inputs, a.States = a.States, 0
	}
	a.Steps[0].Inputs = nil
}
