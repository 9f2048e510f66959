package workspace_test

import (
	"context"
	"fmt"
	"os"

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

func ExampleOpenFolder() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	// In a policy's process:
	board, err := workspace.OpenFolder(dir, 2, workspace.FolderOptions{})
	if err != nil {
		panic(err)
	}
	seat, err := board.Join(context.Background(), 1)
	if err != nil {
		panic(err)
	}
	snapshot := checkpoint.NewSnapshot()
	snapshot.Arrays["parameters"] = checkpoint.ArrayFloat32([]int64{2}, []float32{1, 0.5})
	if _, err := seat.Publish(workspace.Record{Policy: 1, Iteration: 1, Objective: 7, HasObjective: true, Parent: -1}, snapshot); err != nil {
		panic(err)
	}
	if err := seat.Beat(workspace.Heartbeat{Phase: workspace.Training, Iteration: 2, Parent: -1}); err != nil {
		panic(err)
	}
	if err := seat.Release(); err != nil {
		panic(err)
	}

	// In any other, on any machine that sees the folder:
	board, err = workspace.OpenFolder(dir, 2, workspace.FolderOptions{ReadOnly: true})
	if err != nil {
		panic(err)
	}
	view, err := board.View()
	if err != nil {
		panic(err)
	}
	policy := view.Policies[1]
	weights, err := board.Fetch(policy.Records[0])
	if err != nil {
		panic(err)
	}
	parameters, err := weights.Float32s("parameters", 2)
	fmt.Println(policy.Heartbeat.Phase, policy.Records[0].Weights.Path, parameters, err)
	// Output:
	// training 001/000001.safetensors [1 0.5] <nil>
}
