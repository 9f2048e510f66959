package checkpoint_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
)

func ExampleNewStore() {
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := checkpoint.NewStore(dir, checkpoint.Options{Keep: 3})
	if err != nil {
		panic(err)
	}
	for step := int64(1); step <= 2; step++ {
		snap := checkpoint.NewSnapshot()
		snap.Arrays["parameters"] = checkpoint.ArrayFloat32([]int64{2}, []float32{float32(step), 0.5})
		snap.Values["learning_rate"] = 3e-4
		if _, err := store.Save(fmt.Sprintf("agent_%d", step), step, snap); err != nil {
			panic(err)
		}
	}
	// The latest is damaged; the one before is used.
	if err := os.Truncate(filepath.Join(dir, "agent_2.safetensors"), 100); err != nil {
		panic(err)
	}
	latest, damaged, err := store.Latest()
	if err != nil {
		panic(err)
	}
	for _, d := range damaged {
		fmt.Println(filepath.Base(d.Path), "is damaged")
	}
	parameters, err := latest.Snapshot.Float32s("parameters", 2)
	fmt.Println(latest.Manifest.Step, parameters, err)
	// Output:
	// agent_2.safetensors is damaged
	// 1 [1 0.5] <nil>
}

func ExampleNewSnapshot() {
	snap := checkpoint.NewSnapshot()
	snap.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{1, 2}, []float32{0.25, -1})
	snap.Values["scheduler"] = map[string]any{"epoch": 12}
	var file bytes.Buffer
	if err := checkpoint.EncodeSafetensors(&file, snap); err != nil {
		panic(err)
	}
	back, err := checkpoint.DecodeSafetensors(file.Bytes())
	if err != nil {
		panic(err)
	}
	weight, err := back.Float32s("policy/net.0.weight", 1, 2)
	fmt.Println(weight, err)
	epoch, err := back.Int("scheduler", "epoch")
	fmt.Println(epoch, err)
	// Output:
	// [0.25 -1] <nil>
	// 12 <nil>
}
