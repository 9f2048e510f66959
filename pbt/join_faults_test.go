package pbt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// spy is a strategy that remembers what it was shown.
type spy struct {
	strategy.Strategy
	mu   sync.Mutex
	seen []strategy.Generation
}

func (s *spy) Decide(g strategy.Generation, rng *rand.Rand) []strategy.Decision {
	s.mu.Lock()
	s.seen = append(s.seen, g.Clone())
	s.mu.Unlock()
	return s.Strategy.Decide(g, rng)
}

// TestWorkerEqualOrLess: members of different speed look at peers of their own age or younger only.
func TestWorkerEqualOrLess(t *testing.T) {
	for _, slack := range []int64{0, 2} {
		r := newTribe(5, workspace.NewMemory(5))
		r.opt.Asynchronous, r.opt.Slack, r.opt.TotalSteps = true, slack, 1000
		spy := &spy{Strategy: r.opt.Strategy}
		r.opt.Strategy = spy
		r.rates(0.06, 0.05, 0.0001, 0.0002, 0.0003)
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
		replaced := kinds(r.journal(t), journal.Replace)
		for _, e := range replaced {
			if e.ParentSteps > e.Steps+slack*r.opt.IntervalSteps {
				t.Errorf("%d copied %d, which was ahead: %+v", e.Member, e.Parent, e)
			}
		}
		if younger == 0 || len(replaced) < 3 {
			t.Errorf("%d were behind, %d were replaced: this shows little", younger, len(replaced))
		}
		for id, s := range r.workers {
			if st := status(s); st.Steps != 1000 || !st.Healthy() {
				t.Errorf("member %d ended as %+v", id, st)
			}
		}
	}
}

// evicting is a store that takes a lease from its holder when it is told to, as a shared folder does when the holder
// has been silent for too long.
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
// A member whose lease is lost writes nothing any more.
func TestWorkerWithoutTheDead(t *testing.T) {
	for _, asynchronous := range []bool{false, true} {
		board := &evicting{Store: workspace.NewMemory(4)}
		r := newTribe(4, board)
		r.opt.Asynchronous, r.cfg.Silence = asynchronous, 60*time.Millisecond
		r.cfg.Heartbeat = 5 * time.Millisecond
		spy := &spy{Strategy: r.opt.Strategy}
		r.opt.Strategy = spy
		var before workspace.View
		// Member 3 never comes; member 2 dies in interval 3 without a word.
		r.faults.train = func(m *climber) (err error) {
			if m.id == 2 && m.steps == 120 {
				before, err = board.View()
				return errors.Join(err, board.evict(2), errors.New("killed"))
			}
			return nil
		}
		r.train(t, 0, 1, 2)
		if r.errs[0] != nil || r.errs[1] != nil || !errors.Is(r.errs[2], workspace.ErrLeaseLost) {
			t.Fatalf("asynchronous %t: the errors are %v", asynchronous, r.errs)
		}
		for _, g := range spy.seen {
			for id, died := range map[int]int64{2: 3, 3: 1} {
				if m := g.Members[id]; !asynchronous && g.Iteration >= died && (m.HasObjective || !m.Absent) ||
					id == 3 && m.HasObjective {
					t.Errorf("iteration %d: who is not there is seen as %+v", g.Iteration, m)
				}
			}
		}
		after, err := board.View()
		if d := cmp.Diff(before.Members[2], after.Members[2]); err != nil || d != "" {
			t.Errorf("the dead changed the board: %s, %v", d, err)
		}
		if n := len(kinds(r.workers[2].Journal(), journal.Final)); n != 0 || status(r.workers[0]).Steps != 500 {
			t.Errorf("the dead wrote %d final events, and member 0 trained %d steps", n, status(r.workers[0]).Steps)
		}
		if _, again := r.workers[2].Train(context.Background()); again == nil {
			t.Error("it can train on")
		}
	}
}

