package memory_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/tensor"
)

// Two steps of three environments.
func ExampleNewRollout() {
	r, err := memory.NewRollout(2, 3, []memory.Field{{Name: "rewards", Width: 1}}, tensor.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for _, rewards := range [][]float32{{1, 2, 3}, {4, 5, 6}} {
		if err := tensor.Write(r.Row("rewards"), rewards); err != nil {
			fmt.Println(err)
			return
		}
		r.Advance()
	}
	rows, err := tensor.Float32s(r.Rows("rewards"))
	fmt.Println(r.Full(), rows, err)
	// Output: true [1 2 3 4 5 6] <nil>
}

func ExampleNewReplay() {
	m, err := memory.NewReplay(4, 1, tensor.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	s := tensor.NoGrad()
	defer s.Close()
	m.Add(s, tensor.From(s, []float32{1, 2, 3}, 3, 1))
	m.Add(s, tensor.From(s, []float32{4, 5, 6}, 3, 1))
	rows, err := tensor.Float32s(m.Data())
	fmt.Println(m.Len(), rows, err)
	// Output: 4 [5 6 3 4] <nil>
}
