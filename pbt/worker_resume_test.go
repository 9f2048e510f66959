package pbt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/journalcheck"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// workerHerd trains members over a folder, each in a goroutine that joins again until run lets it end.
func workerHerd(t *testing.T, dir string, arm func(r *tribe), train func(ctx context.Context, id, run int, s *Population) error) *tribe {
	t.Helper()
	r := newTribe(4, folder(t, dir, 4))
	r.opt.Asynchronous = false
	if arm != nil {
		arm(r)
	}
	var wg sync.WaitGroup
	for id := range r.opt.Members {
		wg.Go(func() {
			for run := 0; ; run++ {
				place, opt := r.cfg, r.opt
				place.Member = id
				s, err := Join(t.Context(), opt, place)
				if err != nil {
					t.Error(err)
					return
				}
				if s.Recovered() != nil {
					t.Error(s.Recovered())
				}
				err = train(t.Context(), id, run, s)
				if c := s.Close(); c != nil {
					t.Error(c)
				}
				if err == nil {
					return
				}
				if run > 300 || !errors.Is(err, context.Canceled) && !errors.Is(err, ErrYield) && !errors.Is(err, ErrRestart) {
					t.Errorf("member %d, run %d: %v", id, run, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return r
}

// compareWorkspace checks that members in a folder wrote what a population wrote.
func compareWorkspace(t *testing.T, want *Population, dir string) {
	t.Helper()
	events, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lines(t, want.Journal()), lines(t, events)); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
	checkStates(t, dir, events)
}

// checkStates compares the states on disk with what the journal replays to.
func checkStates(t *testing.T, dir string, events []journal.Event) {
	t.Helper()
	standings, err := journalcheck.Replay(events)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range standings {
		state, err := decodeState(read(t, dir, fmt.Sprintf("%03d", st.Member), stateFile))
		if err != nil {
			t.Fatal(err)
		}
		m := state.Member
		if state.Phase != phaseFinished || !st.Final || m.Steps != st.Steps || m.parent() != st.Parent || state.Copies != st.Copies || state.Iteration != st.Iteration ||
			!same(m.Hyperparameters.Floats(), st.Hyperparameters) || (m.Objective != nil) != st.HasObjective || st.HasObjective && !equal(float64(*m.Objective), st.Objective) {
			t.Errorf("the journal replays to %+v, and the state is %+v", st, state)
		}
	}
}

// TestWorkerTakesTurnsWithoutTheDead: who takes turns does not wait for ever for a member that never comes, or that cannot
// come back after it has yielded.
func TestWorkerTakesTurnsWithoutTheDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var broken atomic.Bool
	var wg sync.WaitGroup
	for id := range 3 { // of four
		wg.Go(func() {
			for turn := 0; ; turn++ {
				r := newTribe(4, folder(t, dir, 4))
				r.cfg.Member, r.opt.Asynchronous, r.cfg.Slice = id, false, 1
				r.cfg.Silence, r.cfg.Heartbeat = 300*time.Millisecond, 10*time.Millisecond
				build := r.opt.New
				r.opt.New = func(m Member) (Trainee, error) {
					if m.ID == 2 && broken.Load() {
						return nil, errors.New("no such simulator")
					}
					return build(m)
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

// TestWorkerRestartThatFails: what cannot be built from the new hyperparameters goes on as it was.
func TestWorkerRestartThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := workerHerd(t, dir, func(r *tribe) {
		r.opt.Rebuild, r.cfg.RestartProcess = []string{"discount_factor"}, true
		build := r.opt.New
		r.opt.New = func(m Member) (Trainee, error) {
			if v, ok := m.Hyperparameters["discount_factor"]; ok && v != 0.99 {
				return nil, errors.New("no such simulator")
			}
			return build(m)
		}
	}, func(ctx context.Context, id, run int, s *Population) error {
		_, err := s.Train(ctx)
		return err
	})
	_ = r
	events, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	failed := kinds(events, journal.ApplyFailed)
	if len(failed) == 0 || !strings.Contains(failed[0].Cause, "no such simulator") || len(kinds(events, journal.Replace)) == 0 && len(failed) < 3 {
		t.Errorf("failures are %+v", failed)
	}
	for _, e := range kinds(events, journal.Replace) {
		if e.After["discount_factor"] != 0.99 {
			t.Errorf("it was built after all: %+v", e)
		}
	}
	checkStates(t, dir, events)
}

// TestWorkerStateKnowsItsJournal: a process that dies as it begins an interval has lost no decision about the one before.
func TestWorkerStateKnowsItsJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newTribe(2, folder(t, dir, 2))
	r.faults.train = func(m *climber) error {
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
	w := r.join(t, 0)
	if _, err := w.Train(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestWorkerOutdatesItsRecords: a process that continues from before a copy does not offer what it published after it.
func TestWorkerOutdatesItsRecords(t *testing.T) {
	t.Parallel()
	store := folder(t, t.TempDir(), 2)
	r := newTribe(2, store)
	ctx, cancel := context.WithCancel(t.Context())
	r.faults.train = func(m *climber) error {
		if m.steps == 80 {
			cancel()
		}
		return nil
	}
	w := r.join(t, 0)
	if _, err := w.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lease, err := store.Join(t.Context(), 0)
	if err == nil {
		_, err = lease.Publish(workspace.Record{Member: 0, Iteration: 2, Copies: 1, Steps: 100, Parent: 1}, nil)
	}
	if err = errors.Join(err, lease.Release()); err != nil {
		t.Fatal(err)
	}
	w = r.join(t, 0)
	defer w.Close()
	view, err := store.View()
	if copies, _ := w.Copies(); err != nil || copies != 2 || len(view.Members[0].Records) > 0 || len(view.Members[0].Stale) != 2 {
		t.Errorf("%d copies, and the store shows %+v, %v", copies, view.Members[0], err)
	}
}

// TestWorkerDamagedSnapshot: whenever the process dies, any one of the snapshots may be damaged.
func TestWorkerDamagedSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newTribe(2, folder(t, dir, 2))
	s := r.join(t, 0)
	var copies []string
	r.faults.train = func(m *climber) error {
		if m.steps > 100 && m.steps%25 == 10 {
			to := t.TempDir()
			copies = append(copies, to)
			return os.CopyFS(to, os.DirFS(dir))
		}
		return nil
	}
	if _, err := s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, dir := range append(copies, dir) {
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
		r := newTribe(2, folder(t, dir, 2))
		r.faults.train = nil
		s, err := Join(t.Context(), r.opt, r.cfg)
		if err != nil {
			t.Errorf("copy %d, at step %d: %v", i, state.Member.Steps, err)
			continue
		}
		if s.Recovered() == nil {
			t.Errorf("copy %d: nothing was said about the damage", i)
		}
		if _, err := s.Train(t.Context()); err != nil {
			t.Error(err)
		}
		if st := s.Status(); st.Steps != 500 {
			t.Errorf("it ended as %+v", st)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if events, err := journal.Read(dir); err != nil {
			t.Error(err)
		} else {
			checkStates(t, dir, events)
		}
	}
}

// TestWorkerMoreSteps: a member that trained to the end goes on when there is more to train.
func TestWorkerMoreSteps(t *testing.T) {
	t.Parallel()
	want := mustTrain(t, newColony(4).opt)
	dir := t.TempDir()
	for _, total := range []int64{50, 150, 175, 500, 500} {
		workerHerd(t, dir, func(r *tribe) { r.opt.TotalSteps = total }, func(ctx context.Context, _, _ int, s *Population) error {
			_, err := s.Train(ctx)
			return err
		})
	}
	compareWorkspace(t, want, dir)
}

func TestWorkerOtherPopulation(t *testing.T) {
	dir := t.TempDir()
	r := newTribe(2, folder(t, dir, 2))
	s := r.join(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(o *Options, p *ProcessOptions){
		"the seed is 11 there and 1 here":                func(o *Options, _ *ProcessOptions) { o.Seed = 1 },
		"the objective is episode.return there and loss": func(o *Options, _ *ProcessOptions) { o.Objective = "loss" },
		"must be equal":      func(o *Options, _ *ProcessOptions) { o.Members = 3 },
		"members are 0 to 1": func(_ *Options, p *ProcessOptions) { p.Member = 2 },
		"give 0 or more":     func(_ *Options, p *ProcessOptions) { p.Slice = -1 },
		"Options.Evolve, Target and OnInterval need": func(o *Options, _ *ProcessOptions) { o.Evolve = breeder{} },
		"Silence must be several heartbeats":         func(_ *Options, p *ProcessOptions) { p.Silence = 1 },
		"Store is nil":                               func(_ *Options, p *ProcessOptions) { p.Store = nil },
	} {
		opt, place := r.opt, r.cfg
		change(&opt, &place)
		if _, err := Join(t.Context(), opt, place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	if v, err := r.board.View(); err != nil || v.Members[0].Heartbeat.Phase != workspace.Stopped {
		t.Errorf("what does not belong there changed the member's heartbeat: %+v, %v", v.Members[0].Heartbeat, err)
	}
	held, cancelled := r.join(t, 1), ctx
	if _, err := Join(cancelled, r.opt, ProcessOptions{Member: 1, Store: r.board}); !errors.Is(err, workspace.ErrTaken) {
		t.Errorf("a member that is held: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzDecodeWorkerState(f *testing.F) {
	f.Add([]byte(`{"schema":1,"policy":1,"members":2,"phase":"trained","iteration":3,"sequence":4,"copies":1,"best":"NaN","member":{"steps":5,"parent":0,"objective":1,"hyperparameters":{"a":1},"snapshot":"000001.safetensors"}}`))
	f.Add([]byte(`{"schema":1,"policy":0,"members":2,"phase":"decided","iteration":1,"sequence":1,"member":{"steps":5},"pending":{"event":{"event":"replace","iteration":1,"member":0,"parent":1,"steps":5},"values":{"a":2},"source":1,"snapshot":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeState(data)
		if err != nil {
			return
		}
		if p := s.Member.parent(); p < -1 || p >= s.Members || s.Policy >= s.Members || (s.Pending != nil) != (s.Phase == phaseDecided) {
			t.Errorf("%+v is accepted", s)
		}
		if s.Pending != nil && (s.Pending.Source < 0 || s.Pending.Source >= s.Members) {
			t.Errorf("pending %+v is accepted", s.Pending)
		}
	})
}