// TestWorkerBeatsWhileTraining: a member whose training takes long is seen to live.
func TestWorkerBeatsWhileTraining(t *testing.T) {
	t.Parallel()
	board := workspace.NewMemory(2)
	seen := func() time.Time {
		view, err := board.View()
		if err != nil {
			t.Error(err)
		}
		return view.Members[0].Seen
	}
	r := newTribe(2, board)
	r.opt.Asynchronous, r.cfg.Heartbeat = true, time.Millisecond
	limit, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	r.at(0, 20, func(*climber) error {
		for begun := seen(); !seen().After(begun); {
			if limit.Err() != nil {
				return errors.New("there is no heartbeat during a step")
			}
		}
		return nil
	})
	if r.train(t, 0); r.errs[0] != nil {
		t.Error(r.errs[0])
	}
}

// setBack is a store whose clock goes on by a second at every look, and was set back by eleven days after the last
// heartbeat of one member.
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

// TestWorkerClockSetBack: where the board's clock is set back, those who died before are not waited for until it has
// caught up.
func TestWorkerClockSetBack(t *testing.T) {
	r := newTribe(3, &setBack{Store: workspace.NewMemory(3), dead: 1})
	dead := r.join(t, 1) // and member 2 never comes
	defer dead.Close()
	joined(dead).heartbeat.end()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	r.cfg.after = func(time.Duration) <-chan time.Time {
		if looks++; looks > 1000 {
			cancel()
		}
		return quick(0)
	}
	s := r.join(t, 0)
	defer s.Close()
	if _, err := s.Train(ctx); err != nil {
		t.Errorf("after %d looks: %v", looks, err)
	}
}

// TestWorkerLate: who comes when the others have trained to the end finds what they had at each of its interval's ends.
func TestWorkerLate(t *testing.T) {
	r := newTribe(4, workspace.NewMemory(4))
	r.opt.TotalSteps, r.cfg.Silence, r.cfg.Heartbeat = 400, 40*time.Millisecond, 10*time.Millisecond
	spy := &spy{Strategy: r.opt.Strategy}
	r.adjust = func(id int, _ *ProcessOptions, opt *Options) {
		if id == 3 {
			opt.Strategy = spy
		}
	}
	r.train(t, 0, 1, 2)
	errs := r.errs
	r.train(t, 3)
	if err := errors.Join(append(errs, r.errs...)...); err != nil || len(spy.seen) != 7 {
		t.Errorf("it decided %d times, want 7: %v", len(spy.seen), err)
	}
	for i, g := range spy.seen {
		for _, m := range g.Members {
			if g.Iteration != int64(i+1) || m.Iteration != g.Iteration || !m.Healthy() || m.Absent {
				t.Errorf("iteration %d: %+v", g.Iteration, m)
			}
		}
	}
}

// unreadable is a store that may fail to fetch a record.
type unreadable struct {
	workspace.Store
	fault func(r workspace.Record) error
}

func (u unreadable) Fetch(r workspace.Record) (*checkpoint.Snapshot, error) {
	if err := u.fault(r); err != nil {
		return nil, err
	}
	return u.Store.Fetch(r)
}

// TestWorkerCorruptPeer: weights that cannot be verified are never adopted, and another source is tried. A source that
// is being replaced is read again.
func TestWorkerCorruptPeer(t *testing.T) {
	fault := &checkpoint.DamagedError{Path: "x", Reason: "the checksum is not the record's"}
	r := newTribe(5, unreadable{workspace.NewMemory(5), func(r workspace.Record) error {
		if r.Member == 4 {
			return fault
		}
		return nil
	}})
	r.rates(0.0001, 0.0002, 0.0003, 0.06, 0.1) // member 4 is the best, and 3 a leader as well
	r.opt.Reference = []int{0, 1, 2, 3, 4}
	r.mustTrain(t)
	events := r.journal(t)
	failed, replaced := kinds(events, journal.ApplyFailed), kinds(events, journal.Replace)
	for _, e := range replaced {
		if e.Parent == 4 {
			t.Errorf("unverified weights were adopted: %+v", e)
		}
	}
	for _, e := range failed {
		if e.Parent != 4 || !strings.Contains(e.Cause, fault.Error()) {
			t.Errorf("the failure is %+v", e)
		}
	}
	if len(failed) == 0 || len(replaced) == 0 {
		t.Errorf("%d failures, %d replacements", len(failed), len(replaced))
	}

	var mu sync.Mutex
	tries := make(map[string]int)
	r = newTribe(4, unreadable{workspace.NewMemory(4), func(r workspace.Record) error {
		mu.Lock()
		defer mu.Unlock()
		if tries[r.Weights.Path]++; tries[r.Weights.Path] <= 3 {
			return fault
		}
		return nil
	}})
	r.mustTrain(t)
	if d := cmp.Diff(lines(t, mustTrain(t, newColony(4).opt).Journal()), lines(t, r.journal(t))); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
}

