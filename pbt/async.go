package pbt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Async is a population in this process in which no member waits for the slowest: every member is a [Worker] that
// decides about itself at the end of its own intervals, from what peers of equal or less experience last published.
// Decisions depend on timing, so equal seeds give different runs. It is used by one goroutine at a time.
type Async struct {
	opt     Options
	workers []*Worker
	unlock  func() error
}

// NewAsync builds the members and, where Options.Directory holds what an earlier call trained, puts them back to it.
// Nothing is trained. Close releases the members.
//
// Members train at most Options.Parallel at a time, each to Options.TotalSteps. Options.Directory is a workspace, as
// processes share it, with a folder a member; journal.ReadWorkspace reads its journals. Without one nothing is kept.
// A directory that another population uses, or in which one of [New] has trained, is an error.
//
// Of place, the fields Store (default: the workspace in Options.Directory), Slack, Heartbeat, Silence and
// Experiment count. Synchronous, Slice and RestartProcess are for members that are processes, and are errors here.
func NewAsync(ctx context.Context, opt Options, place WorkerOptions) (*Async, error) {
	opt = opt.withDefaults()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	if place.Synchronous || place.Slice != 0 || place.RestartProcess {
		return nil, errors.New("pbt: WorkerOptions.Synchronous, Slice and RestartProcess are for members that are processes; " +
			"leave them out")
	}
	opt.New, opt.Progress = oneByOne(requireDistinct(opt.New)), oneAtATime(opt.Progress)
	a := &Async{opt: opt, unlock: func() error { return nil }}
	if err := a.open(ctx, place); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// open locks the directory, opens the store, and joins one member after the other.
func (a *Async) open(ctx context.Context, place WorkerOptions) error {
	if dir := a.opt.Directory; dir != "" {
		if err := durable.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("pbt: directory: %w", err)
		}
		unlock, err := lockDirectory(dir)
		if err != nil {
			return err
		}
		a.unlock = unlock
		if _, err := os.Stat(filepath.Join(dir, stateFile)); err == nil {
			return fmt.Errorf("pbt: %s holds a population whose members wait for each other; continue it with New "+
				"(in a file: without pbt.asynchronous), or choose another directory", dir)
		}
	}
	switch {
	case place.Store != nil:
	case a.opt.Directory == "":
		place.Store = workspace.NewMemory(a.opt.Members)
	default:
		folder, err := workspace.OpenFolder(a.opt.Directory, a.opt.Members, workspace.FolderOptions{})
		if err != nil {
			return fmt.Errorf("pbt: directory: %w", err)
		}
		place.Store = folder
	}
	place.slots = make(chan struct{}, a.opt.Parallel)
	place.sharedJournals = &sharedJournals{journals: make([][]journal.Event, a.opt.Members)}
	for id := range a.opt.Members {
		place.Member = id
		w, err := Join(ctx, a.opt, place)
		if err != nil {
			return err
		}
		a.workers = append(a.workers, w)
	}
	return nil
}

// Train trains all members to Options.TotalSteps and returns the best that any member was at an interval's end, also
// beside an error.
//
// When the context is cancelled the members stop, their states are saved, and the error wraps the context's error and
// its cause. Calling Train again, or NewAsync with the same options, continues. A member that no peer can rescue
// gives up, which ends neither the others nor the run; its error is returned at the end.
func (a *Async) Train(ctx context.Context) (*Result, error) {
	errs := make([]error, len(a.workers))
	var wg sync.WaitGroup
	for id, w := range a.workers {
		wg.Go(func() { _, errs[id] = w.Train(ctx) })
	}
	wg.Wait()
	best, err := a.workers[0].result()
	errs = append(errs, err)
	if ctx.Err() == nil {
		return best, errors.Join(errs...)
	}
	// That each member stopped is said once; what else went wrong, such as a state that could not be saved, stands beside
	// it.
	cause, stopped := contextError(ctx), false
	errs = slices.DeleteFunc(errs, func(err error) bool {
		only := err != nil && saysOnly(err, cause)
		stopped = stopped || only
		return err == nil || only
	})
	if stopped {
		first, last := a.Iterations()
		errs = append(errs, fmt.Errorf("pbt: stopped with members in intervals %d to %d of %d: %w",
			first, last, a.opt.lastIteration(), cause))
	}
	if len(errs) == 1 {
		return best, errs[0]
	}
	return best, errors.Join(errs...)
}

// saysOnly reports whether err consists of nothing but contextErr, the error of a cancelled context, or parts of it.
func saysOnly(err, contextErr error) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the tree of wrapped errors itself
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !saysOnly(err, contextErr) })
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return saysOnly(inner, contextErr)
		}
	}
	return errors.Is(contextErr, err)
}

// Iterations returns the least and the greatest interval that a member is in, from 1.
func (a *Async) Iterations() (first, last int64) {
	first, last = a.workers[0].iteration, a.workers[0].iteration
	for _, w := range a.workers {
		first, last = min(first, w.iteration), max(last, w.iteration)
	}
	return first, last
}

// Table is the population as it stands.
func (a *Async) Table() Table {
	members := make([]*member, len(a.workers))
	for id, w := range a.workers {
		members[id] = w.m
	}
	return a.opt.table(members)
}

// Recovered is nil, or says what was damaged in the members' folders, so that states before were used.
func (a *Async) Recovered() error {
	var errs []error
	for _, w := range a.workers {
		errs = append(errs, w.Recovered())
	}
	return errors.Join(errs...)
}

// Close releases all members and the directory. What was trained since the last save is lost; Train saves when its
// context is cancelled. It may be called twice.
func (a *Async) Close() error {
	var errs []error
	for _, w := range a.workers {
		errs = append(errs, w.Close())
	}
	unlock := a.unlock
	a.unlock = func() error { return nil }
	return errors.Join(append(errs, unlock())...)
}

// TrainAsync is [NewAsync], Train and Close in one call.
func TrainAsync(ctx context.Context, opt Options) (*Result, error) {
	a, err := NewAsync(ctx, opt, WorkerOptions{})
	if err != nil {
		return nil, err
	}
	best, err := a.Train(ctx)
	return best, errors.Join(err, a.Close())
}

// oneByOne returns build for use by many goroutines: members are built one after the other, as Options.New promises.
func oneByOne(build func(Member) (Trainee, error)) func(Member) (Trainee, error) {
	var mu sync.Mutex
	return func(m Member) (Trainee, error) {
		mu.Lock()
		defer mu.Unlock()
		return build(m)
	}
}

// oneAtATime returns progress for use by many goroutines: it is never called twice at once, as Options.Progress promises.
func oneAtATime(progress func(Update)) func(Update) {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	return func(u Update) {
		mu.Lock()
		defer mu.Unlock()
		progress(u)
	}
}

// sharedJournals are the journals of all members in one process, by member: what explore.Fitter learns from without files.
type sharedJournals struct {
	mu       sync.Mutex
	journals [][]journal.Event
}

// add appends events to one member's journal. It does nothing for nil, where members are processes.
func (c *sharedJournals) add(member int, events []journal.Event) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.journals[member] = append(c.journals[member], events...)
}

// all merges them. The result is the caller's.
func (c *sharedJournals) all() ([]journal.Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return journal.Merge(slices.Clone(c.journals)...)
}
