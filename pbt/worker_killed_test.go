package pbt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// TestWorkerKilled kills processes in the middle of training, saving, publishing, waiting and taking over, and expects the
// journals of a population that nobody disturbed.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	if dir := os.Getenv("PBT_TEST_SOLO_KILLED"); dir != "" {
		workerKilled(t, dir)
		return
	}
	const members, kills = 3, 4
	c := newColony(members)
	c.opt.TotalSteps = killedSteps
	want := mustTrain(t, c.opt)
	dir := t.TempDir()
	var killed atomic.Int64
	var wg sync.WaitGroup
	for id := range members {
		rng := rand.New(rand.NewPCG(uint64(id), 7))
		wg.Go(func() {
			for run := 0; ; run++ {
				after := 20 + rng.IntN(200)
				if run >= kills {
					after = 1 << 30
				}
				cmd := exec.Command(os.Args[0], "-test.run=^TestWorkerKilled$")
				cmd.Env = append(os.Environ(), "PBT_TEST_SOLO_KILLED="+dir, fmt.Sprintf("PBT_TEST_MEMBER=%d", id), fmt.Sprintf("PBT_TEST_AFTER=%d", after))
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
					killed.Add(1)
					continue
				}
				if err != nil {
					t.Errorf("member %d: %v: %s", id, err, out)
				}
				return
			}
		})
	}
	wg.Wait()
	if killed.Load() < members*2 {
		t.Errorf("only %d processes were killed", killed.Load())
	}
	compareWorkspace(t, want, dir)
}

const killedSteps = 300

// lethal counts what is done with a board.
type lethal struct {
	workspace.Store
	count func() error
}

func (l lethal) View() (workspace.View, error) {
	if err := l.count(); err != nil {
		return workspace.View{}, err
	}
	return l.Store.View()
}

func (l lethal) Fetch(r workspace.Record) (*checkpoint.Snapshot, error) {
	if err := l.count(); err != nil {
		return nil, err
	}
	return l.Store.Fetch(r)
}

func (l lethal) Join(ctx context.Context, member int) (workspace.Lease, error) {
	s, err := l.Store.Join(ctx, member)
	return lethalSeat{s, l.count}, err
}

type lethalSeat struct {
	workspace.Lease
	count func() error
}

func (l lethalSeat) Publish(r workspace.Record, weights *checkpoint.Snapshot) (workspace.Record, error) {
	r, err := l.Lease.Publish(r, weights)
	return r, errors.Join(err, l.count())
}

func (l lethalSeat) Beat(h workspace.Heartbeat) error { return errors.Join(l.Lease.Beat(h), l.count()) }

func (l lethalSeat) Prune(k workspace.Keep) error { return errors.Join(l.Lease.Prune(k), l.count()) }

func workerKilled(t *testing.T, dir string) {
	member, err1 := strconv.Atoi(os.Getenv("PBT_TEST_MEMBER"))
	after, err2 := strconv.ParseInt(os.Getenv("PBT_TEST_AFTER"), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	var left atomic.Int64
	left.Store(after)
	die := func() error {
		if left.Add(-1) == 0 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}
	count := func(*climber) error { return die() }
	r := newTribe(3, lethal{folder(t, dir, 3), die})
	r.opt.TotalSteps = killedSteps
	r.faults.train, r.faults.snapshot, r.faults.restore = count, count, count
	r.faults.set = func(m *climber, _ map[string]float64) error { return die() }
	r.opt.Progress = func(Update) { _ = die() }
	r.opt.Asynchronous, r.opt.SaveSteps = false, 15
	s := r.join(t, member)
	defer s.Close()
	if s.Recovered() != nil {
		t.Error(s.Recovered())
	}
	if _, err := s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
}