// TestWorkerAllNaN: when nobody is healthy every process gives up, and the good states stay.
func TestWorkerAllNaN(t *testing.T) {
	t.Parallel()
	for _, asynchronous := range []bool{false, true} {
		dir := t.TempDir()
		r := newTribe(3, folder(t, dir, 3))
		r.opt.Asynchronous, r.opt.TotalSteps = asynchronous, 250
		var trained [3]atomic.Int64
		r.faults.train = func(m *climber) error {
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
				if !slices.ContainsFunc(view.Members, func(p workspace.MemberView) bool { return reached(p) < 3 }) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		}
		r.train(t, r.all()...)
		for id, err := range r.errs {
			if !errors.Is(err, ErrNoHealthyMember) || !strings.Contains(err.Error(), "episode.return is NaN") {
				t.Errorf("member %d: the error is %v", id, err)
			}
			state, err := decodeState(read(t, dir, fmt.Sprintf("%03d", id), stateFile))
			if err != nil || state.Phase != phaseTraining || !asynchronous && state.Iteration != 3 {
				t.Errorf("member %d is saved as %+v, %v", id, state, err)
			}
			if e := r.workers[id].Journal(); e[len(e)-1].Kind != journal.Hopeless {
				t.Errorf("member %d: the journal ends with %+v", id, e[len(e)-1])
			}
			s := r.join(t, id) // what is left is whole
			snapshot, err := s.Trainee(id).Snapshot()
			if err != nil || snapshot.CheckFinite() != nil || s.Recovered() != nil {
				t.Errorf("member %d begins again with %v, %v", id, err, s.Recovered())
			}
			mustClose(t, s)
		}
		r.faults.train = nil // it is mended
		r.mustTrain(t)
		if e := r.journal(t); len(kinds(e, journal.Hopeless)) != 0 || len(kinds(e, journal.Final)) != 3 {
			t.Errorf("the journal is %s", lines(t, e))
		}
	}
}

// TestWorkerWaitsForRescue: who fails or diverges before anybody has published waits until somebody has. If nobody is
// left to wait for it gives up with what went wrong.
func TestWorkerWaitsForRescue(t *testing.T) {
	gone := errors.New("gone")
	for name, fault := range map[string]func(m *climber) error{
		"NaN":   func(m *climber) error { m.x[0] = math.NaN(); return nil },
		"error": func(*climber) error { return gone },
	} {
		t.Run(name, func(t *testing.T) {
			board := workspace.NewMemory(2)
			r := newTribe(2, board)
			r.opt.Asynchronous = true
			held := make(chan struct{})
			var once, open atomic.Bool
			r.faults.train = func(m *climber) error {
				switch {
				case m.id == 0 && m.steps == 10 && !once.Swap(true):
					return fault(m)
				case m.id == 1 && m.steps == 20:
					<-held
				}
				return nil
			}
			r.adjust = func(id int, place *ProcessOptions, _ *Options) {
				if id == 1 {
					return
				}
				place.after = func(time.Duration) <-chan time.Time {
					v, err := board.View()
					if h := v.Members[0].Heartbeat; err == nil && h != nil && h.Phase == workspace.Waiting && !open.Swap(true) {
						close(held)
					}
					return time.After(time.Millisecond)
				}
			}
			r.mustTrain(t)
			if e := kinds(r.workers[0].Journal(), journal.Replace); len(e) == 0 || e[0].Iteration != 1 ||
				e[0].Parent != 1 || !strings.Contains(e[0].Cause, "rescued by") {
				t.Errorf("the rescue is %+v", e)
			}
			if s := status(r.workers[0]); !s.Healthy() || s.Steps != 500 {
				t.Errorf("it ended as %+v", s)
			}
		})
	}
	r := newTribe(2, workspace.NewMemory(2))
	r.opt.Asynchronous, r.cfg.Silence, r.cfg.Heartbeat = true, 20*time.Millisecond, 5*time.Millisecond
	r.faults.train = func(*climber) error { return gone }
	if r.train(t, 0); !errors.Is(r.errs[0], gone) || !errors.Is(r.errs[0], ErrNoHealthyMember) {
		t.Errorf("the error is %v", r.errs[0])
	}
}

