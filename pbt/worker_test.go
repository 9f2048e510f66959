package pbt

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/pbt/explore"
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

// tribe are the members of one board, each in a goroutine.
type tribe struct {
	*colony
	board  workspace.Store
	cfg    ProcessOptions // what all have in common
	adjust func(id int, place *ProcessOptions, opt *Options)

	mu      sync.Mutex
	workers []*Population
	errs    []error
	results []*Result
}

func newTribe(members int, board workspace.Store) *tribe {
	t := &tribe{colony: newColony(members), board: board}
	t.cfg = ProcessOptions{Store: board, after: quick, Silence: time.Minute}
	t.opt.Asynchronous = true
	build := t.opt.New
	t.opt.New = func(m Member) (Trainee, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		return build(m)
	}
	return t
}

// join joins one member.
func (r *tribe) join(t *testing.T, id int) *Population {
	t.Helper()
	place, opt := r.cfg, r.opt
	place.Member = id
	if r.adjust != nil {
		r.adjust(id, &place, &opt)
	}
	s, err := Join(t.Context(), opt, place)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// train joins all members and trains them to the end of each.
func (r *tribe) train(t *testing.T) {
	t.Helper()
	r.workers, r.errs, r.results = nil, nil, nil
	for id := range r.opt.Members {
		r.workers = append(r.workers, r.join(t, id))
	}
	r.errs, r.results = make([]error, r.opt.Members), make([]*Result, r.opt.Members)
	var wg sync.WaitGroup
	for id, s := range r.workers {
		wg.Go(func() { r.results[id], r.errs[id] = s.Train(t.Context()) })
	}
	wg.Wait()
	for _, s := range r.workers {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (r *tribe) mustTrain(t *testing.T) {
	t.Helper()
	r.train(t)
	if err := errors.Join(r.errs...); err != nil {
		t.Fatal(err)
	}
}

// TestCancelledWhileWaiting: a member that waits for others ends when its context does.
func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newTribe(2, workspace.NewMemory(2))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := 0
	r.opt.Asynchronous, r.cfg.Heartbeat, r.cfg.Silence = false, 2*longestPause, 2*longestPause
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
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// journal is that of all.
func (r *tribe) journal(t *testing.T) []journal.Event {
	t.Helper()
	var journals [][]journal.Event
	for _, s := range r.workers {
		journals = append(journals, s.Journal())
	}
	merged, err := journal.Merge(journals...)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

// worker is the member of a population that was joined.
func (p *Population) worker() *worker { return p.groups[0].workers[0] }

func (p *Population) Status() strategy.Status { return p.worker().m.status() }

func (p *Population) Copies() (int64, int) { return p.worker().copies, p.worker().m.parent }

func (p *Population) Iteration() int64 { return p.groups[0].iteration }

// alternating replaces odd members and lets even ones mutate themselves, unless they have diverged: a process that
// cannot build a second trainee has no weights of them.
type alternating struct{}

func (alternating) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	var decisions []strategy.Decision
	for _, m := range g.Members[1:] {
		if m.Member%2 == 0 && m.Diverged() {
			continue
		}
		d := strategy.Decision{Member: m.Member, Action: strategy.SelfMutate, Source: m.Member, Reason: "even"}
		if m.Member%2 == 1 {
			d = strategy.Decision{Member: m.Member, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "odd"}
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// always decides the same at every interval's end.
type always []strategy.Decision

func (s always) Decide(strategy.Generation, *rand.Rand) []strategy.Decision { return s }

func folder(t *testing.T, dir string, members int) *workspace.Folder {
	t.Helper()
	board, err := workspace.OpenFolder(dir, members, workspace.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return board
}

// TestWorkerLearnsDespiteDamage: a journal that is damaged is one less to learn from, and ends nobody.
func TestWorkerLearnsDespiteDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newTribe(4, folder(t, dir, 4))
	r.opt.Explore = explore.PB2{Bounds: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 0.4, Log: true}}}
	r.opt.Asynchronous = false
	r.faults.train = func(m *climber) error {
		if m.id == 1 && m.steps == 120 {
			file, err := os.OpenFile(filepath.Join(dir, "001", journal.File), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.WriteString("xx")
			return errors.Join(err, file.Close())
		}
		return nil
	}
	r.mustTrain(t)
	if _, err := journal.Read(dir); err == nil {
		t.Error("the journal is whole: this test shows nothing")
	}
	if n := len(kinds(r.journal(t), journal.Replace)); n < 5 {
		t.Errorf("only %d replacements: this test shows little", n)
	}
}

// TestWorkerUnknownObjective: where the objective does not exist, all report what a population does, however few intervals
// there are and whoever is done first.
func TestWorkerUnknownObjective(t *testing.T) {
	for _, total := range []int64{50, 200} {
		adjust := func(o *Options) { o.Objective, o.TotalSteps, o.IntervalSteps = "reward", total, 50 }
		c := newColony(3)
		adjust(&c.opt)
		_, want := mustNew(t, c.opt).Train(t.Context())
		if want == nil || !strings.Contains(want.Error(), `no member reported the objective "reward" by the end of interval 1: `) {
			t.Fatal(want)
		}
		for _, synchronous := range []bool{true, false} {
			r := newTribe(3, workspace.NewMemory(3))
			adjust(&r.opt)
			r.opt.Asynchronous = !synchronous
			r.train(t)
			for id, err := range r.errs {
				// Who does not wait may notice it later.
				if err == nil || synchronous && err.Error() != want.Error() || !strings.Contains(err.Error(), `no member reported the objective "reward" by the end of interval `) {
					t.Errorf("%d steps, synchronous %t, member %d: %v, want %v", total, synchronous, id, err, want)
				}
			}
		}
		_, err := trainAsync(t.Context(), c.opt)
		if err == nil || !strings.Contains(err.Error(), `no member reported the objective "reward" by the end of interval `) {
			t.Errorf("%d steps: TrainAsync: %v", total, err)
		}
	}
}

// TestWorkerObjectiveOfOthers: a member without an objective of its own at the end of training waits for those who may have
// one, and is finished where one has.
func TestWorkerObjectiveOfOthers(t *testing.T) {
	r := newTribe(2, workspace.NewMemory(2))
	r.opt.TotalSteps = 50
	trained := make(chan struct{})
	build := r.opt.New
	r.opt.New = func(m Member) (Trainee, error) {
		trainee, err := build(m)
		if m.ID == 0 {
			return mute{trainee}, err
		}
		return trainee, err
	}
	r.faults.train = func(c *climber) error {
		if c.id == 1 {
			<-trained
		}
		return nil
	}
	r.adjust = func(id int, _ *ProcessOptions, o *Options) {
		o.Progress = func(u Update) {
			if id == 0 && u.Event == nil && u.Status.Steps == 50 {
				close(trained)
			}
		}
	}
	r.mustTrain(t)
}

// mute has no figures.
type mute struct{ Trainee }

func (mute) Metrics() map[string]float64 { return nil }
