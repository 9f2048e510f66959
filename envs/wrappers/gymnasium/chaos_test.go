package gymnasium

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

var chaosFor = flag.Duration("chaos", 2*time.Second, "how long children are killed, stopped and corrupted in TestChaos")

// TestChaos kills and stops children and corrupts the shared memory at random, in batches that replace children and in
// batches that do not: nothing may hang, panic or be left behind, and every error must be a child's.
func TestChaos(t *testing.T) {
	chaos(t, 5*time.Millisecond, 2000, func(replace int) Options {
		o := fake(t, 8, 3, "")
		o.Replace = replace
		return o
	})
}

// chaos makes batches that step up to so many times, and breaks them every so often: as long as chaosFor says, and on a
// loaded machine until something has broken.
func chaos(t *testing.T, every time.Duration, most int, options func(replace int) Options) {
	t.Helper()
	open(t, options(0)).Close()
	descriptors, mappings, goroutines := left(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	steps, faults, replaced, batches := 0, 0, 0, 0
	until := time.Now().Add(*chaosFor)
	more := func() bool { return time.Now().Before(until) || replaced+faults == 0 }
	for ; more(); batches++ {
		o := options([]int{0, -1, -1, -1}[batches%4])
		o.OnFault = func(*ChildError) { replaced++ }
		o.Timeout, o.StartTimeout = 5*time.Second, 30*time.Second
		e := must.Get(New(o))(t)
		stop := vandal(t, e, every, rand.New(rand.NewPCG(seed, uint64(batches)+1)))
		watch := time.AfterFunc(5*time.Minute, func() { panic("a batch hangs") })
		_, err := e.Reset(rng.Int64N(1000))
		a := make([]float32, o.NumEnvs*e.set.Action.Width())
		for k := 0; err == nil && k < most && more(); k++ {
			e.set.Action.Sample(rng, a)
			_, err = e.Step(a)
			steps++
		}
		stop()
		if err != nil {
			faults++
			if _, ok := errors.AsType[*ChildError](err); !ok {
				t.Errorf("an error of no child: %v", err)
			}
		}
		must.Do(t, e.Close())
		watch.Stop()
		must.Is(t, len(children(t)), 0, "processes that are left")
	}
	nothingMore(t, descriptors, mappings, goroutines)
	t.Logf("%d batches, %d steps, %d children replaced, %d batches ended by an error", batches, steps, replaced, faults)
}

// vandal breaks a batch every so often until the function it returns is called.
func vandal(t *testing.T, e *Env, every time.Duration, rng *rand.Rand) (stop func()) {
	memory := must.Get(syscall.Mmap(int(e.file.Fd()), 0, e.layout.Size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED))(t)
	own := must.Get(os.ReadFile("/proc/self/cmdline"))(t)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				_ = syscall.Munmap(memory)
				return
			case <-time.After(time.Duration(rng.Int64N(2 * int64(every)))):
			}
			// Skip a child before its exec. This process waits for the exec, so a signal that stops the child would
			// stop this process, too.
			victims := slices.DeleteFunc(children(t), func(pid string) bool {
				line, err := os.ReadFile("/proc/" + pid + "/cmdline")
				return err != nil || bytes.Equal(line, own)
			})
			if len(victims) == 0 {
				continue
			}
			pid, _ := strconv.Atoi(victims[rng.IntN(len(victims))])
			switch rng.IntN(6) {
			case 0:
				_ = syscall.Kill(pid, syscall.SIGKILL)
			case 1:
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			case 2:
				_ = syscall.Kill(pid, syscall.SIGTERM)
			case 3: // a word of a control block
				at := e.layout.Control.Offset + rng.IntN(e.layout.Control.Count*controlStride)
				memory[at] ^= byte(1 + rng.IntN(255))
			case 4:
				memory[rng.IntN(len(e.header))] ^= byte(1 + rng.IntN(255))
			case 5:
				at := rng.IntN(len(memory) - 8)
				for k := range 8 {
					memory[at+k] = 0xff
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}

// TestPeersChaos is TestChaos of real environments, and of a simulator that is a batch by itself: one child is all
// there is.
func TestPeersChaos(t *testing.T) {
	batch := counting(t, 8, map[string]any{"mode": "next_step"})
	for _, o := range []Options{{ID: "CartPole-v1", NumEnvs: 4, Children: 2, Python: batch.Python}, batch} {
		chaos(t, 200*time.Millisecond, 30_000, func(replace int) Options {
			o.Replace = replace
			return o
		})
	}
}