// TestCancelledWhileWaiting: a member that waits for others ends when its context does.
func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newTribe(2, workspace.NewMemory(2))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := 0
	r.cfg.Heartbeat, r.cfg.Silence = 2*longestPause, 2*longestPause
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
	mustClose(t, w)
}

// lethal is a store whose use may kill the process.
type lethal struct {
	workspace.Store
	die func() error
}

func (l lethal) View() (workspace.View, error) {
	v, err := l.Store.View()
	return v, errors.Join(err, l.die())
}

func (l lethal) Fetch(r workspace.Record) (*checkpoint.Snapshot, error) {
	s, err := l.Store.Fetch(r)
	return s, errors.Join(err, l.die())
}

func (l lethal) Join(ctx context.Context, member int) (workspace.Lease, error) {
	s, err := l.Store.Join(ctx, member)
	return lethalLease{s, l.die}, err
}

type lethalLease struct {
	workspace.Lease
	die func() error
}

func (l lethalLease) Publish(r workspace.Record, weights *checkpoint.Snapshot) (workspace.Record, error) {
	r, err := l.Lease.Publish(r, weights)
	return r, errors.Join(err, l.die())
}

func (l lethalLease) Beat(h workspace.Heartbeat) error { return errors.Join(l.Lease.Beat(h), l.die()) }

func (l lethalLease) Prune(k workspace.Keep) error { return errors.Join(l.Lease.Prune(k), l.die()) }

// TestWorkerKilled kills processes in the middle of training, saving, publishing, waiting and taking over, and expects
// the journals of a population that nobody disturbed.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	var id int
	arm := func(r *tribe) { r.opt.TotalSteps, r.opt.SaveSteps = 300, 15 }
	if dir := os.Getenv("PBT_TEST_WORKER_KILLED"); dir != "" {
		if _, err := fmt.Sscan(os.Getenv("PBT_TEST_MEMBER"), &id); err != nil {
			t.Fatal(err)
		}
		die := dying(t)
		r := newTribe(3, lethal{folder(t, dir, 3), die})
		arm(r)
		r.colony.arm(die)
		r.train(t, id)
		if err := errors.Join(r.errs[0], r.workers[0].Recovered()); err != nil {
			t.Fatal(err)
		}
		return
	}
	r, dir := newTribe(3, nil), t.TempDir()
	arm(r)
	want := mustTrain(t, r.opt)
	var kills atomic.Int64
	var wg sync.WaitGroup
	for id := range 3 {
		wg.Go(func() {
			kills.Add(int64(killable(t, "TestWorkerKilled", "PBT_TEST_WORKER_KILLED="+dir,
				"PBT_TEST_MEMBER="+fmt.Sprint(id))))
		})
	}
	if wg.Wait(); kills.Load() < 6 {
		t.Errorf("only %d processes were killed", kills.Load())
	}
	compareWorkspace(t, want, dir)
}

