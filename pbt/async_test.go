package pbt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

func TestTrainAsync(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", t.TempDir()} {
		c := newColony(6)
		c.opt.Directory, c.opt.Parallel, c.opt.Rebuild = dir, 3, []string{"discount_factor"}
		c.faults.train = letOthersRun
		var finals atomic.Int64
		var telling, building atomic.Bool
		build := c.opt.New
		c.opt.New = func(m Member) (Trainee, error) {
			if !building.CompareAndSwap(false, true) {
				t.Error("New is called twice at once")
			}
			letOthersRun(nil)
			defer building.Store(false)
			return build(m)
		}
		c.opt.Progress = func(u Update) {
			if !telling.CompareAndSwap(false, true) {
				t.Error("Progress is called twice at once")
			}
			if u.Event != nil && u.Event.Kind == journal.Final {
				finals.Add(1)
			}
			telling.Store(false)
		}
		best, err := trainAsync(t.Context(), c.opt)
		if err != nil || best == nil || best.Snapshot == nil || finals.Load() != 6 {
			t.Fatalf("the best is %+v, %d members trained to the end, %v", best, finals.Load(), err)
		}
		if n := c.faults.greatest.Load(); n > 3 {
			t.Errorf("%d trained at a time, want at most 3", n)
		}
		fresh := newClimber(Member{}, &faults{})
		if err := fresh.Restore(best.Snapshot); err != nil || fresh.objective() != best.Objective {
			t.Errorf("the best snapshot's objective is %v, want %v, %v", fresh.objective(), best.Objective, err)
		}
		for _, m := range c.built {
			if m.closed == 0 {
				t.Errorf("member %d is still open", m.id)
			}
		}
		if dir == "" {
			continue
		}
		events, err := journal.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		checkStates(t, dir, events)
		if h, err := journal.NewHistory(events); err != nil || len(h.Members) != 6 {
			t.Errorf("the history is %+v, %v", h, err)
		}
	}
}

// TestTrainAsyncResumes: what is interrupted goes on in the same directory.
func TestTrainAsyncResumes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for run := 0; ; run++ {
		c := newColony(3)
		c.opt.Directory = dir
		ctx, cancel := context.WithCancel(t.Context())
		var updates atomic.Int64
		c.opt.Progress = func(Update) {
			if updates.Add(1) > 15 {
				cancel()
			}
		}
		_, err := trainAsync(ctx, c.opt)
		cancel()
		if err == nil {
			if run < 2 {
				t.Errorf("only %d interruptions", run)
			}
			break
		}
		if !errors.Is(err, context.Canceled) || run > 100 {
			t.Fatal(err)
		}
	}
	events, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	checkStates(t, dir, events)
}

// TestTrainAsyncDoesNotWait: a member that hangs holds nobody up.
func TestTrainAsyncDoesNotWait(t *testing.T) {
	c := newColony(3)
	c.opt.Parallel = 3
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	others := make(chan struct{})
	c.faults.train = func(m *climber) error {
		if m.id == 2 && m.steps == 60 {
			select {
			case <-others:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	finals := 0
	c.opt.Progress = func(u Update) {
		if u.Event != nil && u.Event.Kind == journal.Final {
			if finals++; finals == 2 {
				close(others)
			}
		}
	}
	if _, err := trainAsync(ctx, c.opt); err != nil || finals != 3 {
		t.Errorf("%d members trained to the end, %v", finals, err)
	}
}

// TestAsyncDirectory: the directory of a population whose members wait is not that of one whose members do not, and one
// population at a time uses it.
func TestAsyncDirectory(t *testing.T) {
	waiting, apart := newColony(2), newColony(2)
	waiting.opt.Directory, apart.opt.Directory = t.TempDir(), t.TempDir()
	p, err := New(waiting.opt)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Train(t.Context())
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := newAsync(apart.opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newAsync(apart.opt); !errors.Is(err, durable.ErrInUse) {
		t.Errorf("a second one in the directory: %v", err)
	}
	if first, last := a.Iterations(); first != 1 || last != 1 {
		t.Errorf("it begins in intervals %d to %d", first, last)
	}
	best, err := a.Train(t.Context())
	if err != nil || a.Recovered() != nil {
		t.Fatal(err, a.Recovered())
	}
	table := a.Table()
	if len(table.Rows) != 2 || table.Rows[1].Member != 1 || table.Rows[1].Steps != apart.opt.TotalSteps || table.Rows[best.Member].Objective > best.Objective {
		t.Errorf("the best is %+v of the table %+v", best, table)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
}

// TestAsyncStopped: an interruption is one error, and what could not be saved stands beside it.
func TestAsyncStopped(t *testing.T) {
	c := newColony(3)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user wants it")
	c.opt.Progress = func(u Update) { cancel(why) }
	a, err := newAsync(c.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, err = a.Train(ctx)
	if joined, ok := err.(interface{ Unwrap() []error }); ok || !errors.Is(err, why) || !strings.Contains(err.Error(), "stopped with members in intervals 1 to ") {
		t.Errorf("the error is %v, which joins %v", err, joined)
	}
	if full := errors.New("the disk is full"); saysOnly(errors.Join(errors.Join(why, full), nil), why) || !saysOnly(fmt.Errorf("member 1: %w", errors.Join(why, nil)), why) {
		t.Error("it does not tell an interruption from what went wrong beside it")
	}
	if _, err := a.Train(t.Context()); err != nil {
		t.Errorf("it does not go on: %v", err)
	}
}

func newAsync(o Options) (*Population, error) {
	o.Asynchronous = true
	return New(o)
}

func trainAsync(ctx context.Context, o Options) (*Result, error) {
	p, err := newAsync(o)
	if err != nil {
		return nil, err
	}
	best, err := p.Train(ctx)
	return best, errors.Join(err, p.Close())
}

// Members that do not wait for each other are rebuilt one after the other all the same.
func TestAsynchronousBuildsOneByOne(t *testing.T) {
	c := newColony(4)
	c.opt.Strategy, c.opt.Rebuild, c.opt.Parallel = everyone{Action: strategy.SelfMutate}, []string{"learning_rate"}, 4
	var building, together, built atomic.Int64
	build := c.opt.New
	c.opt.New = func(m Member) (Trainee, error) {
		built.Add(1)
		if building.Add(1) > 1 {
			together.Add(1)
		}
		defer building.Add(-1)
		for range 100 {
			runtime.Gosched()
		}
		return build(m)
	}
	if _, err := trainAsync(t.Context(), c.opt); err != nil || together.Load() > 0 || built.Load() < 8 {
		t.Errorf("%d of %d were built while another was, %v", together.Load(), built.Load(), err)
	}
}
