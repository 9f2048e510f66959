package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// on returns the store of another machine: its processes see the folder, but not each other's locks.
func on(machine string, f *Folder) *Folder {
	f.domain = machine
	return f
}

// limit is how long a test waits for what must come.
const limit = 30 * time.Second

func join(t *testing.T, f Store, member int) Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s := must.Get(f.Join(ctx, member))(t)
	t.Cleanup(func() { s.Release() })
	return s
}

// A killed process is replaced at once on its machine, although its lease would last for an hour.
func TestKilledOwnerIsReplacedAtOnce(t *testing.T) {
	if lockDomain() == "" {
		t.Skip("this system does not tell which processes share their locks")
	}
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{LeaseTTL: time.Hour})
	for range 3 {
		p := start(t, "hold", dir, time.Hour)
		must.Is(t, p.line(t), "joined", "what the process says")
		alive, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := f.Join(alive, 0)
		cancel()
		if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), fmt.Sprintf(":%d", p.Process.Pid)) {
			t.Fatalf("joined beside a living process, or its name is missing: %v", err)
		}
		must.Do(t, p.Process.Kill())
		must.Do(t, join(t, f, 0).Release())
	}
}

// An owner that was paused is replaced when its lease has run out, not before. When it goes on it finds out and writes
// nothing more.
func TestPausedOwnerIsReplacedAndFenced(t *testing.T) {
	for _, machine := range []string{"the same", "another"} {
		const ttl = 400 * time.Millisecond
		dir := t.TempDir()
		first := join(t, openFolder(t, dir, 2, FolderOptions{LeaseTTL: ttl}), 0)
		mustPublish(t, first, record(0, 1, 1))
		beat := Heartbeat{Phase: Training, Parent: -1, Iteration: 2}
		must.Do(t, first.Beat(beat))
		f := openFolder(t, dir, 2, FolderOptions{LeaseTTL: ttl})
		if machine == "another" {
			f = on(machine, f)
		}
		last := mustView(t, f).Members[0].Seen
		s := join(t, f, 0)
		if v := mustView(t, f); v.Now.Sub(last) < ttl-20*time.Millisecond { // clocks of files are coarse
			t.Errorf("taken over %v after a heartbeat", v.Now.Sub(last))
		}
		mustPublish(t, s, record(0, 2, 2))
		must.Do(t, s.Beat(beat))
		before := contents(t, dir)
		_, published := first.Publish(record(0, 2, 9), weights(0, 9))
		for i, err := range []error{
			published, first.Beat(beat), first.PublishBest(record(0, 3, 9), weights(0, 9), false),
			first.Prune(100),
		} {
			if !errors.Is(err, ErrLeaseLost) {
				t.Errorf("%s machine, %d: %v", machine, i, err)
			}
		}
		<-first.Lost()
		must.Do(t, first.Release())
		must.Equal(t, "the fenced-off owner wrote", before, contents(t, dir))
		must.Do(t, s.Beat(beat))
	}
}

// contents are the files of member 0, with what is in them.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := make(map[string]string)
	for _, name := range files(t, filepath.Join(dir, "000")) {
		m[name] = string(must.Read(t, filepath.Join(dir, "000", name)))
	}
	return m
}

// Without locks in common a silent owner is replaced after its lease, and one that beats never is. Where a loaded
// machine lets the lease run out between two beats the test tries again with a longer one.
func TestOwnerOnAnotherMachine(t *testing.T) {
	for ttl := 300 * time.Millisecond; ; ttl *= 3 {
		dir := t.TempDir()
		s := join(t, on("theirs", openFolder(t, dir, 2, FolderOptions{LeaseTTL: ttl})), 0)
		joined := make(chan error, 1)
		go func() {
			other, err := on("ours", openFolder(t, dir, 2, FolderOptions{LeaseTTL: ttl})).Join(t.Context(), 0)
			if err == nil {
				err = other.Release()
			}
			joined <- err
		}()
		late := false
		for last, end := time.Now(), time.Now().Add(3*ttl); !late && time.Now().Before(end); time.Sleep(ttl / 20) {
			err := s.Beat(Heartbeat{Phase: Training, Parent: -1})
			late = time.Since(last) > ttl/2
			if last = time.Now(); err != nil && !late {
				t.Fatalf("replaced beside a heartbeat: %v", err)
			}
		}
		if len(joined) > 0 && !late {
			t.Fatal("joined beside an owner that beats")
		}
		must.Do(t, <-joined) // the owner is silent now
		if !late || ttl > limit {
			return
		}
	}
}

