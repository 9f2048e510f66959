package workspace

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReleasedMemoryLeaseWritesNothing(t *testing.T) {
	b := NewMemory(1)
	s := mustJoin(t, b, 0)
	mustPublish(t, s, record(0, 1, 1))
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Publish(record(0, 2, 2), weights(0, 2))
	for i, err := range []error{err, s.Beat(Heartbeat{Phase: Training}), s.Prune(Keep{Oldest: 100}), s.PublishBest(record(0, 2, 2), weights(0, 2), false)} {
		if err == nil || !strings.Contains(err.Error(), "released") {
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
	if _, ok, _ := b.Best(false); ok || len(mustView(t, b).Members[0].Records) != 1 {
		t.Error("the former holder wrote something")
	}
}

func TestMemoryClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewMemory(1)
		if err := mustJoin(t, b, 0).Beat(Heartbeat{Phase: Training}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour) // of the bubble's clock
		v := mustView(t, b)
		if silent := v.Now.Sub(v.Members[0].Seen); silent != time.Hour {
			t.Errorf("silent for %v", silent)
		}
	})
}
