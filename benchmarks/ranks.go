package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/distributed/launch"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/tracking"
)

// compareRanks times updates of one process that computes on so many threads, and of as many ranks with a share of its
// environments each, in turns, and prints a table.
func compareRanks(ctx context.Context, sizes []string, count, rounds int) {
	self := compare.Must(os.Executable())
	fmt.Printf("libtorch %s, %d ranks beside one process with %d threads\n\n", tensor.TorchVersion(), count, count)
	var rows [][]string
	for _, size := range sizes {
		sh, ok := shapes[size]
		if !ok {
			compare.Check(fmt.Errorf("benchmarks: ranks of size %q: want small, medium or large", size))
		}
		var one, several samples
		for range rounds {
			one.add(side{}.measure(ctx, size, strconv.Itoa(count), 1))
			var out bytes.Buffer
			compare.Check(launch.Run(ctx, []string{self, "-measure", size, "-threads", "1"},
				launch.Options{Count: count, Stdout: &out, Stderr: os.Stderr}))
			several.add(readMeasures(out.Bytes()))
		}
		rate := func(s samples) float64 {
			whole := s.median("update") + s.median("rollout_step")*float64(sh.rollouts)
			return float64(sh.envs*sh.rollouts) / whole * 1000
		}
		rows = append(rows, []string{size,
			fmt.Sprintf("%.1f", one.median("update")), fmt.Sprintf("%.1f", several.median("update")),
			fmt.Sprintf("%.0f", rate(one)), fmt.Sprintf("%.0f", rate(several)),
			fmt.Sprintf("%.2f", rate(several)/rate(one)),
			fmt.Sprintf("%.0f %%", 100*several.median("share")), fmt.Sprintf("%.0f", several.median("kilobytes"))})
	}
	header := []string{"size", "update, ms", "of ranks", "environment steps/s", "of ranks", "ranks / one process",
		"operations of ranks", "kB a minibatch"}
	compare.Check(tracking.Table(os.Stdout, header, rows))
}

// rankUpdate times updates on one of several ranks, and which share of the time its operations take. Rank 0 tells.
func rankUpdate(size string, place distributed.Place) []measure {
	group := compare.Must(distributed.Join(context.Background(), place, distributed.DefaultConfig()))
	defer group.Close()
	sh := shapes[size]
	sh.envs /= group.Size()
	begin, before := time.Now(), group.Spent()
	got := update(sh, group)
	if group.Rank() > 0 {
		return nil
	}
	share := float64(group.Spent()-before) / float64(time.Since(begin))
	return append(got, measure{"share", share}, measure{"kilobytes", parameters(sh) * 4 / 1000})
}

// parameters is how many a shape's networks have: weights, biases, and the policy's deviations.
func parameters(sh shape) float64 {
	count := sh.actions
	for _, io := range [][2]int{{sh.observations, sh.actions}, {sh.observations, 1}, {sh.ampObservations, 1}} {
		in := io[0]
		for _, out := range append(append([]int(nil), sh.hidden...), io[1]) {
			count, in = count+(in+1)*out, out
		}
	}
	return float64(count)
}
