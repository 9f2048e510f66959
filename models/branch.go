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

// branch is a network on the hidden layers of another one.
type branch struct{ *network }

// Branch returns a network that computes the given number of outputs from the hidden layers of another network. It
// adds a second output layer to that network, whose initial parameters are drawn with the given seed. Both networks
// train the hidden layers. The branch's own parameters are those of its layer (BranchWeight, BranchBias); the other
// network lists the shared ones, and must stay open while the branch is in use. The other network must be an [MLP], a
// [CNN] or of [Spec], and end with a linear layer.
func Branch(of Network, outputs int, seed int64) (Network, error) {
	var from *network
	switch n := of.(type) {
	case *MLP:
		from = n.network
	case *CNN:
		from = n.network
	case *network:
		from = n
	default:
		return nil, fmt.Errorf("models: Branch: a %T has no hidden layers to share; want an MLP, a CNN or a network of "+
			"a Spec", of)
	}
	last := len(from.net.Steps) - 1
	if outputs < 1 || last < 0 || from.net.Steps[last].Op != description.Linear {
		return nil, fmt.Errorf("models: Branch: %d outputs of a network of %d steps; want at least one output, and a linear "+
			"layer at its end", outputs, last+1)
	}
	gen, err := tensor.NewGenerator(seed, tensor.CPU)
	if err != nil {
		return nil, err
	}
	defer gen.Close()
	b := &network{net: from.net, states: from.states, scope: tensor.NoGrad()}
	b.net.Steps = slices.Clone(from.net.Steps[:last])
	step := from.net.Steps[last]
	step.Weight, step.Bias, step.Outputs, step.Activation = BranchWeight, BranchBias, outputs, ""
	b.layer(gen, step, int(tensor.Size(from.weights[len(from.weights)-1], 1)), start{})
	own := b.params
	b.params = slices.Concat(from.params, own) // to find the shared ones by name
	b.compile()
	b.params = own
	if err := b.scope.Err(); err != nil {
		b.Close()
		return nil, err
	}
	return branch{b}, nil
}

// IsBranch reports whether a network was made by [Branch].
func IsBranch(n Network) bool {
	_, is := n.(branch)
	return is
}
