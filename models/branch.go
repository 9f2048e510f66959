package models

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// The parameters of a branch, see [Branch].
const (
	BranchWeight = "branch.weight"
	BranchBias   = "branch.bias"
)

// Branch returns a network that computes the given number of outputs from the hidden layers of another network. It
// adds a second output layer to the other network. The layer's initial parameters are drawn with the given seed, and
// are the branch's own parameters (BranchWeight, BranchBias). Both networks train the hidden layers, which the other
// network lists, and which are released with it. The other network must be a [Net] without an architecture that ends
// with a linear layer.
func Branch(of Network, outputs int, seed int64) (Network, error) {
	from, ok := of.(*Net)
	if !ok || from.architecture != nil {
		return nil, fmt.Errorf("models: Branch: a %T has no hidden layers to share, or they may be edited; want a "+
			"network of "+
			"NewMLP, NewCNN or a Spec", of)
	}
	last := len(from.net.Steps) - 1
	if outputs < 1 || last < 0 || from.net.Steps[last].Op != description.Linear {
		return nil, fmt.Errorf("models: Branch: %d outputs of a network of %d steps; want at least one output, and a "+
			"linear layer at its end", outputs, last+1)
	}
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	defer gen.Close()
	b := &Net{net: from.net, states: from.states, branch: true, outputs: outputs, scope: tensor.NoGrad()}
	b.net.Steps = slices.Clone(from.net.Steps)
	step := &b.net.Steps[last]
	step.Weight, step.Bias, step.Outputs, step.Activation = BranchWeight, BranchBias, outputs, ""
	b.addParameters(gen, *step, int(tensor.Size(from.weights[len(from.weights)-1], 1)), start{})
	own := b.params
	b.params = slices.Concat(from.params, own) // to find the shared ones by name
	b.compile()
	b.params = own
	if err := b.scope.Err(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// IsBranch reports whether a network was made by [Branch].
func IsBranch(n Network) bool {
	b, is := n.(*Net)
	return is && b.branch
}
