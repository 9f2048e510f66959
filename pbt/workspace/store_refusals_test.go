package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, b Store) {
		s := join(t, b, 0)
		for name, spoil := range map[string]func(r *Record){
			"another member": func(r *Record) { r.Member = 1 },
			"parent":         func(r *Record) { r.Parent = 2 },
			"NaN parameter":  func(r *Record) { r.Hyperparameters["x"] = math.NaN() },
			"long name":      func(r *Record) { r.Hyperparameters[strings.Repeat("x", 2000)] = 1 },
		} {
			r := record(0, 1, 1)
			spoil(&r)
			must.RefusedAs(s.Publish(r, weights(0, 1)))(t, name, "workspace: ")
			must.RefuseAs(t, name, s.PublishBest(r, weights(0, 1), false), "workspace: ")
		}
		for _, h := range []Heartbeat{
			{Phase: "dreaming"}, {Phase: Training, Parent: 2},
		} {
			must.RefuseAs(t, h, s.Beat(h), "workspace: ")
		}
		if v := mustView(t, b); len(v.Members[0].Records) > 0 || v.Members[0].Heartbeat != nil {
			t.Errorf("something was published: %+v", v.Members[0])
		}
	})
}

// waiting is a context that says when somebody begins to wait for it.
type waiting struct {
	context.Context
	begins func()
}

func (w waiting) Done() <-chan struct{} {
	w.begins()
	return w.Context.Done()
}

func TestJoinWaits(t *testing.T) {
	onEach(t, 2, func(t *testing.T, b Store) {
		first := join(t, b, 0)
		join(t, b, 1) // another member's lease is free
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if _, err := b.Join(ctx, 0); !errors.Is(err, ErrTaken) || !errors.Is(err, stop) {
			t.Errorf("a lease that is taken: %v", err)
		}
		joined, waits := make(chan error), make(chan struct{})
		limit, end := context.WithTimeout(t.Context(), 20*time.Second)
		defer end()
		go func() {
			s, err := b.Join(waiting{limit, sync.OnceFunc(func() { close(waits) })}, 0)
			if err == nil {
				err = s.Beat(Heartbeat{Phase: Training, Parent: -1})
			}
			joined <- err
		}()
		<-waits
		must.Do(t, first.Release())
		must.Do(t, <-joined)
		must.Do(t, first.Release())
		_, published := first.Publish(record(0, 1, 1), weights(0, 1))
		for i, err := range []error{published, first.Beat(Heartbeat{Phase: Training}), first.Prune(0)} {
			must.RefuseAs(t, i, err, "released")
		}
		select {
		case <-first.Lost():
			t.Error("a released lease counts as lost")
		default:
		}
		must.Refused(b.Join(t.Context(), -1))(t)
		must.Refused(b.Join(t.Context(), 2))(t)
	})
}

// readAll fetches everything that a store lists and reports what is not as it should be.
func readAll(b Store) error {
	v, err := b.View()
	if err != nil {
		return err
	}
	best, ok, err := b.Best(false)
	if err != nil {
		return err
	}
	var records []Record
	if ok {
		records = append(records, best)
	}
	for _, p := range v.Members {
		if len(p.Damaged) > 0 {
			return p.Damaged[0]
		}
		records = slices.Concat(records, p.Records, p.Stale)
	}
	for _, r := range records {
		snap, err := b.Fetch(r)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = checkWeights(snap, r.Member, r.Iteration)
		}
		if err != nil {
			return fmt.Errorf("member %d, iteration %d: %w", r.Member, r.Iteration, err)
		}
	}
	return nil
}
