package distributed_test

import (
	"fmt"
	"sync"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/tensor"
)

// Two ranks of one process add up a tensor, as processes that distributed.Join has brought together do.
func ExampleLocal() {
	groups, err := distributed.Local(2, distributed.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	sums := make([]float64, len(groups))
	var ranks sync.WaitGroup
	for _, g := range groups {
		ranks.Go(func() {
			defer g.Close()
			s := tensor.NoGrad()
			defer s.Close()
			x := s.Full(tensor.Float32, float64(1+g.Rank()), 3)
			g.Sum(s, x)
			if err := s.Err(); err != nil {
				fmt.Println(err)
				return
			}
			sums[g.Rank()], _ = tensor.Item(s.Select(x, 0, 0))
		})
	}
	ranks.Wait()
	fmt.Println(sums)
	// Output: [3 3]
}
