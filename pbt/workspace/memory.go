package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Memory is a store for the goroutines of one process, with the semantics of Folder: what is published is encoded and
// checksummed, and what is read is the reader's own. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	clock   func() time.Time
	members []*memoryMember
	files   map[string][]byte
	written int64
}

type memoryMember struct {
	holder    *memoryLease
	free      chan struct{} // closed when the holder leaves
	heartbeat *Heartbeat
	seen      time.Time
	records   map[int64]Record
	best      *Record
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store. It panics where members is less than 1.
func NewMemory(members int) *Memory {
	if err := checkMembers(members); err != nil {
		panic(err)
	}
	m := &Memory{clock: time.Now, files: make(map[string][]byte)}
	for range members {
		m.members = append(m.members, &memoryMember{records: make(map[int64]Record)})
	}
	return m
}

// SetClock replaces the store's clock, which is time.Now otherwise. The store calls it one call at a time.
func (m *Memory) SetClock(now func() time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock = now
}

// Evict takes a member's lease from its holder, as a shared folder does with a process that has been silent for too
// long: the lease's Lost is closed and its methods return ErrLeaseLost. Without a holder it does nothing.
func (m *Memory) Evict(member int) error {
	if err := checkMember(member, len(m.members)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.members[member].holder; s != nil {
		close(s.lost)
		m.vacate(member)
	}
	return nil
}

func (m *Memory) vacate(member int) {
	p := m.members[member]
	close(p.free)
	p.holder, p.free = nil, nil
}

// Members is the number of members.
func (m *Memory) Members() int { return len(m.members) }

// Join takes a member's lease, see Store. A holder that does not release it holds it until Evict.
func (m *Memory) Join(ctx context.Context, member int) (Lease, error) {
	if err := checkMember(member, len(m.members)); err != nil {
		return nil, err
	}
	for {
		m.mu.Lock()
		p := m.members[member]
		if p.holder == nil {
			s := &memoryLease{store: m, member: member, lost: make(chan struct{})}
			p.holder, p.free = s, make(chan struct{})
			m.mu.Unlock()
			return s, nil
		}
		free := p.free
		m.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, taken(ctx, member, memoryOwner)
		}
	}
}

const memoryOwner = "another goroutine"

// taken says who keeps a lease that was waited for.
func taken(ctx context.Context, member int, owner string) error {
	return fmt.Errorf("workspace: member %d belongs to %s: %w (%w); end that process, or give this one another member", member, owner, ErrTaken, context.Cause(ctx))
}

// View is everything published, see Store.
func (m *Memory) View() (View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var v View
	for i, p := range m.members {
		pv := MemberView{Member: i, Seen: p.seen}
		if p.heartbeat != nil {
			h := p.heartbeat.clone()
			pv.Heartbeat = &h
		}
		var records []Record
		for _, r := range p.records {
			records = append(records, r)
		}
		pv.Records, pv.Stale = present(records, p.heartbeat)
		v.Members = append(v.Members, pv)
	}
	v.Now = m.clock()
	return v, nil
}

// Fetch reads the weights of a record, see Store.
func (m *Memory) Fetch(r Record) (*checkpoint.Snapshot, error) {
	if err := noWeights(r); err != nil {
		return nil, err
	}
	m.mu.Lock()
	data, ok := m.files[r.Weights.Path]
	m.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("workspace: %s: %w; it has been pruned or replaced", r.Weights.Path, fs.ErrNotExist)
	}
	return decodeWeights(r.Weights.Path, slices.Clone(data), *r.Weights)
}

// decodeWeights verifies and reads weights. The snapshot shares data's memory.
func decodeWeights(path string, data []byte, want Weights) (*checkpoint.Snapshot, error) {
	if int64(len(data)) != want.Size {
		return nil, damaged(path, "%d bytes, where the record says %d", len(data), want.Size)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want.SHA256 {
		return nil, damaged(path, "the checksum is not the record's")
	}
	snap, err := checkpoint.DecodeSafetensors(data)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", &checkpoint.DamagedError{Path: path, Reason: err.Error(), Err: err})
	}
	return snap, nil
}

func damaged(path, format string, args ...any) error {
	return fmt.Errorf("workspace: %w", &checkpoint.DamagedError{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// Best is the best record there ever was, see Store.
func (m *Memory) Best(minimise bool) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var records []Record
	for _, p := range m.members {
		if p.best != nil {
			records = append(records, *p.best)
		}
	}
	best, ok := bestOf(records, minimise)
	return best, ok, nil
}

// FetchBest reads the weights of what Best returned.
func (m *Memory) FetchBest(r Record) (*checkpoint.Snapshot, error) { return m.Fetch(r) }

// encode returns the bytes of a snapshot and what refers to them; the path is not set.
func encode(snapshot *checkpoint.Snapshot) ([]byte, *Weights, error) {
	var b bytes.Buffer
	if err := checkpoint.EncodeSafetensors(&b, snapshot); err != nil {
		return nil, nil, fmt.Errorf("workspace: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), &Weights{Size: int64(b.Len()), SHA256: hex.EncodeToString(sum[:])}, nil
}

// name returns a path that no other weights have or had.
func (m *Memory) name(folder string, iteration int64) string {
	m.written++
	return fmt.Sprintf("%s/%06d-%d.safetensors", folder, iteration, m.written)
}
