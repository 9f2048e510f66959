package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// contents makes a snapshot whose bytes all follow from the step, so that a reader can check all of it.
func contents(step int64) *Snapshot {
	s := NewSnapshot()
	r := rand.New(rand.NewPCG(uint64(step), 1))
	data := make([]float32, 50+r.IntN(200))
	for i := range data {
		data[i] = r.Float32()
	}
	s.Arrays["parameters"] = ArrayFloat32([]int64{int64(len(data))}, data)
	s.Arrays["step"] = ArrayInt64([]int64{1}, []int64{step})
	s.Values["step"] = step
	return s
}

// verify returns an error unless a snapshot equals contents(step), by the manifest's step.
func verify(got *Saved) error {
	if got == nil {
		return errors.New("no snapshot")
	}
	if want := contents(got.Manifest.Step); !reflect.DeepEqual(got.Snapshot, want) {
		return fmt.Errorf("step %d: %v, want %v", got.Manifest.Step, got.Snapshot, want)
	}
	return nil
}

func memStore(t *testing.T, m *memFS, keep int) *Store {
	t.Helper()
	return must.Get(newStore("runs", Options{Keep: keep}, m))(t)
}

func mustSave(t *testing.T, s *Store, step int64) string {
	t.Helper()
	return must.Get(s.Save(fmt.Sprintf("agent_%d", step), step, contents(step)))(t)
}

// survives checks that a valid snapshot of at least the given step is there, and that saving goes on.
func survives(t *testing.T, m *memFS, atLeast int64, keep int) {
	t.Helper()
	m.failAt = 0
	s := memStore(t, m, keep)
	got, damaged, err := s.Latest()
	must.Not(t, err != nil, "nothing valid is left: %v; %v\n%s", err, damaged, strings.Join(m.log, "\n"))
	must.Do(t, verify(got))
	must.Not(t, got.Manifest.Step < atLeast, "the latest is step %d, want at least %d (%v)", got.Manifest.Step, atLeast,
		damaged)
	mustSave(t, s, 100)
	wantLatest(t, s, 100)
}

// Every operation of a save fails in turn, alone or with all that follow, on file systems with links and without; then
// the power is cut in every way that durability allows.
func TestSaveFaults(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		keep, failAfter, noLinks := 1+i%2, i&2 > 0, i&4 > 0
		t.Run(fmt.Sprintf("links=%v,keep=%d,after=%v", !noLinks, keep, failAfter), func(t *testing.T) {
			t.Parallel()
			saveFaults(t, keep, failAfter, noLinks)
		})
	}
}

func saveFaults(t *testing.T, keep int, failAfter, noLinks bool) {
	failures := 0
	for failAt := 1; ; failAt++ {
		m := newMemFS()
		m.noLinks = noLinks
		s := memStore(t, m, keep)
		mustSave(t, s, 1)
		mustSave(t, s, 2)

		m.ops, m.failAt, m.failAfter, m.log = 0, failAt, failAfter, nil
		path, err := s.Save("agent_3", 3, contents(3))
		reached := m.ops >= failAt
		atLeast := int64(3)
		if err != nil {
			atLeast, failures = 2, failures+1
			must.Not(t, !errors.Is(err, errFault), "operation %d: the error hides the fault: %v", failAt, err)
			must.Not(t, path == "" && strings.Contains(err.Error(), "is saved"), "operation %d: %v", failAt, err)
		}
		cut := []*memFS{m.powerCut(nil)}
		for seed := range uint64(20) {
			cut = append(cut, m.powerCut(rand.New(rand.NewPCG(seed, uint64(failAt)))))
		}
		survives(t, m, atLeast, keep)
		for _, after := range cut {
			survives(t, after, atLeast, keep)
		}
		if !reached {
			must.Not(t, failures < 10, "only %d operations could fail", failures)
			return
		}
	}
}

// Faults while reading are never taken for an empty store.
func TestLatestFaults(t *testing.T) {
	for failAt := 1; ; failAt++ {
		m := newMemFS()
		s := memStore(t, m, 0)
		mustSave(t, s, 1)
		mustSave(t, s, 2)
		m.ops, m.failAt = 0, failAt
		got, damaged, err := s.Latest()
		if m.ops < failAt {
			break
		}
		if err != nil {
			must.Not(t, !errors.Is(err, errFault), "operation %d: the error hides the fault: %v", failAt, err)
			continue
		}
		must.Do(t, verify(got))
		must.Not(t, got.Manifest.Step == 1 && len(damaged) == 0, "operation %d: an older one without a report", failAt)
	}
}

var errFault = errors.New("injected fault")

// memFS is a file system in memory that knows what would survive a power cut: a file's contents as of its last Sync,
// and a directory's names as of its last SyncDir. It counts its operations and fails the one with the number failAt.
type memFS struct {
	names, durable map[string]*memFile
	ops            int
	failAt         int  // fail the operation of this number, counted from 1
	failAfter      bool // and every one after it
	noLinks        bool
	flipAtSync     bool // a bit of every data file
	log            []string
}

type memFile struct{ data, synced []byte }

