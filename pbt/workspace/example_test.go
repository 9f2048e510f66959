package workspace_test

import (
	"context"
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

func ExampleNewMemory() {
	board := workspace.NewMemory(2)
	seat, err := board.Join(context.Background(), 0)
	if err != nil {
		panic(err)
	}
	defer seat.Release()
	snapshot := checkpoint.NewSnapshot()
	snapshot.Arrays["parameters"] = checkpoint.ArrayFloat32([]int64{2}, []float32{1, 0.5})
	if _, err := seat.Publish(workspace.Record{
		Policy: 0, Iteration: 1, Frame: 100_000, Objective: 7, HasObjective: true, Parent: -1,
		Params: map[string]float64{"learning_rate": 3e-4},
	}, snapshot); err != nil {
		panic(err)
	}

	// Any other policy reads it.
	view, err := board.View()
	if err != nil {
		panic(err)
	}
	newest := view.Policies[0].Records[0]
	weights, err := board.Fetch(newest)
	if err != nil {
		panic(err)
	}
	parameters, err := weights.Float32s("parameters", 2)
	fmt.Println(newest.Iteration, newest.Objective, newest.Params, parameters, err)
	fmt.Println("policy 1 never started:", view.Policies[1].Heartbeat == nil)
	// Output:
	// 1 7 map[learning_rate:0.0003] [1 0.5] <nil>
	// policy 1 never started: true
}