// Times are compared by the file server's clock; where that has been set back, silence ends a lease all the same.
func TestClockSetBack(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{LeaseTTL: 200 * time.Millisecond})
	join(t, on("theirs", f), 0)
	future := time.Now().Add(24 * time.Hour)
	must.Do(t, os.Chtimes(filepath.Join(dir, "000", "lease-000001.json"), future, future))
	join(t, on("ours", openFolder(t, dir, 2, FolderOptions{LeaseTTL: 200 * time.Millisecond})), 0)
}

// A lease that cannot be read is somebody's until it has been silent for long enough. Its owner mends it.
func TestDamagedLease(t *testing.T) {
	for _, text := range []string{"", `{"schema": 2}`} {
		dir := t.TempDir()
		f := openFolder(t, dir, 2, FolderOptions{LeaseTTL: 200 * time.Millisecond})
		s := join(t, f, 0)
		path := filepath.Join(dir, "000", "lease-000001.json")
		damage := func() { must.Do(t, os.WriteFile(path, []byte(text), 0o644)) } // in place
		damage()
		must.Do(t, s.Beat(Heartbeat{Phase: Training, Parent: -1}))
		must.Get(decodeLease(must.Read(t, path), 0, 1))(t)
		damage()
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.Join(done, 0); !errors.Is(err, ErrTaken) {
			t.Errorf("joined at once: %v", err)
		}
		join(t, f, 0)
		if err := s.Beat(Heartbeat{Phase: Training, Parent: -1}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the one before: %v", err)
		}
	}
}

// Whoever removes the folder of a running member ends it.
func TestRemovedFolderIsALostSeat(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{})
	s := join(t, f, 0)
	must.Do(t, os.RemoveAll(filepath.Join(dir, "000")))
	if err := s.Prune(0); !errors.Is(err, ErrLeaseLost) || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("%v", err)
	}
	<-s.Lost()
}

// A process with an out-of-date listing creates a lease that is history already, and notices.
func TestLeaseOfThePast(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{LeaseTTL: time.Hour})
	for range 5 {
		must.Do(t, join(t, f, 0).Release())
	}
	s := join(t, f, 0)
	for _, number := range []int64{1, 3, 5, 6} {
		if _, err := f.take(0, "000", number); !errors.Is(err, fs.ErrExist) {
			t.Errorf("took lease %d where 6 is the last: %v", number, err)
		}
		must.Do(t, s.Beat(Heartbeat{Phase: Training, Parent: -1}))
	}
	left := []string{"heartbeat.json", "lease-000005.json", "lease-000006.json"}
	must.Equal(t, "the files left", left, files(t, filepath.Join(dir, "000")))
}

// Many want one lease, on one machine and on several, again and again: at no time do two have it.
func TestRaceForASeat(t *testing.T) {
	for _, machines := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d machines", machines), func(t *testing.T) {
			dir := t.TempDir()
			stale(t, dir)
			var holders, turns atomic.Int64
			var all sync.WaitGroup
			for i := range 6 {
				f := openFolder(t, dir, 2, FolderOptions{LeaseTTL: limit})
				if machines > 1 {
					f = on(fmt.Sprint(i%machines), f)
				}
				all.Go(func() {
					for range 5 {
						s, err := f.Join(t.Context(), 0)
						if err != nil {
							t.Error(err)
							return
						}
						if n := holders.Add(1); n != 1 {
							t.Errorf("%d have the lease", n)
						}
						turns.Add(1)
						err = s.Beat(Heartbeat{Phase: Training, Parent: -1})
						holders.Add(-1)
						if err = errors.Join(err, s.Release()); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			must.Is(t, turns.Load(), 30, "turns")
		})
	}
}

// stale leaves the lease of a process that was on another machine and died an hour ago.
func stale(t *testing.T, dir string) {
	t.Helper()
	l := leaseFileText{Schema: leaseSchema, Number: 7, Token: "0a", Owner: "gone:1", Domain: "gone"}
	text := must.Get(durable.Seal(&l, &l.Check))(t)
	path := filepath.Join(dir, "000", "lease-000007.json")
	write(t, path, text)
	old := time.Now().Add(-time.Hour)
	must.Do(t, os.Chtimes(path, old, old))
}
