package description_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// A network that adds to its input what a layer makes of it.
func ExampleNetwork_Add() {
	n := description.Network{Inputs: 3}
	layer := n.Add(description.Step{Op: description.Linear, Weight: "residual.weight", Outputs: 3, Activation: "tanh"})
	n.Add(description.Step{Op: description.Add, Inputs: []int{0, layer}})
	fmt.Println(n.Widths())
	// Output: [3 3 3] <nil>
}

func ExampleNewArchitecture() {
	a, err := description.NewArchitecture(spaces.Unbounded(4), []int{32}, 16, []int{64, 64}, "tanh")
	if err != nil {
		panic(err)
	}
	fmt.Println(a)
	// Output: 4→[32]→16→[64 64] tanh
}