// entry describes a file for Stat and ReadDir.
func (f *memFile) entry() *fstest.MapFile {
	return &fstest.MapFile{Data: f.data, Mode: 0o644, ModTime: time.Now()}
}

func newMemFS() *memFS { return &memFS{names: map[string]*memFile{}, durable: map[string]*memFile{}} }

// fault counts an operation, and returns the error if it is to fail.
func (m *memFS) fault(op, name string) error {
	m.ops++
	m.log = append(m.log, op+" "+path.Base(name))
	if m.failAt > 0 && (m.ops == m.failAt || m.failAfter && m.ops > m.failAt) {
		return pathError(op, name, errFault)
	}
	return nil
}

// powerCut returns what a machine finds after a restart. What was not made durable is lost, or, if random is not nil,
// lost or kept at random.
func (m *memFS) powerCut(random *rand.Rand) *memFS {
	after := newMemFS()
	all := maps.Clone(m.names)
	maps.Copy(all, m.durable)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := m.durable[name]
		if random != nil && random.IntN(2) == 0 {
			f = m.names[name]
		}
		if f == nil {
			continue
		}
		data := f.synced
		if random != nil && len(f.data) > len(f.synced) {
			data = f.data[:len(f.synced)+random.IntN(len(f.data)-len(f.synced)+1)]
		}
		kept := &memFile{data: bytes.Clone(data), synced: bytes.Clone(data)}
		after.names[name], after.durable[name] = kept, kept
	}
	return after
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

func (m *memFS) MkdirAll(name string) error { return m.fault("mkdir", name) }

func (m *memFS) Create(name string) (durable.File, error) {
	if err := m.fault("create", name); err != nil {
		return nil, err
	}
	if m.names[name] != nil {
		return nil, pathError("create", name, fs.ErrExist)
	}
	m.names[name] = &memFile{}
	return &memHandle{fs: m, name: name, file: m.names[name]}, nil
}

// find counts an operation on a file that must be there.
func (m *memFS) find(op, name string) (*memFile, error) {
	err := m.fault(op, name)
	f := m.names[name]
	if err == nil && f == nil {
		err = pathError(op, name, fs.ErrNotExist)
	}
	return f, err
}

func (m *memFS) Open(name string) (durable.File, error) {
	f, err := m.find("open", name)
	return &memHandle{fs: m, name: name, file: f}, err
}

func (m *memFS) Stat(name string) (fs.FileInfo, error) {
	f, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fstest.MapFS{path.Base(name): f.entry()}.Stat(path.Base(name))
}

func (m *memFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := m.fault("readdir", dir); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	for name, f := range m.names {
		if path.Dir(name) == path.Clean(dir) {
			files[path.Base(name)] = f.entry()
		}
	}
	return files.ReadDir(".")
}

func (m *memFS) Link(from, to string) error {
	f, err := m.find("link", from)
	switch {
	case err != nil:
		return err
	case m.noLinks:
		return pathError("link", to, errors.ErrUnsupported)
	case m.names[to] != nil:
		return pathError("link", to, fs.ErrExist)
	}
	m.names[to] = f
	return nil
}

func (m *memFS) Rename(from, to string) error {
	f, err := m.find("rename", from)
	if err == nil {
		m.names[to] = f
		delete(m.names, from)
	}
	return err
}

func (m *memFS) Remove(name string) error {
	_, err := m.find("remove", name)
	if err == nil {
		delete(m.names, name)
	}
	return err
}

func (m *memFS) SyncDir(dir string) error {
	if err := m.fault("syncdir", dir); err != nil {
		return err
	}
	for name := range m.durable {
		if path.Dir(name) == path.Clean(dir) && m.names[name] == nil {
			delete(m.durable, name)
		}
	}
	for name, f := range m.names {
		if path.Dir(name) == path.Clean(dir) {
			m.durable[name] = f
		}
	}
	return nil
}

type memHandle struct {
	fs   *memFS
	name string
	file *memFile
	at   int
}

// Write takes half of the data if it fails, as a full disk does.
func (h *memHandle) Write(p []byte) (int, error) {
	if err := h.fs.fault("write", h.name); err != nil {
		h.file.data = append(h.file.data, p[:len(p)/2]...)
		return len(p) / 2, err
	}
	h.file.data = append(h.file.data, p...)
	return len(p), nil
}

func (h *memHandle) Read(p []byte) (int, error) {
	if err := h.fs.fault("read", h.name); err != nil {
		return 0, err
	}
	if h.at == len(h.file.data) {
		return 0, io.EOF
	}
	n := copy(p, h.file.data[h.at:])
	h.at += n
	return n, nil
}

func (h *memHandle) Sync() error {
	if err := h.fs.fault("sync", h.name); err != nil {
		return err
	}
	if h.fs.flipAtSync && strings.Contains(h.name, dataSuffix) {
		h.file.data[len(h.file.data)-1] ^= 4
	}
	h.file.synced = bytes.Clone(h.file.data)
	return nil
}

func (h *memHandle) Close() error { return h.fs.fault("close", h.name) }
