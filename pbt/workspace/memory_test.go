package workspace

import (
	"errors"
	"testing"
	"time"
)

func TestEvictedSeatWritesNothing(t *testing.T) {
	b := NewMemory(1)
	s := mustJoin(t, b, 0)
	mustPublish(t, s, record(0, 1, 1))
	if err := b.Evict(0); err != nil {
		t.Fatal(err)
	}
	<-s.Lost()
	_, err := s.Publish(record(0, 2, 2), weights(0, 2))
	for i, err := range []error{err, s.Beat(Heartbeat{Phase: Training}), s.Prune(Keep{Oldest: 100}), s.PublishBest(record(0, 2, 2), weights(0, 2), false)} {
		if !errors.Is(err, ErrLeaseLost) {
			t.Errorf("%d: %v", i, err)
		}
	}
	next := mustJoin(t, b, 0)
	if err := s.Release(); err != nil {
		t.Errorf("releasing what is another's: %v", err)
	}
	if err := next.Beat(Heartbeat{Phase: Training}); err != nil {
		t.Errorf("the new holder: %v", err)
	}
	if err := errors.Join(next.Release(), b.Evict(0)); err != nil {
		t.Errorf("an empty lease: %v", err)
	}
	if b.Evict(1) == nil {
		t.Error("evicted member 1 of 1")
	}
	if _, ok, _ := b.Best(false); ok || len(mustView(t, b).Members[0].Records) != 1 {
		t.Error("the evicted wrote something")
	}
}

func TestMemoryClock(t *testing.T) {
	b := NewMemory(1)
	now := time.Unix(1000, 0)
	b.SetClock(func() time.Time { return now })
	if err := mustJoin(t, b, 0).Beat(Heartbeat{Phase: Training}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	v := mustView(t, b)
	if silent := v.Now.Sub(v.Members[0].Seen); silent != time.Hour {
		t.Errorf("silent for %v", silent)
	}
}
