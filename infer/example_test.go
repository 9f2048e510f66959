package infer_test

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// lever is a checkpoint as an agent's Snapshot returns it: here the action is twice the first observation less the
// second.
func lever(action spaces.Space, distribution description.Distribution) *checkpoint.Snapshot {
	d := description.Policy{
		Observation: spaces.Unbounded(2), Action: action,
		Network:      description.MLP("policy/", 2, nil, action.Outputs(), ""),
		Distribution: distribution,
	}
	snap := checkpoint.NewSnapshot()
	snap.Values["policy"] = d.Values()
	n := int64(action.Outputs())
	weight, bias := []float32{2, -1, -2, 1}[:2*n], make([]float32, n)
	snap.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{n, 2}, weight)
	snap.Arrays["policy/net.0.bias"] = checkpoint.ArrayFloat32([]int64{n}, bias)
	snap.Arrays["policy/log_std_parameter"] = checkpoint.ArrayFloat32([]int64{n}, make([]float32, n))
	return snap
}

var gaussian = description.Distribution{Kind: description.Gaussian, LogStd: "policy/log_std_parameter",
	ClipActions: true, ClipLogStd: true, MinLogStd: -20, MaxLogStd: 2}

func ExampleFromSnapshot() {
	policy, err := infer.FromSnapshot(lever(spaces.NewBox(-3, 3, 1), gaussian))
	if err != nil {
		panic(err)
	}
	action := make([]float32, 1)
	for _, observation := range [][]float32{{1, 0.5}, {2, -2}} {
		if err := policy.Act(observation, action); err != nil {
			panic(err)
		}
		fmt.Println(action[0])
	}
	// Output:
	// 1.5
	// 3
}

// A checkpoint of an earlier gorl does not say what the policy is; whoever knows can.
func ExampleNew() {
	snap := lever(spaces.NewBox(-3, 3, 1), gaussian)
	delete(snap.Values, "policy")
	_, err := infer.FromSnapshot(snap)
	fmt.Println(errors.Is(err, infer.ErrUndescribed))

	policy, err := infer.New(description.Policy{
		Observation: spaces.Unbounded(2), Action: spaces.NewBox(-3, 3, 1),
		Network:      description.MLP("policy/", 2, nil, 1, "tanh"),
		Distribution: gaussian,
	}, snap)
	if err != nil {
		panic(err)
	}
	action := make([]float32, 1)
	fmt.Println(policy.Act([]float32{1, 1}, action), action)
	// Output:
	// true
	// <nil> [1]
}
