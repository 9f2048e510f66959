package pbt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

func mustNew(t *testing.T, opt Options) *Population {
	t.Helper()
	p := must.Get(New(opt))(t)
	t.Cleanup(func() { mustClose(t, p) })
	return p
}

func mustClose(t *testing.T, p *Population) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func mustTrain(t *testing.T, opt Options) *Population {
	t.Helper()
	p := mustNew(t, opt)
	must.Get(p.Train(t.Context()))(t)
	return p
}

// interrupted trains a population in one directory until it ends. build makes its colony; once stop has been called
// every times the population is stopped, closed, and built again.
func interrupted(t *testing.T, every func() int64, build func(stop func()) *colony) (p *Population, breaks int) {
	t.Helper()
	for dir := t.TempDir(); ; breaks++ {
		ctx, cancel := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(every())
		c := build(func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
		c.opt.Directory = dir
		p = mustNew(t, c.opt)
		if p.Recovered() != nil {
			t.Error(p.Recovered())
		}
		_, err := p.Train(ctx)
		cancel()
		if err == nil {
			return p, breaks
		}
		if !errors.Is(err, context.Canceled) || breaks > 100 {
			t.Fatal(err)
		}
		mustClose(t, p)
	}
}

// compare checks that two populations ended alike, down to the bytes of their journals and best snapshots.
func compare(t *testing.T, whole, resumed *Population) {
	t.Helper()
	must.Equal(t, "the journal", lines(t, whole.Journal()), lines(t, readJournal(t, resumed.opt.Directory)))
	must.Equal(t, "the members", whole.Generation(), resumed.Generation(), cmpopts.EquateNaNs())
	for id, m := range whole.Generation().Members {
		if m.Failed { // the weights of a failed member are not saved
			continue
		}
		a, b := must.Get(whole.Trainee(id).Snapshot())(t), must.Get(resumed.Trainee(id).Snapshot())(t)
		if !bytes.Equal(a.Arrays["parameters"].Data, b.Arrays["parameters"].Data) {
			t.Errorf("member %d has other weights", id)
		}
	}
	a, b := whole.Best(), resumed.Best()
	if a.Member != b.Member || a.Iteration != b.Iteration || a.Objective != b.Objective ||
		!bytes.Equal(a.Snapshot.Arrays["parameters"].Data, b.Snapshot.Arrays["parameters"].Data) {
		t.Errorf("the best are %+v and %+v", a, b)
	}
}

// readJournal returns the merged journal of a directory.
func readJournal(t *testing.T, dir string) []journal.Event {
	t.Helper()
	return must.Get(journal.Read(dir))(t)
}

// lines are events as text.
func lines(t *testing.T, events []journal.Event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		b.Write(append(must.Get(json.Marshal(e))(t), '\n'))
	}
	return b.String()
}

// kinds are the events of one kind.
func kinds(events []journal.Event, kind journal.Kind) []journal.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e journal.Event) bool { return e.Kind != kind })
}

// contents returns a folder's files without journals, which only grow, and without the files that each process
// rewrites or holds.
func contents(t *testing.T, dir string) map[string]string {
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "lease-") ||
			slices.Contains([]string{journal.File, "clock", "heartbeat.json", "lock"}, d.Name()) {
			return err
		}
		files[path] = string(read(t, path))
		return nil
	})
	must.Do(t, err)
	return files
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	return must.Read(t, filepath.Join(elem...))
}
