package pbt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

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
