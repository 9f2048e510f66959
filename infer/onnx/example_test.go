package onnx_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// A policy, here one without training, becomes a model. With infer.Load it is that of a checkpoint.
func ExampleEncode() {
	snap := checkpoint.NewSnapshot()
	snap.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{1, 2}, []float32{2, -1})
	snap.Arrays["policy/net.0.bias"] = checkpoint.ArrayFloat32([]int64{1}, []float32{0})
	policy, err := infer.New(description.Policy{
		Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 1),
		Network:      description.MLP("policy/", 2, nil, 1, ""),
		Distribution: description.Distribution{Kind: description.Deterministic, ClipActions: true},
	}, snap)
	if err != nil {
		panic(err)
	}
	model, err := onnx.Encode(policy, onnx.Options{Name: "lever"})
	fmt.Println(len(model) > 100, err)
	// Output: true <nil>
}
