// Command simulators compares gorl with skrl where a Python simulator steps a whole batch. docs/learning.md and
// docs/simulators.md quote it; `make simulators` sets up what it runs on.
//
//	go run ./benchmarks/simulators -simulators mjlab -seeds 10 -out docs/images/simulators.png # returns, wall times
//	go run ./benchmarks/simulators -speed envpool:HalfCheetah-v4 -envs 64     # the bridge beside Python alone
//	go run ./benchmarks/simulators -speed mjlab:Mjlab-Cartpole-Balance -envs 256
//	go run ./benchmarks/simulators -speed gymnasium:CartPole-v1 -envs 8
//
// gorl trains with `gorl train --example envpool` and `--example mjlab`, skrl with the same settings by skrl_ppo.py,
// both on one compute thread. They take turns, a process each. A run that is complete is not trained again.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
)

var (
	interpreter = flag.String("python", defaultPython(), "the Python that has the simulators")
	simulators  = flag.String("simulators", "mjlab,envpool", "which to train in, comma-separated")
	seeds       = flag.Int("seeds", 3, "how many agents of either side, with the seeds 1, 2, ...")
	timesteps   = flag.Int("timesteps", 0, "timesteps of a training; 0 for those of the examples")
	runs        = flag.String("runs", "runs/simulators", "folder of the runs")
	overlap     = flag.Bool("overlap", false, "gorl acts while it learns (agent.overlap)")
	out         = flag.String("out", "simulators.png", "where the picture of the returns goes")

	speed  = flag.String("speed", "", "step this simulator with random actions instead, as envpool:HalfCheetah-v4")
	envs   = flag.Int("envs", 64, "environments of -speed")
	rounds = flag.Int("rounds", 5, "how often the sides of -speed take turns; the table has the medians")
	length = flag.Duration("time", 4*time.Second, "how long a side of -speed steps in a round")
	device = flag.String("device", "", "where the simulator of -speed computes, for those that ask: cpu, cuda:0")
)

// defaultPython is that of `make simulators`.
func defaultPython() string {
	folder := os.Getenv("GORL_SIMULATORS")
	if cache, err := os.UserCacheDir(); folder == "" && err == nil {
		folder = filepath.Join(cache, "gorl", "simulators")
	}
	return filepath.Join(folder, "bin", "python")
}

func main() {
	compare.Main(func(ctx context.Context) {
		if *speed == "" {
			compareLearning(ctx)
		} else {
			compareSpeed(ctx, *speed)
		}
	})
}

// run runs a program on one compute thread and returns what it prints, and how long it took.
func run(ctx context.Context, stdin []byte, name string, args ...string) (printed []byte, took duration) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // gorl saves then
	cmd.Env = compare.SingleThread()
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), os.Stderr
	begin := time.Now()
	printed, err := cmd.Output()
	if err != nil {
		compare.Check(fmt.Errorf("%v: %w", cmd.Args[:min(len(cmd.Args), 3)], err))
	}
	return printed, duration{time.Since(begin).Seconds(), (cmd.ProcessState.UserTime() +
		cmd.ProcessState.SystemTime()).Seconds()}
}

// duration is how long a process took, its start included, in seconds: by the clock, and of all processors, with the
// processes that it had.
type duration struct {
	Wall float64 `json:"wall_s"`
	CPU  float64 `json:"cpu_s"`
}
