package pbt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/internal/peers"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
	"github.com/gorl-dev/gorl/tracking"
)

// ErrNoHealthyMember is returned, wrapped, by Train when every member failed or has an objective that is not finite:
// no member is left to copy. The saved state is that of the last interval that ended well.
var ErrNoHealthyMember = errors.New("no healthy member is left")

// Population is a set of members that train together: all members in this process ([New]), or one of them ([Join]). It
// is used by one goroutine at a time. While Train runs, and from Options.Progress, no method may be called.
type Population struct {
	opt    Options
	groups []*group
	unlock func() error
	closed bool

	mu sync.Mutex // guards the journals of all workers, which explorers read while other groups train
}

// Result is a member at the end of an interval.
type Result struct {
	// Member is the member's number.
	Member int
	// Iteration is the interval at whose end the member was measured.
	Iteration int64
	// Steps are its own environment steps then.
	Steps int64
	// Objective is the figure as it was measured, also if lower is better.
	Objective float64
	// Hyperparameters are those it trained with.
	Hyperparameters map[string]float64
	// Snapshot can be restored into any member, or into a trainee built like one. It is only to be read.
	Snapshot *checkpoint.Snapshot
}

// New checks the options, builds all members, and, if Options.Directory holds a population, puts the members back to
// their saved states. Nothing is trained. Close releases the members.
//
// Members wait for each other at the end of every interval, unless Options.Asynchronous is set. To continue, Members,
// Objective, IntervalSteps, Seed and Measure.Minimise must be those of the earlier run; TotalSteps may have grown. If
// the latest state of a member is damaged, New uses the state before, and Recovered says so.
func New(opt Options) (*Population, error) {
	opt = opt.withDefaults()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	p := &Population{opt: opt.clone(), unlock: func() error { return nil }}
	p.opt.New, p.opt.Progress = requireDistinct(opt.New), oneAtATime(opt.Progress)
	if err := p.open(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// open locks the directory and opens the groups: one of all members, or one for each if they do not wait.
func (p *Population) open() error {
	cfg := ProcessOptions{Store: workspace.Store(workspace.NewMemory(p.opt.Members))}.withDefaults()
	if dir := p.opt.Directory; dir != "" {
		if err := durable.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("pbt: directory: %w", err)
		}
		unlock, err := lockDirectory(dir)
		if err != nil {
			return err
		}
		p.unlock = unlock
		if cfg.Store, err = workspace.OpenFolder(dir, p.opt.Members, workspace.FolderOptions{}); err != nil {
			return fmt.Errorf("pbt: directory: %w", err)
		}
		cfg.Experiment = filepath.Base(dir)
	}
	slots := make(chan struct{}, p.opt.Parallel)
	together := p.opt.Members
	if p.opt.Asynchronous {
		together = 1
	}
	// The lock excludes other populations of one process. A member that a process of its own trains is not waited for.
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for first := 0; first < p.opt.Members; first += together {
		g := p.add(cfg, slots, first, together)
		if err := g.open(now); err != nil {
			return err
		}
	}
	return nil
}

// add adds a group of n members from the member first on.
func (p *Population) add(cfg ProcessOptions, slots chan struct{}, first, n int) *group {
	g := &group{population: p, opt: &p.opt, cfg: cfg, slots: slots, phase: states.Training, iteration: 1,
		ahead: peers.Ahead{}}
	for id := first; id < first+n; id++ {
		g.workers = append(g.workers, &worker{group: g, id: id})
	}
	p.groups = append(p.groups, g)
	return g
}

// Train trains all members of this process to Options.TotalSteps. It returns the best that any member has been at the
// end of an interval: nil if no member has been measured. Its Snapshot is nil if it cannot be read; Recovered then says
// why. Populations with Options.Asynchronous return it together with an error, too.
//
// When the context is cancelled the members stop, their states are saved, and the error wraps the context's error and
// its cause. Calling Train again, or New or Join with the same options, continues. If the training of a member fails or
// panics, or its weights or objective are not finite, the journal records it, and the strategy may let the member copy
// another one. [ErrNoHealthyMember] says that none is left to copy.
//
// A member of [Join] may also end with [ErrYield] or [ErrRestart], both after saving; with [ErrBroken], after which the
// last saved state is unchanged; or with [workspace.ErrLeaseLost], after which nothing is written any more.
func (p *Population) Train(ctx context.Context) (*Result, error) {
	if p.closed {
		return nil, errors.New("pbt: the population is closed; make another with New or Join")
	}
	if p.opt.Directory != "" && slices.ContainsFunc(p.groups,
		func(g *group) bool { return g.phase != states.Finished }) {
		interval, _ := p.Iterations()
		if err := runfile.Record(p.opt.Directory, nil, runfile.Start{Interval: interval}); err != nil {
			return nil, fmt.Errorf("pbt: recording the start of the population: %w", err)
		}
	}
	errs, stopped := make([]error, len(p.groups)), make([]bool, len(p.groups))
	var wg sync.WaitGroup
	for i, g := range p.groups {
		wg.Go(func() { stopped[i], errs[i] = g.run(ctx) })
	}
	wg.Wait()
	if slices.Contains(stopped, true) { // that each member stopped is one error
		first, last := p.Iterations()
		where := fmt.Sprintf("%sstopped in interval %d", p.groups[0].name(), first)
		if len(p.groups) > 1 {
			where = fmt.Sprintf("stopped with members in intervals %d to %d", first, last)
		}
		errs = append(errs, fmt.Errorf("pbt: %s of %d: %w", where, p.opt.lastIteration(), contextError(ctx)))
	}
	if err := errors.Join(errs...); err != nil && len(p.groups) == 1 {
		return nil, err
	}
	best, err := p.groups[0].result()
	return best, errors.Join(append(errs, err)...)
}

// workers returns the members of this process, in order of their numbers.
func (p *Population) workers() (all []*worker) {
	for _, g := range p.groups {
		all = append(all, g.workers...)
	}
	return all
}

// Trainee returns a member's trainee, nil if the member is not in this process. It changes when the member is rebuilt.
func (p *Population) Trainee(id int) Trainee {
	for _, w := range p.workers() {
		if w.id == id {
			return w.m.trainee
		}
	}
	return nil
}

// Generation returns the members of this process as strategies see them, in the interval in progress: that of the
// slowest member. After [Join] these are not all members, so a strategy cannot decide about them.
func (p *Population) Generation() strategy.Generation {
	first, _ := p.Iterations()
	g := strategy.Generation{Iteration: first}
	for _, w := range p.workers() {
		g.Members = append(g.Members, w.m.status())
	}
	return g
}

// Iterations returns the least and the greatest interval that a member of this process is in, from 1.
func (p *Population) Iterations() (first, last int64) {
	first, last = p.groups[0].iteration, p.groups[0].iteration
	for _, g := range p.groups {
		first, last = min(first, g.iteration), max(last, g.iteration)
	}
	return first, last
}

// Best returns the best that any member has been at the end of an interval, nil before the first one.
func (p *Population) Best() *Result {
	best, _ := p.groups[0].result()
	return best
}

// Journal returns the events of the members of this process, earlier runs included. See journal.Read for the events of
// all members.
func (p *Population) Journal() []journal.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var journals [][]journal.Event
	for _, w := range p.workers() {
		journals = append(journals, w.journal.Events)
	}
	events, _ := journal.Merge(journals...) // they are of one population
	return events
}

