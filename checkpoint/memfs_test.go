package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

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

func newMemFS() *memFS {
	return &memFS{names: map[string]*memFile{}, durable: map[string]*memFile{}}
}

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

func (m *memFS) Open(name string) (durable.File, error) {
	if err := m.fault("open", name); err != nil {
		return nil, err
	}
	f := m.names[name]
	if f == nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	return &memHandle{fs: m, name: name, file: f}, nil
}

func (m *memFS) Stat(name string) (fs.FileInfo, error) {
	if err := m.fault("stat", name); err != nil {
		return nil, err
	}
	f := m.names[name]
	if f == nil {
		return nil, pathError("stat", name, fs.ErrNotExist)
	}
	return memInfo{path.Base(name), int64(len(f.data))}, nil
}

func (m *memFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := m.fault("readdir", dir); err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	for name, f := range m.names {
		if path.Dir(name) == path.Clean(dir) {
			entries = append(entries, fs.FileInfoToDirEntry(memInfo{path.Base(name), int64(len(f.data))}))
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (m *memFS) Link(from, to string) error {
	if err := m.fault("link", to); err != nil {
		return err
	}
	switch {
	case m.noLinks:
		return pathError("link", to, errors.ErrUnsupported)
	case m.names[from] == nil:
		return pathError("link", from, fs.ErrNotExist)
	case m.names[to] != nil:
		return pathError("link", to, fs.ErrExist)
	}
	m.names[to] = m.names[from]
	return nil
}

func (m *memFS) Rename(from, to string) error {
	if err := m.fault("rename", to); err != nil {
		return err
	}
	if m.names[from] == nil {
		return pathError("rename", from, fs.ErrNotExist)
	}
	m.names[to] = m.names[from]
	delete(m.names, from)
	return nil
}

func (m *memFS) Remove(name string) error {
	if err := m.fault("remove", name); err != nil {
		return err
	}
	if m.names[name] == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	delete(m.names, name)
	return nil
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

type memInfo struct {
	name string
	size int64
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return 0o644 }
func (i memInfo) ModTime() time.Time { return time.Now() }
func (i memInfo) IsDir() bool        { return false }
func (i memInfo) Sys() any           { return nil }
