package pbt

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/journalcheck"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// watch collects what is published, and checks what every member may look at.
type watch struct {
	workspace.Store
	mu      sync.Mutex
	fetched []workspace.Record
	fetch   func(r workspace.Record) error
	view    func(v *workspace.View)
}

func (w *watch) Fetch(r workspace.Record) (*checkpoint.Snapshot, error) {
	w.mu.Lock()
	w.fetched = append(w.fetched, r)
	w.mu.Unlock()
	if w.fetch != nil {
		if err := w.fetch(r); err != nil {
			return nil, err
		}
	}
	return w.Store.Fetch(r)
}

func (w *watch) View() (workspace.View, error) {
	v, err := w.Store.View()
	if err == nil && w.view != nil {
		w.view(&v)
	}
	return v, err
}

// TestWorkerEqualOrLess: members of different speed look at peers of their own age or younger only.
func TestWorkerEqualOrLess(t *testing.T) {
	for _, slack := range []int64{0, 2} {
		r := newTribe(5, workspace.NewMemory(5))
		r.opt.Slack = slack
		r.opt.TotalSteps = 1000
		spy := spy{r.opt.Strategy, &shown{}}
		r.opt.Strategy = spy
		r.opt.Initial = []map[string]float64{{"learning_rate": 0.06}, {"learning_rate": 0.05}, {"learning_rate": 0.0001}, {"learning_rate": 0.0002}, {"learning_rate": 0.0003}}
		var trained [5]atomic.Int64
		r.faults.train = func(m *climber) error {
			n := trained[m.id].Add(1)
			// Three are slow, by at least four intervals and by so few that they have something to show.
			for m.id >= 2 && min(trained[0].Load(), trained[1].Load()) < min(n+200, 1000) ||
				m.id < 2 && min(trained[2].Load(), trained[3].Load(), trained[4].Load()) < n-400 {
				time.Sleep(100 * time.Microsecond)
			}
			return nil
		}
		r.mustTrain(t)
		younger := 0
		for _, g := range spy.seen {
			for _, m := range g.Members {
				if m.HasObjective && m.Iteration > g.Iteration+slack {
					t.Fatalf("at iteration %d a record of %d was looked at", g.Iteration, m.Iteration)
				}
				if m.HasObjective && m.Iteration < g.Iteration {
					younger++
				}
			}
		}
		if younger == 0 {
			t.Error("nobody was behind: this test shows little")
		}
		events := r.journal(t)
		if _, err := journalcheck.Replay(events); err != nil {
			t.Error(err)
		}
		replaced := kinds(events, journal.Replace)
		for _, e := range replaced {
			if e.ParentSteps > e.Steps+slack*r.opt.IntervalSteps {
				t.Errorf("%d copied %d, which was ahead: %+v", e.Member, e.Parent, e)
			}
		}
		if len(replaced) < 3 {
			t.Errorf("only %d replacements: this test shows little", len(replaced))
		}
		for _, s := range r.workers {
			if st := s.Status(); st.Steps != 1000 || !st.Healthy() {
				t.Errorf("member %d ended as %+v", s.worker().id, st)
			}
		}
	}
}

// spy is a strategy that remembers what it was shown.
type spy struct {
	strategy.Strategy
	*shown
}

type shown struct {
	mu   sync.Mutex
	seen []strategy.Generation
}

func (s spy) Decide(g strategy.Generation, rng *rand.Rand) []strategy.Decision {
	s.mu.Lock()
	s.seen = append(s.seen, g.Clone())
	s.mu.Unlock()
	return s.Strategy.Decide(g, rng)
}

// evicting is a store that takes a lease from its holder when it is told to, as a shared folder does when the holder has been
// silent for too long.
type evicting struct {
	workspace.Store
	leases sync.Map // *evictable by member
}