// Recovered is nil, or says which saved states were damaged, so that the states before were used, or why the best
// member so far could not be read.
func (p *Population) Recovered() error {
	var errs []error
	for _, g := range p.groups {
		errs = append(errs, g.recovered)
	}
	return errors.Join(errs...)
}

// Close releases the members and the directory. What was trained since the last save is lost; Train saves when its
// context is cancelled. Close may be called twice.
func (p *Population) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	var errs []error
	for _, w := range p.workers() {
		errs = append(errs, w.close())
	}
	return errors.Join(append(errs, p.unlock())...)
}

// oneAtATime returns progress for use by many goroutines: it is never called twice at once.
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

// Table is a population at a glance: a row a member, for the end of a run.
type Table struct {
	// Objective is the objective's name.
	Objective string
	// Keys are the hyperparameters worth a column: those that were set, sampled or may be mutated, or else all.
	Keys []string
	// More are further columns behind the objective, with a cell in each Row.More. Default: none.
	More []string
	// Rows are in order of member numbers.
	Rows []Row
}

// Row is one member. Its Objective and Peak are figures as they were measured, also where less is better.
type Row struct {
	strategy.Status
	// Parent is the member whose weights it took over last, -1 for none.
	Parent int
	// More are the cells of Table.More.
	More []string
}

// Table returns the members of this process as they stand.
func (p *Population) Table() Table {
	o, workers := p.opt, p.workers()
	t := Table{Objective: o.Objective, Keys: o.Tuned(slices.Sorted(maps.Keys(workers[0].m.Hyperparameters)))}
	for _, w := range workers {
		s := w.m.status()
		s.Objective, s.Peak = o.Measure.signed(s.Objective), o.Measure.signed(s.Peak)
		t.Rows = append(t.Rows, Row{Status: s, Parent: w.m.CopiedFrom()})
	}
	if len(t.Keys) == 0 {
		t.Keys = slices.Sorted(maps.Keys(t.Rows[0].Hyperparameters))
	}
	return t
}

// Write writes the table as aligned text: member, parent, environment steps, objective, the columns More and one for
// each of Keys.
func (t Table) Write(w io.Writer) error {
	header := slices.Concat([]string{"member", "parent", "environment steps", t.Objective}, t.More, t.Keys)
	cell := func(v float64, known bool) string {
		if known {
			return fmt.Sprintf("%.6g", v)
		}
		return "-"
	}
	var rows [][]string
	for _, r := range t.Rows {
		objective := cell(r.Objective, r.HasObjective)
		if r.Failed {
			objective = "failed"
		}
		row := append(tracking.Cells(r.Member, cell(float64(r.Parent), r.Parent >= 0), r.Steps, objective), r.More...)
		for _, key := range t.Keys {
			v, ok := r.Hyperparameters[key]
			row = append(row, cell(v, ok))
		}
		rows = append(rows, row)
	}
	if err := tracking.Table(w, header, rows); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}
