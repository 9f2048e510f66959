package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

func ExampleOpenFolder() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	// In a member's process:
	store, err := workspace.OpenFolder(dir, 2, workspace.FolderOptions{})
	if err != nil {
		log.Fatal(err)
	}
	lease, err := store.Join(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	record := workspace.Record{Member: 1, Iteration: 1, Objective: 7, HasObjective: true, Parent: -1}
	_, published := lease.Publish(record, checkpoint.NewSnapshot())
	beat := lease.Beat(workspace.Heartbeat{Phase: workspace.Training, Iteration: 2, Parent: -1})
	if err := errors.Join(published, beat, lease.Release()); err != nil {
		log.Fatal(err)
	}

	// In any other, on any machine that sees the folder:
	view, err := store.View()
	member := view.Members[1]
	fmt.Println(member.Heartbeat.Phase, member.Records[0].Weights.Path, err)
	// Output:
	// training 001/000001.safetensors <nil>
}

func ExampleNewMemory() {
	store := workspace.NewMemory(2)
	lease, err := store.Join(context.Background(), 0)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release()
	record := workspace.Record{Member: 0, Iteration: 1, Steps: 100_000, Objective: 7, HasObjective: true, Parent: -1}
	if _, err := lease.Publish(record, checkpoint.NewSnapshot()); err != nil {
		log.Fatal(err)
	}
	view, err := store.View()
	fmt.Println(view.Members[0].Records[0].Objective, view.Members[1].Heartbeat, err)
	// Output: 7 <nil> <nil>
}