func (e *evicting) Join(ctx context.Context, member int) (workspace.Lease, error) {
	l, err := e.Store.Join(ctx, member)
	if err != nil {
		return nil, err
	}
	own := &evictable{l, make(chan struct{})}
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

func (l *evictable) Prune(k workspace.Keep) error {
	return l.held(func() error { return l.Lease.Prune(k) })
}

// TestWorkerWithoutTheDead: members that never started, or ended without a word, hold the others up only for a while.
func TestWorkerWithoutTheDead(t *testing.T) {
	for _, synchronous := range []bool{true, false} {
		board := &evicting{Store: workspace.NewMemory(4)}
		r := newTribe(4, board)
		r.opt.Asynchronous, r.cfg.Silence, r.cfg.Heartbeat = !synchronous, 60*time.Millisecond, 5*time.Millisecond
		spy := spy{r.opt.Strategy, &shown{}}
		r.opt.Strategy = spy
		gone := errors.New("killed")
		// Member 3 never comes; member 2 dies in interval 3 without a word.
		r.faults.train = func(m *climber) error {
			if m.id == 2 && m.steps == 120 {
				if err := board.evict(2); err != nil {
					return err
				}
				return gone
			}
			return nil
		}
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for id := range 3 {
			s := r.join(t, id)
			r.workers = append(r.workers, s)
			wg.Go(func() { _, errs[id] = s.Train(t.Context()) })
		}
		wg.Wait()
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], workspace.ErrLeaseLost) {
			t.Fatalf("synchronous %t: the errors are %v", synchronous, errs)
		}
		for _, g := range spy.seen {
			if g.Members[3].HasObjective || synchronous && !g.Members[3].Absent {
				t.Errorf("iteration %d: who never started is seen as %+v", g.Iteration, g.Members[3])
			}
			if synchronous && g.Iteration >= 3 && (g.Members[2].HasObjective || !g.Members[2].Absent) {
				t.Errorf("iteration %d: who died is seen as %+v", g.Iteration, g.Members[2])
			}
		}
		if n := len(kinds(r.workers[2].Journal(), journal.Final)); n != 0 || r.workers[0].Status().Steps != 500 {
			t.Errorf("synchronous %t: the dead wrote %d final events, and member 0 trained %d steps", synchronous, n, r.workers[0].Status().Steps)
		}
		for _, s := range r.workers {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWorkerBeatsWhileTraining: a member whose training takes long is seen to live.
func TestWorkerBeatsWhileTraining(t *testing.T) {
	t.Parallel()
	board := workspace.NewMemory(2)
	r := newTribe(2, board)
	r.cfg.Heartbeat = time.Millisecond
	limit, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	r.faults.train = func(m *climber) error {
		if m.steps != 20 {
			return nil
		}
		begun := seen(t, board)
		for !seen(t, board).After(begun) {
			if limit.Err() != nil {
				t.Error("there is no heartbeat during a step")
				return nil
			}
		}
		return nil
	}
	w := r.join(t, 0)
	if _, err := w.Train(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// seen is when member 0 was seen last.
func seen(t *testing.T, board workspace.Store) time.Time {
	view, err := board.View()
	if err != nil {
		t.Error(err)
	}
	return view.Members[0].Seen
}

// setBack is a store whose clock goes on by a second at every look, and was set back by eleven days after the last heartbeat of
// one member.
type setBack struct {
	workspace.Store
	dead int
	now  atomic.Int64 // seconds
}

func (s *setBack) View() (workspace.View, error) {
	v, err := s.Store.View()
	v.Now = time.Unix(1000+s.now.Add(1), 0)
	for i, m := range v.Members {
		if m.Heartbeat != nil {
			v.Members[i].Seen = v.Now
		}
	}
	v.Members[s.dead].Seen = time.Unix(1_000_000, 0)
	return v, err
}

// TestWorkerClockSetBack: where the board's clock is set back, those who died before are not waited for until it has caught up.
func TestWorkerClockSetBack(t *testing.T) {
	board := &setBack{Store: workspace.NewMemory(3), dead: 1}
	r := newTribe(3, board)
	r.opt.Asynchronous = false
	dead, s := r.join(t, 1), r.join(t, 0) // and member 2 never comes
	dead.worker().heartbeat.end()
	t.Cleanup(func() { dead.Close(); s.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	s.groups[0].cfg.after = (func(time.Duration) <-chan time.Time {
		if looks++; looks > 1000 {
			cancel()
		}
		return quick(0)
	})
	if _, err := s.Train(ctx); err != nil {
		t.Errorf("after %d looks: %v", looks, err)
	}
}

// TestWorkerLate: who comes when the others have trained to the end finds what they had at each of its interval's ends.
func TestWorkerLate(t *testing.T) {
	r := newTribe(4, workspace.NewMemory(4))
	r.opt.TotalSteps = 400
	r.opt.Asynchronous, r.cfg.Silence, r.cfg.Heartbeat = false, 40*time.Millisecond, 10*time.Millisecond
	spy := spy{r.opt.Strategy, &shown{}}
	r.adjust = func(id int, _ *ProcessOptions, opt *Options) {
		if id == 3 {
			opt.Strategy = spy
		}
	}
	train := func(ids ...int) {
		var wg sync.WaitGroup
		for _, id := range ids {
			s := r.join(t, id)
			wg.Go(func() {
				if _, err := s.Train(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	train(0, 1, 2)
	train(3)
	if len(spy.seen) != 7 {
		t.Errorf("it decided %d times, want 7", len(spy.seen))
	}
	for i, g := range spy.seen {
		for _, m := range g.Members {
			if g.Iteration != int64(i+1) || m.Iteration != g.Iteration || !m.Healthy() || m.Absent {
				t.Errorf("iteration %d: %+v", g.Iteration, m)
			}
		}
	}
}

// TestWorkerCorruptPeer: weights that cannot be verified are never adopted, and another source is tried.
func TestWorkerCorruptPeer(t *testing.T) {
	for name, fault := range map[string]error{
		"damaged": &checkpoint.DamagedError{Path: "x", Reason: "the checksum is not the record's"},
		"pruned":  errors.New("file does not exist"),
	} {
		t.Run(name, func(t *testing.T) {
			board := &watch{Store: workspace.NewMemory(5)}
			var refused atomic.Int64
			board.fetch = func(rec workspace.Record) error {
				if rec.Member == 4 {
					refused.Add(1)
					return fault
				}
				return nil
			}
			r := newTribe(5, board)
			r.opt.Asynchronous = false
			// Member 4 is the best, and 3 a leader as well.
			r.opt.Initial = []map[string]float64{{"learning_rate": 0.0001}, {"learning_rate": 0.0002}, {"learning_rate": 0.0003}, {"learning_rate": 0.06}, {"learning_rate": 0.1}}
			r.opt.Reference = []int{0, 1, 2, 3, 4}
			r.mustTrain(t)
			events := r.journal(t)
			failed := 0
			for _, e := range events {
				switch {
				case e.Kind == journal.Replace && e.Parent == 4:
					t.Errorf("unverified weights were adopted: %+v", e)
				case e.Kind == journal.ApplyFailed:
					failed++
					if e.Parent != 4 || !strings.Contains(e.Cause, fault.Error()) {
						t.Errorf("the failure is %+v", e)
					}
				}
			}
			if failed == 0 || refused.Load() < int64(failed) || len(kinds(events, journal.Replace)) == 0 {
				t.Errorf("%d failures, %d refusals, %d replacements", failed, refused.Load(), len(kinds(events, journal.Replace)))
			}
			if _, err := journalcheck.Replay(events); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWorkerFetchAgain: a source that is being replaced is read again.
func TestWorkerFetchAgain(t *testing.T) {
	c := newColony(4)
	want := mustTrain(t, c.opt)
	board := &watch{Store: workspace.NewMemory(4)}
	tries := make(map[string]int)
	var mu sync.Mutex
	board.fetch = func(rec workspace.Record) error {
		mu.Lock()
		defer mu.Unlock()
		if tries[rec.Weights.Path]++; tries[rec.Weights.Path] <= 3 {
			return &checkpoint.DamagedError{Path: "x", Reason: "half written"}
		}
		return nil
	}
	r := newTribe(4, board)
	r.opt.Asynchronous = false
	r.mustTrain(t)
	if d := cmp.Diff(lines(t, want.Journal()), lines(t, r.journal(t))); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
}

// TestWorkerAllNaN: when nobody is healthy every process gives up, and the good states stay.
func TestWorkerAllNaN(t *testing.T) {
	t.Parallel()
	for _, synchronous := range []bool{true, false} {
		dir := t.TempDir()
		r := newTribe(3, folder(t, dir, 3))
		r.opt.Asynchronous = !synchronous
		var mended atomic.Bool
		var trained [3]atomic.Int64
		r.faults.train = func(m *climber) error {
			if mended.Load() {
				return nil
			}
			n := trained[m.id].Add(1)
			if n > 120 {
				m.x[1] = math.NaN()
			}
			// Whoever is rescued by one that is behind goes on when nobody is any more.
			for n == 151 {
				view, err := r.board.View()
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(view.Members, func(p workspace.MemberView) bool {
					return !slices.ContainsFunc(slices.Concat(p.Records, p.Stale), func(r workspace.Record) bool { return r.Iteration >= 3 })
				}) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		}
		r.train(t)
		for id, err := range r.errs {
			if !errors.Is(err, ErrNoHealthyMember) || !strings.Contains(err.Error(), "episode.return is NaN") {
				t.Errorf("member %d: the error is %v", id, err)
			}
			if s := r.workers[id]; s.worker().files.last.state.Phase != phaseTraining || synchronous && s.worker().files.last.state.Iteration != 3 {
				t.Errorf("member %d is saved as %+v", id, s.worker().files.last.state)
			}
			if e := r.workers[id].Journal(); e[len(e)-1].Kind != journal.Hopeless {
				t.Errorf("member %d: the journal ends with %+v", id, e[len(e)-1])
			}
		}
		for id := range 3 { // what is left is whole
			s := r.join(t, id)
			if snapshot, err := s.Trainee(id).Snapshot(); err != nil || snapshot.CheckFinite() != nil || s.Recovered() != nil {
				t.Errorf("member %d begins again with %v, %v, %v", id, err, snapshot.CheckFinite(), s.Recovered())
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		mended.Store(true)
		r.board = folder(t, dir, 3)
		r.cfg.Store = r.board
		r.mustTrain(t)
		events := r.journal(t)
		if len(kinds(events, journal.Hopeless)) != 0 || len(kinds(events, journal.Final)) != 3 {
			t.Errorf("the journal is %s", lines(t, events))
		}
		if _, err := journalcheck.Replay(events); err != nil {
			t.Error(err)
		}
	}
}

// TestWorkerWaitsForRescue: who diverged before anybody had published waits until somebody has.
func TestWorkerWaitsForRescue(t *testing.T) {
	for name, fault := range map[string]func(m *climber) error{
		"NaN":   func(m *climber) error { m.x[0] = math.NaN(); return nil },
		"error": func(*climber) error { return errors.New("gone") },
	} {
		t.Run(name, func(t *testing.T) {
			board := workspace.NewMemory(2)
			r := newTribe(2, board)
			held := make(chan struct{})
			var once atomic.Bool
			r.faults.train = func(m *climber) error {
				switch {
				case m.id == 0 && m.steps == 10 && once.CompareAndSwap(false, true):
					return fault(m)
				case m.id == 1 && m.steps == 20:
					<-held
				}
				return nil
			}
			r.adjust = func(id int, place *ProcessOptions, _ *Options) {
				if id == 0 {
					place.after = (func(d time.Duration) <-chan time.Time {
						if v, err := board.View(); err == nil && v.Members[0].Heartbeat != nil && v.Members[0].Heartbeat.Phase == workspace.Waiting {
							select {
							case <-held:
							default:
								close(held)
							}
						}
						return time.After(time.Millisecond)
					})
				}
			}
			r.mustTrain(t)
			e := kinds(r.workers[0].Journal(), journal.Replace)
			if len(e) == 0 || e[0].Iteration != 1 || e[0].Parent != 1 || !strings.Contains(e[0].Cause, "rescued by") {
				t.Errorf("the rescue is %+v", e)
			}
			if s := r.workers[0].Status(); !s.Healthy() || s.Steps != 500 {
				t.Errorf("it ended as %+v", s)
			}
		})
	}
}

// TestWorkerNobodyToRescue: a member that failed, whose peers are gone, gives up with what went wrong.
func TestWorkerNobodyToRescue(t *testing.T) {
	r := newTribe(2, workspace.NewMemory(2))
	r.cfg.Silence, r.cfg.Heartbeat = 20*time.Millisecond, 5*time.Millisecond
	gone := errors.New("gone")
	r.faults.train = func(*climber) error { return gone }
	s := r.join(t, 0)
	_, err := s.Train(t.Context())
	if !errors.Is(err, gone) || !errors.Is(err, ErrNoHealthyMember) {
		t.Errorf("the error is %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestWorkerTakenOver: a member whose lease is lost writes nothing any more.
func TestWorkerTakenOver(t *testing.T) {
	board := &evicting{Store: workspace.NewMemory(2)}
	r := newTribe(2, board)
	var before workspace.View
	r.faults.train = func(m *climber) error {
		if m.id == 0 && m.steps == 80 {
			v, err := board.View()
			before = v
			return errors.Join(err, board.evict(0))
		}
		return nil
	}
	s := r.join(t, 0)
	_, err := s.Train(t.Context())
	if !errors.Is(err, workspace.ErrLeaseLost) {
		t.Errorf("the error is %v", err)
	}
	events := len(s.Journal())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	after, err := board.View()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before.Members, after.Members); d != "" || events != 3 {
		t.Errorf("%d events; the board changed: %s", events, d)
	}
	if _, again := s.Train(context.Background()); again == nil {
		t.Error("it can train on")
	}
	if !slices.ContainsFunc(after.Members[0].Records, func(rec workspace.Record) bool { return rec.Iteration == 1 }) {
		t.Error("it never published")
	}
}
