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

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// killingStore is a store whose use may kill the process.
type killingStore struct {
	workspace.Store
	die func() error
}

func (l killingStore) View() (workspace.View, error) {
	v, err := l.Store.View()
	return v, errors.Join(err, l.die())
}

func (l killingStore) Fetch(r workspace.Record) (*checkpoint.Snapshot, error) {
	s, err := l.Store.Fetch(r)
	return s, errors.Join(err, l.die())
}

func (l killingStore) Join(ctx context.Context, member int) (workspace.Lease, error) {
	s, err := l.Store.Join(ctx, member)
	return killingLease{s, l.die}, err
}

type killingLease struct {
	workspace.Lease
	die func() error
}

func (l killingLease) Publish(r workspace.Record, weights *checkpoint.Snapshot) (workspace.Record, error) {
	r, err := l.Lease.Publish(r, weights)
	return r, errors.Join(err, l.die())
}

func (l killingLease) Beat(h workspace.Heartbeat) error { return errors.Join(l.Lease.Beat(h), l.die()) }

func (l killingLease) Prune(oldest int64) error { return errors.Join(l.Lease.Prune(oldest), l.die()) }

// TestWorkerKilled kills processes in the middle of training, saving, publishing, waiting and taking over, and expects
// the journals of a population that nobody disturbed.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	var id int
	arm := func(r *processes) { r.opt.TotalSteps, r.opt.SaveSteps = 300, 15 }
	if dir := os.Getenv("PBT_TEST_WORKER_KILLED"); dir != "" {
		must.Get(fmt.Sscan(os.Getenv("PBT_TEST_MEMBER"), &id))(t)
		r := newProcesses(3, nil)
		arm(r)
		r.cfg.Store = killingStore{folder(t, dir, 3), r.dying(t)}
		r.train(t, id)
		must.Do(t, errors.Join(r.errs[0], r.workers[0].Recovered()))
		return
	}
	r, dir := newProcesses(3, nil), t.TempDir()
	arm(r)
	want := mustTrain(t, r.opt)
	var kills atomic.Int64
	var wg sync.WaitGroup
	for id := range 3 {
		wg.Go(func() {
			kills.Add(int64(killable(t, "TestWorkerKilled", uint64(id), 3, "PBT_TEST_WORKER_KILLED="+dir,
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
				r := newProcesses(4, folder(t, dir, 4))
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
	v := must.Get(folder(t, dir, 4).View())(t)
	if h := v.Members[2].Heartbeat; h.Phase != workspace.Failed || !strings.Contains(h.Note, "no such simulator") {
		t.Errorf("who could not be built says %+v", h)
	}
}

// TestWorkerState: a process that dies as it begins an interval has lost no decision about the one before. Whenever the
// process dies, the newest of the snapshots may be damaged.
func TestWorkerState(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), map[int64]string{}
	r := newProcesses(2, folder(t, dir, 2))
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
		state, err := states.Decode(read(t, dir, "000", states.File))
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
	r.train(t, 0)
	must.Do(t, r.errs[0])
	at[250] = dir
	r.faults.train = nil
	for steps, dir := range at {
		state := must.Get(states.Decode(read(t, dir, "000", states.File)))(t)
		path := filepath.Join(dir, "000", states.Folder, state.Member.Snapshot)
		data := read(t, path)
		data[len(data)-1] ^= 1
		must.Do(t, os.WriteFile(path, data, 0o644))
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
	r := newProcesses(2, store)
	r.opt.TotalSteps, r.opt.Asynchronous = 80, true
	r.train(t, 0)
	must.Do(t, r.errs[0])
	lease := must.Get(store.Join(t.Context(), 0))(t)
	must.Get(lease.Publish(workspace.Record{Member: 0, Iteration: 2, Copies: 1, Steps: 100, Parent: 1}, nil))(t)
	must.Do(t, lease.Release())
	r.opt.TotalSteps = 500
	w := r.join(t, 0)
	defer w.Close()
	view, err := store.View()
	if m := view.Members[0]; err != nil || joined(w).copies != 2 || len(m.Records) > 0 || len(m.Stale) != 2 {
		t.Errorf("%d copies, and the store shows %+v, %v", joined(w).copies, m, err)
	}
}
