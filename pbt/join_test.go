package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/journalcheck"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// quick is a clock on which nobody waits long for others. Heartbeats, which come less often, are left alone.
func quick(d time.Duration) <-chan time.Time {
	if d <= longestPause {
		d = min(d, time.Millisecond)
	}
	return time.After(d)
}

// processes are the members of one store, each in a goroutine as in a process of its own.
type processes struct {
	*colony
	store  workspace.Store
	cfg    ProcessOptions // what all have in common
	adjust func(id int, place *ProcessOptions, opt *Options)

	mu      sync.Mutex
	workers []*Population
	errs    []error
}

func newProcesses(members int, store workspace.Store) *processes {
	r := &processes{colony: newColony(members), store: store}
	r.cfg = ProcessOptions{Store: store, after: quick, Silence: time.Minute}
	r.opt.New = func(m Member) (Trainee, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.build(m)
	}
	return r
}

// join joins one member.
func (r *processes) join(t *testing.T, id int) *Population {
	t.Helper()
	place, opt := r.cfg, r.opt
	place.Member = id
	if r.adjust != nil {
		r.adjust(id, &place, &opt)
	}
	return must.Get(Join(t.Context(), opt, place))(t)
}

// train joins members and trains them to the end of each.
func (r *processes) train(t *testing.T, ids ...int) {
	t.Helper()
	r.workers, r.errs = nil, make([]error, len(ids))
	for _, id := range ids {
		r.workers = append(r.workers, r.join(t, id))
	}
	var wg sync.WaitGroup
	for i, s := range r.workers {
		wg.Go(func() { _, r.errs[i] = s.Train(t.Context()) })
	}
	wg.Wait()
	for _, s := range r.workers {
		mustClose(t, s)
	}
}

// all are the numbers of all members.
func (r *processes) all() (ids []int) {
	for id := range r.opt.Members {
		ids = append(ids, id)
	}
	return ids
}

func (r *processes) mustTrain(t *testing.T) {
	t.Helper()
	r.train(t, r.all()...)
	must.Do(t, errors.Join(r.errs...))
}

// journal is that of all, which is checked.
func (r *processes) journal(t *testing.T) []journal.Event {
	t.Helper()
	var journals [][]journal.Event
	for _, s := range r.workers {
		journals = append(journals, s.Journal())
	}
	merged := must.Get(journal.Merge(journals...))(t)
	must.Get(journalcheck.Replay(merged))(t)
	return merged
}

// joined is the member of a population that was joined.
func joined(p *Population) *worker { return p.workers()[0] }

func status(p *Population) strategy.Status { return p.Generation().Members[0] }

func folder(t *testing.T, dir string, members int) *workspace.Folder {
	t.Helper()
	return must.Get(workspace.OpenFolder(dir, members, workspace.FolderOptions{}))(t)
}

