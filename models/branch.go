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

// Branch returns a network with the given number of outputs that computes them from the hidden layers of another one,
// which both train: a second output layer, whose initial parameters are drawn from a generator with the given seed.
// Its parameters are that layer's alone (BranchWeight, BranchBias); those that it shares are listed by the other
// network, which must stay open for as long. The other one is an [MLP], a [CNN] or of [Spec], and ends with a linear
// layer.
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
