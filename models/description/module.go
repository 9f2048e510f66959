package description

import (
	"fmt"
	"slices"
)

// Module is a chain of layers within an architecture: the encoder of a part, the recurrent layers, or the head.
type Module struct {
	// Name is "encoder.<part>", "memory" or "head". Parameters are named after it: "head.0.weight", "head.out.bias",
	// "encoder.camera.conv.0.weight", "memory.weight_ih_l0".
	Name string
	// Inputs is the width before the first layer, Outputs the width after the last. Outputs is 0 for the head, because
	// the architecture does not include the network's outputs.
	Inputs, Outputs int
	// Convolutions come first in the encoder of a picture, each with its activation. Pictures are the shapes (channels,
	// height, width) before the first convolution and after each.
	Convolutions []Convolution
	Pictures     [][3]int
	// Hidden and Activations are the widths and the activations of the hidden layers, which come next.
	Hidden      []int
	Activations []string
	// Recurrent is the stack of "memory", which has no other layers. Other modules have none.
	Recurrent RecurrentLayer
}

// MemoryModule is the name of the module of recurrent layers.
const MemoryModule = "memory"

// Modules returns the chains of the network in the order of the data: encoders (with a latent), recurrent layers, head.
// Evolution edits an architecture, and carries weights over, module by module.
func (a Architecture) Modules() []Module {
	var modules []Module
	// chain appends a module and returns it. The pointer is valid until the next module is appended.
	chain := func(name string, in, out int, s Stack) *Module {
		m := Module{Name: name, Inputs: in, Outputs: out, Hidden: slices.Clone(s.Hidden)}
		for i := range s.Hidden {
			m.Activations = append(m.Activations, s.activation(i, a.Activation))
		}
		modules = append(modules, m)
		return &modules[len(modules)-1]
	}
	features := 0
	for _, p := range a.Parts {
		// Without a latent the part has no encoder. The next module reads its values.
		if a.Latent == 0 {
			features += p.inputs()
			continue
		}
		m := chain("encoder."+p.Name, p.inputs(), a.Latent, p.Encoder)
		if len(p.Picture) > 0 {
			m.Convolutions, m.Pictures = slices.Clone(p.Convolutions), p.Pictures()
			for i := range m.Convolutions {
				m.Convolutions[i].Activation = p.Convolutions[i].activation(a.Activation)
			}
		}
		features += a.Latent
	}
	if r := a.Recurrent; !r.None() {
		modules = append(modules, Module{Name: MemoryModule, Inputs: features, Outputs: r.HiddenSize, Recurrent: r})
		features = r.HiddenSize
	}
	chain("head", features, 0, a.Head)
	return modules
}

// LinearLayer is a linear layer of a [Module].
type LinearLayer struct {
	// Name is the prefix of its parameters: "head.0" and so on for hidden layers, "head.out" for the last.
	Name string
	// Inputs and Outputs are its widths. Outputs is 0 for the last layer of the head.
	Inputs, Outputs int
}

// Layers returns the module's linear layers: the hidden ones, then the last. Recurrent layers have none.
func (m Module) Layers() []LinearLayer {
	if !m.Recurrent.None() {
		return nil
	}
	var layers []LinearLayer
	in := m.Inputs
	if n := len(m.Pictures); n > 0 {
		in = m.Pictures[n-1][0] * m.Pictures[n-1][1] * m.Pictures[n-1][2]
	}
	for i, out := range m.Hidden {
		layers = append(layers, LinearLayer{fmt.Sprintf("%s.%d", m.Name, i), in, out})
		in = out
	}
	return append(layers, LinearLayer{m.Name + ".out", in, m.Outputs})
}

// Network describes what a network of the architecture computes, with the given number of outputs and an activation
// after the last layer. The architecture must be valid.
func (a Architecture) Network(outputs int, outputActivation string) Network {
	n := Network{Inputs: a.columns()}
	modules := a.Modules()
	var features []int
	column := 0
	for i, p := range a.Parts {
		at := 0 // the whole row
		if len(a.Parts) > 1 {
			at = n.Add(Step{Op: Columns, Inputs: []int{0}, From: column, To: column + p.Width})
		}
		column += p.Width
		if len(p.Choices) > 0 {
			at = n.Add(Step{Op: OneHot, Inputs: []int{at}, Choices: slices.Clone(p.Choices)})
		}
		// Convolutions read (channels, height, width).
		if len(p.Picture) > 0 && !p.ChannelsFirst {
			at = n.Add(Step{Op: Permute, Inputs: []int{at}, Shape: slices.Clone(p.Picture), Dims: []int{2, 0, 1}})
		}
		if p.Bytes {
			most := n.Add(Step{Op: Number, Number: 255})
			at = n.Add(Step{Op: Div, Inputs: []int{at, most}})
		}
		if a.Latent > 0 {
			at = modules[i].addTo(&n, at, modules[i].Outputs, a.Activation)
		}
		features = append(features, at)
	}
	if len(features) > 1 {
		features = []int{n.Add(Step{Op: Concatenate, Inputs: features})}
	}
	if r := a.Recurrent; !r.None() {
		step := r.Step(MemoryModule)
		step.Inputs = features
		features = []int{n.Add(step)}
	}
	// The head is always the last module. Encoders, if there are any, are the first ones, in the order of the parts.
	modules[len(modules)-1].addTo(&n, features[0], outputs, outputActivation)
	return n
}

// addTo adds the module's layers to n and returns the result of the last one. at is the result that they read. outputs
// and last are the width and the activation of the last layer.
func (m Module) addTo(n *Network, at, outputs int, last string) int {
	for i, c := range m.Convolutions {
		step := c.Step(m.Pictures[i])
		name := fmt.Sprintf("%s.conv.%d", m.Name, i)
		step.Inputs, step.Weight, step.Bias, step.Activation = []int{at}, name+".weight", name+".bias",
			Written(c.Activation)
		at = n.Add(step)
	}
	for i, l := range m.Layers() {
		out, f := outputs, last
		if i < len(m.Hidden) {
			out, f = l.Outputs, m.Activations[i]
		}
		at = n.Add(Step{Op: Linear, Inputs: []int{at}, Weight: l.Name + ".weight", Bias: l.Name + ".bias", Outputs: out,
			Activation: Written(f)})
	}
	return at
}
