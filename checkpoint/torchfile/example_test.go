package torchfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// What torch.save would write for {"weight": torch.tensor([[1., 2.]]), "epoch": 3}.
func ExampleWriteFile() {
	dir, err := os.MkdirTemp("", "torchfile")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.pt")
	weight := checkpoint.ArrayFloat32([]int64{1, 2}, []float32{1, 2})
	if err := torchfile.WriteFile(path, torchfile.NewDict("weight", weight, "epoch", 3)); err != nil {
		panic(err)
	}
	v, err := torchfile.Open(path)
	if err != nil {
		panic(err)
	}
	for key, value := range v.(*torchfile.Dict).All() {
		if t, ok := value.(checkpoint.Array); ok {
			x, err := t.Float32s()
			fmt.Println(key, t.Shape, x, err)
			continue
		}
		fmt.Println(key, value)
	}
	// Output:
	// weight [1 2] [1 2] <nil>
	// epoch 3
}

func ExampleNewDict() {
	d := torchfile.NewDict("lr", 1e-3, 7, "an integer key")
	v, ok := d.Get(7)
	fmt.Println(d.Len(), v, ok)
	// Output: 2 an integer key true
}
