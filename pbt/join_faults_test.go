package pbt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/internal/peers"
	"github.com/gorl-dev/gorl/pbt/internal/states"
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

// TestWorkerLate: who comes when the others have trained to the end finds what they had at each of its interval's ends.
func TestWorkerLate(t *testing.T) {
	r := newProcesses(4, workspace.NewMemory(4))
	r.opt.TotalSteps, r.cfg.Silence, r.cfg.Heartbeat = 400, 40*time.Millisecond, 10*time.Millisecond
	spy := recording(r.opt.Strategy)
	r.adjust = func(id int, _ *ProcessOptions, opt *Options) {
		if id == 3 {
			opt.Strategy = spy
		}
	}
	r.train(t, 0, 1, 2)
	errs := r.errs
	r.train(t, 3)
	if err := errors.Join(append(errs, r.errs...)...); err != nil || len(spy.seen) != 7 {
		t.Errorf("it decided %d times, want 7: %v", len(spy.seen), err)
	}
	for i, g := range spy.seen {
		for _, m := range g.Members {
			if g.Iteration != int64(i+1) || m.Iteration != g.Iteration || !m.Healthy() || m.Absent {
				t.Errorf("iteration %d: %+v", g.Iteration, m)
			}
		}
	}
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
	for _, e := range replaced {
		if e.Parent == 4 {
			t.Errorf("unverified weights were adopted: %+v", e)
		}
	}
	for _, e := range failed {
		if e.Parent != 4 || !strings.Contains(e.Cause, fault.Error()) {
			t.Errorf("the failure is %+v", e)
		}
	}
	if len(failed) == 0 || len(replaced) == 0 {
		t.Errorf("%d failures, %d replacements", len(failed), len(replaced))
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
	if d := cmp.Diff(lines(t, mustTrain(t, newColony(4).opt).Journal()), lines(t, r.journal(t))); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
}

// TestWorkerAllNaN: when nobody is healthy every process gives up, and the good states stay.
func TestWorkerAllNaN(t *testing.T) {
	t.Parallel()
	for _, asynchronous := range []bool{false, true} {
		dir := t.TempDir()
		r := newProcesses(3, folder(t, dir, 3))
		r.opt.Asynchronous, r.opt.TotalSteps = asynchronous, 250
		var trained [3]atomic.Int64
		r.faults.train = func(m *climber) error {
			n := trained[m.id].Add(1)
			if n > 120 {
				m.x[1] = math.NaN()
			}
			// Whoever is rescued by one that is behind goes on when nobody is any more.
			for n == 151 {
				view, err := r.store.View()
				if err != nil {
					return err
				}
				behind := func(p workspace.MemberView) bool { return peers.Reached(p) < 3 }
				if !slices.ContainsFunc(view.Members, behind) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		}
		r.train(t, r.all()...)
		for id, err := range r.errs {
			if !errors.Is(err, ErrNoHealthyMember) || !strings.Contains(err.Error(), "episode.return is NaN") {
				t.Errorf("member %d: the error is %v", id, err)
			}
			state, err := states.Decode(read(t, dir, fmt.Sprintf("%03d", id), states.File))
			if err != nil || state.Phase != states.Training || !asynchronous && state.Iteration != 3 {
				t.Errorf("member %d is saved as %+v, %v", id, state, err)
			}
			if e := r.workers[id].Journal(); e[len(e)-1].Kind != journal.Hopeless {
				t.Errorf("member %d: the journal ends with %+v", id, e[len(e)-1])
			}
			s := r.join(t, id) // what is left is whole
			snapshot, err := s.Trainee(id).Snapshot()
			if err != nil || snapshot.CheckFinite() != nil || s.Recovered() != nil {
				t.Errorf("member %d begins again with %v, %v", id, err, s.Recovered())
			}
			mustClose(t, s)
		}
		r.faults.train = nil // it is mended
		r.mustTrain(t)
		if e := r.journal(t); len(kinds(e, journal.Hopeless)) != 0 || len(kinds(e, journal.Final)) != 3 {
			t.Errorf("the journal is %s", lines(t, e))
		}
	}
}

// TestWorkerWaitsForRescue: who fails or diverges before anybody has published waits until somebody has. If nobody is
// left to wait for it gives up with what went wrong.
func TestWorkerWaitsForRescue(t *testing.T) {
	gone := errors.New("gone")
	for name, fault := range map[string]func(m *climber) error{
		"NaN":   func(m *climber) error { m.x[0] = math.NaN(); return nil },
		"error": func(*climber) error { return gone },
	} {
		t.Run(name, func(t *testing.T) {
			store := workspace.NewMemory(2)
			r := newProcesses(2, store)
			r.opt.Asynchronous = true
			held := make(chan struct{})
			var once, open atomic.Bool
			r.faults.train = func(m *climber) error {
				switch {
				case m.id == 0 && m.steps == 10 && !once.Swap(true):
					return fault(m)
				case m.id == 1 && m.steps == 20:
					<-held
				}
				return nil
			}
			r.adjust = func(id int, place *ProcessOptions, _ *Options) {
				if id == 1 {
					return
				}
				place.after = func(time.Duration) <-chan time.Time {
					v, err := store.View()
					if h := v.Members[0].Heartbeat; err == nil && h != nil && h.Phase == workspace.Waiting &&
						!open.Swap(true) {
						close(held)
					}
					return time.After(time.Millisecond)
				}
			}
			r.mustTrain(t)
			if e := kinds(r.workers[0].Journal(), journal.Replace); len(e) == 0 || e[0].Iteration != 1 ||
				e[0].Parent != 1 || !strings.Contains(e[0].Cause, "rescued by") {
				t.Errorf("the rescue is %+v", e)
			}
			if s := status(r.workers[0]); !s.Healthy() || s.Steps != 500 {
				t.Errorf("it ended as %+v", s)
			}
		})
	}
	r := newProcesses(2, workspace.NewMemory(2))
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
