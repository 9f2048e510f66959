package models

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// BranchWeight and BranchBias are the names of a branch's own parameters, see [Branch]. Snapshots of AMP agents tell by
// them whether the encoder was a branch.
const (
	BranchWeight = "branch.weight"
	BranchBias   = "branch.bias"
)

// Branch returns a network that computes the given number of outputs from the hidden layers of another network. AMP's
// skill encoder may be a branch of the discriminator.
//
// Branch adds a second output layer (BranchWeight, BranchBias), whose initial parameters are drawn with the given seed.
// Both networks train the hidden layers. Only the other network lists the hidden layers as parameters, and closing it
// releases them. The other network must be a [Net] without an architecture that ends with a linear layer.
func Branch(of Network, outputs int, seed int64) (Network, error) {
	from, ok := of.(*Net)
	if !ok || from.architecture != nil {
		return nil, fmt.Errorf("models: Branch: a %T has no hidden layers to share, or they may be edited; want a "+
			"network of NewMLP, NewCNN or a Spec", of)
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
	// The branch has a scope of its own: closing the branch must not release the shared layers.
	b := &Net{net: from.net, states: from.states, branch: true, outputs: outputs, scope: tensor.NoGrad()}
	// Clone the steps before the last one is changed: the other network goes on using its own slice.
	b.net.Steps = slices.Clone(from.net.Steps)
	step := &b.net.Steps[last]
	step.Weight, step.Bias, step.Outputs, step.Activation = BranchWeight, BranchBias, outputs, ""
	// The weight (outputs, width) of the other output layer has the width of the last hidden layer.
	b.addParameters(gen, *step, int(tensor.Size(from.weights[len(from.weights)-1], 1)), start{})
	own := b.params
	// compile finds parameters by name, so it needs the shared ones, too. Afterwards the branch lists only its own,
	// because the other network already lists the shared ones.
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
