package models

import (
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// sketch is a description in the making: a frame that writes down what a forward pass computes.
type sketch struct {
	net     description.Network
	results []int // the containers'
	err     error
}

// add appends a step on terms and returns its number.
func (k *sketch) add(s description.Step, inputs ...term) int {
	for _, t := range inputs {
		if t.number {
			s.Inputs = append(s.Inputs, k.net.Add(description.Step{Op: description.Number, Number: t.num}))
		} else {
			s.Inputs = append(s.Inputs, t.sketch(k))
		}
	}
	return k.net.Add(s)
}

func (k *sketch) unary(op string, x term) int { return k.add(description.Step{Op: op}, x) }

// function describes a call of one of the functions.
func (k *sketch) function(name string, x term) int {
	if f, err := tensor.ParseActivation(name); err == nil {
		return k.add(description.Step{Op: description.Activate, Activation: f.String()}, x)
	}
	return k.unary(name, x) // the others have the operations' names
}

func (k *sketch) binary(op string, a, b term) int {
	ops := map[string]string{"+": description.Add, "-": description.Sub, "*": description.Mul, "/": description.Div}
	return k.add(description.Step{Op: ops[op]}, a, b)
}

// sketchInput describes the rows that a network reads.
func sketchInput(source string) func(k *sketch) int {
	return func(k *sketch) int {
		if source == "states" {
			k.err = errStates
		}
		return 0
	}
}

// Describe implements [Described].
func (n *network) Describe() (description.Network, error) {
	k := sketch{net: description.Network{Inputs: n.inputs}}
	names := parameterNames(n.params)
	for _, b := range n.boxes {
		at := b.input.sketch(&k)
		for _, st := range b.stages {
			if len(st.layers.Weights) > 0 {
				addLayers(&k.net, &st.layers, names, []int{at})
				at = len(k.net.Steps)
			}
			if st.softmax {
				at = k.net.Add(description.Step{Op: description.Softmax, Inputs: []int{at}})
			}
		}
		k.results = append(k.results, at)
	}
	if at := n.output.sketch(&k); at != len(k.net.Steps) { // the last step's result is the network's
		k.net.Add(description.Step{Op: description.Activate, Inputs: []int{at}})
	}
	return k.net, k.err
}