// trainApart trains members over a folder, each in a goroutine that joins again until train lets it end.
func trainApart(t *testing.T, dir string, arm func(r *processes),
	train func(ctx context.Context, id, run int, c *colony, s *Population) error) {
	t.Helper()
	r := newProcesses(4, nil)
	arm(r)
	r.store = folder(t, dir, r.opt.Members)
	r.cfg.Store = r.store
	var wg sync.WaitGroup
	for id := range r.opt.Members {
		wg.Go(func() {
			for run := 0; ; run++ {
				place := r.cfg
				place.Member = id
				s, err := Join(t.Context(), r.opt, place)
				if err != nil {
					t.Error(err)
					return
				}
				if s.Recovered() != nil {
					t.Error(s.Recovered())
				}
				err = train(t.Context(), id, run, r.colony, s)
				mustClose(t, s)
				if err == nil {
					return
				}
				if run > 300 || !errors.Is(err, context.Canceled) && !errors.Is(err, ErrYield) &&
					!errors.Is(err, ErrRestart) {
					t.Errorf("member %d, run %d: %v", id, run, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// toTheEnd is a train of trainApart that does not interrupt.
func toTheEnd(ctx context.Context, _, _ int, _ *colony, s *Population) error {
	_, err := s.Train(ctx)
	return err
}

// compareWorkspace checks that members in a folder wrote what a population wrote.
func compareWorkspace(t *testing.T, want *Population, dir string) {
	t.Helper()
	events := readJournal(t, dir)
	must.Equal(t, "the journal", lines(t, want.Journal()), lines(t, events))
	checkStates(t, dir, events)
}

// checkStates compares the states on disk with what the journal replays to.
func checkStates(t *testing.T, dir string, events []journal.Event) {
	t.Helper()
	standings := must.Get(journalcheck.Replay(events))(t)
	for _, st := range standings {
		state := must.Get(states.Decode(read(t, dir, fmt.Sprintf("%03d", st.Member), states.File)))(t)
		m := state.Member
		objective, known := m.Objective.Known()
		if state.Phase != states.Finished || !st.Final || m.Steps != st.Steps || m.CopiedFrom() != st.Parent ||
			state.Copies != st.Copies || state.Iteration != st.Iteration || known != st.HasObjective ||
			known && !cmp.Equal(objective, st.Objective, cmpopts.EquateNaNs()) ||
			!maps.Equal(m.Hyperparameters, st.Hyperparameters) {
			t.Errorf("the journal replays to %+v, and the state is %+v", st, state)
		}
	}
}

// TestWorkerMoreSteps: a member that trained to the end goes on when there is more to train.
func TestWorkerMoreSteps(t *testing.T) {
	t.Parallel()
	c := newColony(4)
	c.opt.TotalSteps = 200
	want, dir := mustTrain(t, c.opt), t.TempDir()
	for _, total := range []int64{50, 75, 200, 200} {
		trainApart(t, dir, func(r *processes) { r.opt.TotalSteps = total }, toTheEnd)
	}
	compareWorkspace(t, want, dir)
}

// TestWorkerRestartThatFails: what cannot be built from the new hyperparameters goes on as it was.
func TestWorkerRestartThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trainApart(t, dir, func(r *processes) {
		r.opt.Rebuild, r.cfg.RestartProcess, r.opt.TotalSteps = []string{"discount_factor"}, true, 250
		build := r.opt.New
		r.opt.New = func(m Member) (Trainee, error) {
			if v, ok := m.Hyperparameters["discount_factor"]; ok && v != 0.99 {
				return nil, errors.New("no such simulator")
			}
			return build(m)
		}
	}, toTheEnd)
	events := readJournal(t, dir)
	if failed := kinds(events, journal.ApplyFailed); len(failed) < 3 ||
		!strings.Contains(failed[0].Cause, "no such simulator") {
		t.Errorf("failures are %+v", failed)
	}
	for _, e := range kinds(events, journal.Replace) {
		if e.After["discount_factor"] != 0.99 {
			t.Errorf("it was built after all: %+v", e)
		}
	}
	checkStates(t, dir, events)
}

// withoutMetrics has no figures.
type withoutMetrics struct{ Trainee }

func (withoutMetrics) Metrics() map[string]float64 { return nil }

// TestWorkerObjectiveOfOthers: a member without an objective of its own at the end of training waits for those who may
// have one, and is finished where one has. If there is none, all members report what a population does.
func TestWorkerObjectiveOfOthers(t *testing.T) {
	r := newProcesses(2, workspace.NewMemory(2))
	r.opt.TotalSteps, r.opt.Asynchronous = 50, true
	trained := make(chan struct{})
	r.adjust = func(id int, _ *ProcessOptions, o *Options) {
		if id == 1 {
			return
		}
		o.New = func(m Member) (Trainee, error) { return withoutMetrics{newClimber(m, &faults{})}, nil }
		o.Progress = func(u Update) {
			if u.Event == nil && u.Status.Steps == 50 {
				close(trained)
			}
		}
	}
	r.faults.train = func(*climber) error { <-trained; return nil }
	r.mustTrain(t)

	r = newProcesses(3, workspace.NewMemory(3))
	r.opt.Objective, r.opt.TotalSteps = "reward", 200
	r.train(t, r.all()...)
	for _, err := range r.errs {
		must.Refuse(t, err, `no member reported the objective "reward" by the end of interval 1: `)
	}
}

// TestAsynchronous: members of one process that do not wait for each other train, are built, and report one after the
// other as Parallel says; they continue when they are stopped, and one that hangs holds nobody up.
func TestAsynchronous(t *testing.T) {
	t.Parallel()
	var telling, building atomic.Int64
	alone := func(what string, n *atomic.Int64) func() {
		if n.Add(1) > 1 {
			t.Errorf("%s is called twice at once", what)
		}
		for range 10 {
			_ = letOthersRun(nil)
		}
		return func() { n.Add(-1) }
	}
	p, breaks := interrupted(t, func() int64 { return 40 }, func(stop func()) *colony {
		c := newColony(6)
		c.opt.Asynchronous, c.opt.Parallel, c.opt.Rebuild = true, 3, []string{"discount_factor"}
		c.faults.train = func(m *climber) error {
			if n := c.faults.running.Load(); n > 3 {
				t.Errorf("%d trained at a time, want at most 3", n)
			}
			return letOthersRun(m)
		}
		c.opt.New = func(m Member) (Trainee, error) {
			defer alone("New", &building)()
			return c.build(m)
		}
		c.opt.Progress = func(Update) {
			defer alone("Progress", &telling)()
			stop()
		}
		return c
	})
	if breaks < 2 {
		t.Errorf("only %d interruptions", breaks)
	}
	best, fresh := p.Best(), newClimber(Member{}, &faults{})
	must.Do(t, fresh.Restore(best.Snapshot))
	must.Is(t, fresh.objective(), best.Objective, "the best snapshot's objective")
	checkStates(t, p.opt.Directory, readJournal(t, p.opt.Directory))

	c, others, finals := newColony(3), make(chan struct{}), 0
	c.opt.Asynchronous, c.opt.Parallel = true, 3
	c.at(2, 60, func(*climber) error { <-others; return nil })
	c.opt.Progress = func(u Update) {
		if u.Event != nil && u.Event.Kind == journal.Final {
			if finals++; finals == 2 {
				close(others)
			}
		}
	}
	mustTrain(t, c.opt)
	must.Is(t, finals, 3, "members that trained to the end")
}