// TestWorkerTakesTurnsWithoutTheDead: who takes turns does not wait for ever for a member that never comes, or that
// cannot come back after it has yielded.
func TestWorkerTakesTurnsWithoutTheDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var broken atomic.Bool
	var wg sync.WaitGroup
	for id := range 3 { // of four
		wg.Go(func() {
			for turn := 0; ; turn++ {
				r := newTribe(4, folder(t, dir, 4))
				r.cfg.Member, r.cfg.Slice, r.opt.TotalSteps = id, 1, 200
				r.cfg.Silence, r.cfg.Heartbeat = 300*time.Millisecond, 10*time.Millisecond
				r.opt.New = func(m Member) (Trainee, error) {
					if m.ID == 2 && broken.Load() {
						return nil, errors.New("no such simulator")
					}
					return r.build(m)
				}
				s, err := Join(t.Context(), r.opt, r.cfg)
				if err == nil {
					_, err = s.Train(t.Context())
					err = errors.Join(err, s.Close())
				}
				switch {
				case id == 2 && turn > 0 && broken.Swap(true):
					if err == nil || !strings.Contains(err.Error(), "no such simulator") {
						t.Errorf("a member that cannot be built: %v", err)
					}
					return
				case err == nil:
					return
				case !errors.Is(err, ErrYield) || turn > 3000:
					t.Errorf("member %d, turn %d: %v", id, turn, err)
					return
				}
			}
		})
	}
	wg.Wait()
	v, err := folder(t, dir, 4).View()
	if err != nil {
		t.Fatal(err)
	}
	if h := v.Members[2].Heartbeat; h.Phase != workspace.Failed || !strings.Contains(h.Note, "no such simulator") {
		t.Errorf("who could not be built says %+v", h)
	}
}

// TestWorkerState: a process that dies as it begins an interval has lost no decision about the one before. Whenever the
// process dies, the newest of the snapshots may be damaged.
func TestWorkerState(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), map[int64]string{}
	r := newTribe(2, folder(t, dir, 2))
	r.opt.TotalSteps, r.opt.Asynchronous = 250, true
	r.faults.train = func(m *climber) error {
		if m.steps%50 == 10 && m.steps > 100 || m.steps == 150 {
			at[m.steps] = t.TempDir()
			if err := os.CopyFS(at[m.steps], os.DirFS(dir)); err != nil {
				return err
			}
		}
		if m.steps == 0 || m.steps%r.opt.IntervalSteps != 0 {
			return nil
		}
		state, err := decodeState(read(t, dir, "000", stateFile))
		if err != nil {
			return err
		}
		known := read(t, dir, "000", journal.File)[:state.JournalLength]
		events, err := journal.Decode(bytes.NewReader(known))
		if err == nil && events[len(events)-1].Iteration != state.Iteration-1 {
			t.Errorf("interval %d begins, and the state knows events up to %+v", state.Iteration, events[len(events)-1])
		}
		return err
	}
	if r.train(t, 0); r.errs[0] != nil {
		t.Fatal(r.errs[0])
	}
	at[250] = dir
	r.faults.train = nil
	for steps, dir := range at {
		state, err := decodeState(read(t, dir, "000", stateFile))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "000", snapshotFolder, state.Member.Snapshot)
		data := read(t, path)
		data[len(data)-1] ^= 1
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r.cfg.Store = folder(t, dir, 2)
		r.train(t, 0)
		if s := r.workers[0]; r.errs[0] != nil || s.Recovered() == nil || status(s).Steps != 250 {
			t.Errorf("at step %d: %v, recovered %v; it ended as %+v", steps, r.errs[0], s.Recovered(), status(s))
		}
		checkStates(t, dir, readJournal(t, dir))
	}
}

// TestWorkerOutdatesItsRecords: a process that continues from before a copy does not offer what it published after it.
func TestWorkerOutdatesItsRecords(t *testing.T) {
	t.Parallel()
	store := folder(t, t.TempDir(), 2)
	r := newTribe(2, store)
	r.opt.TotalSteps, r.opt.Asynchronous = 80, true
	if r.train(t, 0); r.errs[0] != nil {
		t.Fatal(r.errs[0])
	}
	lease, err := store.Join(t.Context(), 0)
	if err == nil {
		_, err = lease.Publish(workspace.Record{Member: 0, Iteration: 2, Copies: 1, Steps: 100, Parent: 1}, nil)
	}
	if err = errors.Join(err, lease.Release()); err != nil {
		t.Fatal(err)
	}
	r.opt.TotalSteps = 500
	w := r.join(t, 0)
	defer w.Close()
	view, err := store.View()
	if m := view.Members[0]; err != nil || joined(w).copies != 2 || len(m.Records) > 0 || len(m.Stale) != 2 {
		t.Errorf("%d copies, and the store shows %+v, %v", joined(w).copies, m, err)
	}
}
