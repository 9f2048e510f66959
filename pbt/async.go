package pbt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// TrainAsync trains a population in this process in which no member waits for the slowest: every member is a [Worker] that
// decides about itself at the end of its own intervals, from what peers of equal or less experience last published.
// Decisions depend on timing, so equal seeds give different runs.
//
// Members train at most Options.Parallel at a time, each to Options.TotalSteps. Options.Directory is a workspace, as
// processes share it, with a folder a member: the same options continue there, journal.ReadWorkspace reads its journals, and
// processes of their own can join. Without one nothing is kept.
//
// It returns the best that any member was at an interval's end, also beside an error. When the context is cancelled the
// members stop, their states are saved, and the error is the context's cause. A member that gives up, because no peer can
// rescue it, ends neither the others nor the run; its error is returned at the end.
func TrainAsync(ctx context.Context, opt Options) (*Result, error) {
	opt = opt.withDefaults()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	var board workspace.Store = workspace.NewMemory(opt.Members)
	if opt.Directory != "" {
		folder, err := workspace.OpenFolder(opt.Directory, opt.Members, workspace.FolderOptions{})
		if err != nil {
			return nil, fmt.Errorf("pbt: directory: %w", err)
		}
		board = folder
	}
	opt.New, opt.Progress = oneByOne(opt.New), oneAtATime(opt.Progress)
	place := WorkerOptions{Store: board, slots: make(chan struct{}, opt.Parallel), sharedJournals: &sharedJournals{journals: make([][]journal.Event, opt.Members)}}
	workers := make([]*Worker, 0, opt.Members)
	errs := make([]error, opt.Members)
	for id := range opt.Members {
		place.Member = id
		w, err := Join(ctx, opt, place)
		if err != nil {
			errs = append(errs, err)
			break
		}
		workers = append(workers, w)
	}
	if len(workers) == opt.Members {
		var wg sync.WaitGroup
		for id, w := range workers {
			wg.Go(func() { _, errs[id] = w.Train(ctx) })
		}
		wg.Wait()
	}
	var best *Result
	if len(workers) > 0 {
		var err error
		best, err = workers[0].result()
		errs = append(errs, err)
	}
	for _, w := range workers {
		errs = append(errs, w.Close())
	}
	return best, errors.Join(errs...)
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
