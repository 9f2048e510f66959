package evolution_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/pbt/evolution"
)

// TestKilled kills processes in the middle of generations, without a warning, until one finishes, and expects what an
// uninterrupted run leads to.
func TestKilled(t *testing.T) {
	small := func(dir string) evolution.Options {
		o := options()
		o.Directory, o.IntervalSteps, o.TotalSteps = dir, 4*16, 4*16*6
		return o
	}
	if dir := os.Getenv("EVOLUTION_TEST_KILLED"); dir != "" {
		var done atomic.Int64
		var n int64
		if _, err := fmt.Sscan(os.Getenv("EVOLUTION_TEST_AFTER"), &n); err != nil {
			t.Fatal(err)
		}
		o := small(dir)
		o.New = cartpole(func() error {
			if done.Add(1) == n {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		})
		train(t, o)
		return
	}
	want := train(t, small(t.TempDir()))
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(2, 2))
	for run := 0; ; run++ {
		if run > 40 {
			t.Fatal("no process finished")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "EVOLUTION_TEST_KILLED="+dir, fmt.Sprintf("EVOLUTION_TEST_AFTER=%d", 70+rng.IntN(100)))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			continue
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if run < 2 {
			t.Errorf("only %d processes were killed", run)
		}
		break
	}
	compare(t, want, train(t, small(dir)))
}
