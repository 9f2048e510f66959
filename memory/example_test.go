package memory_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/spaces"
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

// Rows with a camera and a joint take seven bytes, one a colour and four for the joint.
func ExampleNewPacking() {
	space := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(1, 1, 3), "joint": spaces.Unbounded(1)})
	p := memory.NewPacking(space)
	r, err := memory.NewRollout(1, 2, []memory.Field{p.Field("observations")}, tensor.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	transfer, s := tensor.NewTransfer(tensor.CPU), tensor.NoGrad()
	defer transfer.Close()
	defer s.Close()
	sent, err := p.Stage(transfer, []float32{255, 128, 0, 0.5, 1, 2, 3, -0.25})
	if err != nil {
		fmt.Println(err)
		return
	}
	transfer.Send(s)
	s.Copy(r.Row("observations"), sent.Tensor(s))
	rows, err := tensor.Float32s(p.Float32(s, r.Rows("observations")))
	fmt.Println(tensor.Shape(r.Rows("observations")), tensor.TypeOf(r.Rows("observations")), rows, err)
	// Output: [2 7] uint8 [255 128 0 0.5 1 2 3 -0.25] <nil>
}
