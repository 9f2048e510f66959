package tensor_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/tensor"
)

func ExampleNewScope() {
	s := tensor.NewScope()
	defer s.Close()
	newLogProb, oldLogProb := tensor.From(s, []float32{-1, -2}), tensor.From(s, []float32{-1, -2.5})
	advantage := tensor.From(s, []float32{1, -1})
	ratio := s.Exp(s.Sub(newLogProb, oldLogProb))
	surrogate := s.Min(s.Mul(advantage, ratio), s.Mul(advantage, s.Clamp(ratio, 0.8, 1.2)))
	if err := s.Err(); err != nil {
		panic(err)
	}
	values, err := tensor.Float32s(surrogate)
	fmt.Printf("%.3f %v\n", values, err)

	// One error ends the calculation; it names the operation and the shapes.
	s.Exp(s.Add(ratio, s.Ones(3)))
	fmt.Println(s.Err() != nil)
	// Output:
	// [1.000 -1.649] <nil>
	// true
}

func ExampleNoGrad() {
	s := tensor.NoGrad()
	defer s.Close()
	mean := s.Mean(tensor.From(s, []float64{1, 2, 3, 6}))
	value, err := tensor.Item(mean)
	fmt.Println(value, err, tensor.RequiresGrad(mean))
	// Output: 3 <nil> false
}

func ExampleFrom() {
	s := tensor.NoGrad()
	defer s.Close()
	m := tensor.From(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	values, err := tensor.Float32s(s.Transpose(m, 0, 1))
	fmt.Println(tensor.Shape(m), tensor.TypeOf(m), values, err)

	tensor.From(s, []float32{1, 2, 3}, 2, 2)
	fmt.Println(s.Err())
	// Output:
	// [2 3] float32 [1 4 2 5 3 6] <nil>
	// tensor: From: 3 values do not fill the shape [2 2]
}

func ExampleNewFlat() {
	s := tensor.NewScope()
	defer s.Close()
	w, b := s.Ones(1, 2), s.Zeros(1)
	flat, err := tensor.NewFlat([]tensor.Parameter{{Name: "net.0.weight", Tensor: w}, {Name: "net.0.bias", Tensor: b}},
		tensor.CPU)
	if err != nil {
		panic(err)
	}
	defer flat.Close()
	for _, e := range flat.Entries() {
		fmt.Println(e.Name, e.Shape, e.Offset)
	}
	s.Backward(s.Sum(s.Linear(tensor.From(s, []float32{3, 4}, 1, 2), w, b)))
	gradients, err := tensor.Float32s(flat.Grads)
	fmt.Println(gradients, err, s.Err())
	// Output:
	// net.0.weight [1 2] 0
	// net.0.bias [1] 2
	// [3 4 1] <nil> <nil>
}

func ExampleNewOptimizer() {
	// The minimum of (w − 3)² by gradient descent.
	resident := tensor.NoGrad()
	defer resident.Close()
	w := resident.Zeros(1)
	flat, err := tensor.NewFlat([]tensor.Parameter{{Name: "w", Tensor: w}}, tensor.CPU)
	if err != nil {
		panic(err)
	}
	defer flat.Close()
	optimizer, err := tensor.NewOptimizer(flat, tensor.OptimizerConfig{},
		[]tensor.Group{{Name: "w", End: flat.Len(), LearningRate: 0.1}},
		[]tensor.Clip{{End: flat.Len(), MaxNorm: 1}})
	if err != nil {
		panic(err)
	}
	defer optimizer.Close()

	s := tensor.NewScope()
	defer s.Close()
	for range 300 {
		flat.ZeroGrad(s)
		s.Backward(s.Sum(s.Square(s.AddScalar(w, -3))))
		optimizer.ClipGrad(s)
		optimizer.Step(s)
		if err := s.Err(); err != nil {
			panic(err)
		}
		s.Reset() // releases this step's temporaries
	}
	value, err := tensor.Item(w)
	fmt.Printf("%.2f %v\n", value, err)
	// Output: 3.00 <nil>
}

func ExampleNewGenerator() {
	g, err := tensor.NewGenerator(42, tensor.CPU)
	if err != nil {
		panic(err)
	}
	defer g.Close()
	s := tensor.NoGrad()
	defer s.Close()
	state, err := g.State()
	if err != nil {
		panic(err)
	}
	first := s.RandPerm(g, 1000)
	if err := g.SetState(state); err != nil {
		panic(err)
	}
	again := s.RandPerm(g, 1000)
	same, err := tensor.Item(s.Sum(s.Eq(first, again)))
	fmt.Println(same, err, s.Err())
	// Output: 1000 <nil> <nil>
}

// On the CPU a capture does what it records. On other devices the first replay follows it.
func ExampleNewGraph() {
	s := tensor.NewScope()
	defer s.Close()
	sum := s.Zeros(3)
	passage := func() error {
		s.AddTo(sum, s.Ones(3), 2)
		return s.Err()
	}
	graph, err := tensor.NewGraph(s.Device())
	if err != nil {
		panic(err)
	}
	defer graph.Close()
	_ = graph.WarmUp(s, passage)
	_ = graph.Capture(s, passage)
	if graph.Recorded() { // otherwise call passage again
		_ = graph.Replay()
	}
	x, err := tensor.Float32s(sum)
	fmt.Println(x, err)
	// Output: [6 6 6] <nil>
}

// Rewards and the environments whose episodes were cut go to the device together.
func ExampleNewTransfer() {
	transfer, s := tensor.NewTransfer(tensor.CPU), tensor.NoGrad()
	defer transfer.Close()
	defer s.Close()
	rewards, err := tensor.Put(transfer, []float32{0.5, 1, -1}, 3, 1)
	if err != nil {
		panic(err)
	}
	cut, err := tensor.Put(transfer, []int64{2})
	if err != nil {
		panic(err)
	}
	transfer.Send(s)
	x, err := tensor.Float32s(s.IndexSelect(rewards.Tensor(s), 0, cut.Tensor(s)))
	fmt.Println(x, err)
	// Output: [-1] <nil>
}
