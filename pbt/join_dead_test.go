package pbt

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// evicting is a store that takes a lease from its holder when it is told to, as a shared folder does when the holder
// has been silent for too long.
type evicting struct {
	workspace.Store
	leases sync.Map // *evictable by member
}

func (e *evicting) Join(ctx context.Context, member int) (workspace.Lease, error) {
	l, err := e.Store.Join(ctx, member)
	if err != nil {
		return nil, err
	}
	own := &evictable{Lease: l, lost: make(chan struct{})}
	e.leases.Store(member, own)
	return own, nil
}

func (e *evicting) evict(member int) error {
	l, _ := e.leases.Load(member)
	close(l.(*evictable).lost)
	return l.(*evictable).Release()
}

type evictable struct {
	workspace.Lease
	lost chan struct{}
}

func (l *evictable) Lost() <-chan struct{} { return l.lost }

// held runs f unless the lease has been taken away.
func (l *evictable) held(f func() error) error {
	select {
	case <-l.lost:
		return workspace.ErrLeaseLost
	default:
		return f()
	}
}

func (l *evictable) Publish(r workspace.Record, weights *checkpoint.Snapshot) (published workspace.Record, err error) {
	err = l.held(func() error { published, err = l.Lease.Publish(r, weights); return err })
	return published, err
}

func (l *evictable) PublishBest(r workspace.Record, weights *checkpoint.Snapshot, minimise bool) error {
	return l.held(func() error { return l.Lease.PublishBest(r, weights, minimise) })
}

func (l *evictable) Beat(h workspace.Heartbeat) error {
	return l.held(func() error { return l.Lease.Beat(h) })
}

func (l *evictable) Prune(oldest int64) error {
	return l.held(func() error { return l.Lease.Prune(oldest) })
}

// TestWorkerWithoutTheDead: members that never started, or ended without a word, hold the others up only for a while.
// A member whose lease is lost writes nothing any more.
func TestWorkerWithoutTheDead(t *testing.T) {
	for _, asynchronous := range []bool{false, true} {
		store := &evicting{Store: workspace.NewMemory(4)}
		r := newProcesses(4, store)
		r.opt.Asynchronous, r.cfg.Silence = asynchronous, 60*time.Millisecond
		r.cfg.Heartbeat = 5 * time.Millisecond
		spy := recording(r.opt.Strategy)
		r.opt.Strategy = spy
		var before workspace.View
		// Member 3 never comes; member 2 dies in interval 3 without a word.
		r.faults.train = func(m *climber) (err error) {
			if m.id == 2 && m.steps == 120 {
				lost := store.evict(2) // before the view: a heartbeat could come between them
				before, err = store.Store.View()
				return errors.Join(err, lost, errors.New("killed"))
			}
			return nil
		}
		r.train(t, 0, 1, 2)
		if r.errs[0] != nil || r.errs[1] != nil || !errors.Is(r.errs[2], workspace.ErrLeaseLost) {
			t.Fatalf("asynchronous %t: the errors are %v", asynchronous, r.errs)
		}
		for _, g := range spy.seen {
			for id, died := range map[int]int64{2: 3, 3: 1} {
				if m := g.Members[id]; !asynchronous && g.Iteration >= died && (m.HasObjective || !m.Absent) ||
					id == 3 && m.HasObjective {
					t.Errorf("iteration %d: who is not there is seen as %+v", g.Iteration, m)
				}
			}
		}
		after := must.Get(store.Store.View())(t)
		must.Equal(t, "what the store has of the dead", before.Members[2], after.Members[2])
		must.Is(t, len(kinds(r.workers[2].Journal(), journal.Final)), 0, "final events of the dead")
		must.Is(t, status(r.workers[0]).Steps, 500, "steps of member 0")
		if _, again := r.workers[2].Train(t.Context()); again == nil {
			t.Error("it can train on")
		}
	}
}

// TestWorkerBeatsWhileTraining: a member whose training takes long is seen to live.
func TestWorkerBeatsWhileTraining(t *testing.T) {
	t.Parallel()
	store := workspace.NewMemory(2)
	seen := func() time.Time {
		view, err := store.View()
		if err != nil {
			t.Error(err)
		}
		return view.Members[0].Seen
	}
	r := newProcesses(2, store)
	r.opt.Asynchronous, r.cfg.Heartbeat = true, time.Millisecond
	limit, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	r.at(0, 20, func(*climber) error {
		for begun := seen(); !seen().After(begun); {
			if limit.Err() != nil {
				return errors.New("there is no heartbeat during a step")
			}
		}
		return nil
	})
	r.train(t, 0)
	must.Do(t, r.errs[0])
}
