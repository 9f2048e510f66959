package pbt

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// recordingStrategy remembers what it was shown. What it remembers lies behind a pointer, because journals describe
// strategies by their fields.
type recordingStrategy struct {
	strategy.Strategy
	*shown
}

type shown struct {
	mu   sync.Mutex
	seen []strategy.Generation
}

func recording(s strategy.Strategy) recordingStrategy { return recordingStrategy{s, &shown{}} }

func (s recordingStrategy) Decide(g strategy.Generation, rng *rand.Rand) []strategy.Decision {
	s.mu.Lock()
	s.seen = append(s.seen, g.Clone())
	s.mu.Unlock()
	return s.Strategy.Decide(g, rng)
}

// failingStore is a store that may fail to fetch a record.
type failingStore struct {
	workspace.Store
	fault func(r workspace.Record) error
}

func (u failingStore) Fetch(r workspace.Record) (*checkpoint.Snapshot, error) {
	if err := u.fault(r); err != nil {
		return nil, err
	}
	return u.Store.Fetch(r)
}

// TestWorkerCorruptPeer: weights that cannot be verified are never adopted, and another source is tried. A source that
// is being replaced is read again.
func TestWorkerCorruptPeer(t *testing.T) {
	fault := &checkpoint.DamagedError{Path: "x", Reason: "the checksum is not the record's"}
	r := newProcesses(5, failingStore{workspace.NewMemory(5), func(r workspace.Record) error {
		if r.Member == 4 {
			return fault
		}
		return nil
	}})
	r.rates(0.0001, 0.0002, 0.0003, 0.06, 0.1) // member 4 is the best, and 3 a leader as well
	r.opt.Reference = []int{0, 1, 2, 3, 4}
	r.mustTrain(t)
	events := r.journal(t)
	failed, replaced := kinds(events, journal.ApplyFailed), kinds(events, journal.Replace)
	if slices.ContainsFunc(replaced, func(e journal.Event) bool { return e.Parent == 4 }) || len(replaced) == 0 {
		t.Errorf("unverified weights were adopted, or none: %+v", replaced)
	}
	if len(failed) == 0 || failed[0].Parent != 4 || !strings.Contains(failed[0].Cause, fault.Error()) {
		t.Errorf("the failures are %+v", failed)
	}

	var mu sync.Mutex
	tries := make(map[string]int)
	r = newProcesses(4, failingStore{workspace.NewMemory(4), func(r workspace.Record) error {
		mu.Lock()
		defer mu.Unlock()
		if tries[r.Weights.Path]++; tries[r.Weights.Path] <= 3 {
			return fault
		}
		return nil
	}})
	r.mustTrain(t)
	must.Equal(t, "the journal", lines(t, mustTrain(t, newColony(4).opt).Journal()), lines(t, r.journal(t)))
}

// TestWorkerWaitsForRescue: a member that fails before any member has published waits until one has. If no other member
// is left, it gives up with its own error.
func TestWorkerWaitsForRescue(t *testing.T) {
	gone := errors.New("gone")
	store := workspace.NewMemory(2)
	r := newProcesses(2, store)
	r.opt.Asynchronous = true
	held := make(chan struct{})
	var once atomic.Bool
	r.faults.train = func(m *climber) error {
		switch {
		case m.id == 0 && m.steps == 10 && !once.Swap(true):
			return gone
		case m.id == 1 && m.steps == 20:
			<-held
		}
		return nil
	}
	open := sync.OnceFunc(func() { close(held) })
	r.adjust = func(id int, place *ProcessOptions, _ *Options) {
		place.after = func(time.Duration) <-chan time.Time {
			v, err := store.View()
			if h := v.Members[0].Heartbeat; err == nil && h != nil && h.Phase == workspace.Waiting {
				open()
			}
			return time.After(time.Millisecond)
		}
	}
	r.mustTrain(t)
	if e := kinds(r.workers[0].Journal(), journal.Replace); len(e) == 0 || e[0].Iteration != 1 || e[0].Parent != 1 ||
		!strings.Contains(e[0].Cause, "rescued by") {
		t.Errorf("the rescue is %+v", e)
	}
	if s := status(r.workers[0]); !s.Healthy() || s.Steps != 500 {
		t.Errorf("it ended as %+v", s)
	}

	r = newProcesses(2, workspace.NewMemory(2))
	r.opt.Asynchronous, r.cfg.Silence, r.cfg.Heartbeat = true, 20*time.Millisecond, 5*time.Millisecond
	r.faults.train = func(*climber) error { return gone }
	if r.train(t, 0); !errors.Is(r.errs[0], gone) || !errors.Is(r.errs[0], ErrNoHealthyMember) {
		t.Errorf("the error is %v", r.errs[0])
	}
}

// TestCancelledWhileWaiting: a member that waits for others ends when its context does.
func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newProcesses(2, workspace.NewMemory(2))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := 0
	r.cfg.Heartbeat, r.cfg.Silence = 2*longestPause, 2*longestPause
	r.cfg.after = func(d time.Duration) <-chan time.Time {
		if d <= longestPause { // no heartbeat
			waits++
			cancel()
		}
		return time.After(d)
	}
	w := r.join(t, 0)
	if _, err := w.Train(ctx); !errors.Is(err, context.Canceled) || waits != 1 {
		t.Errorf("it waited %d times: %v", waits, err)
	}
	mustClose(t, w)
}
