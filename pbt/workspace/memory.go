package workspace

// This file holds Memory, the store of populations whose members are goroutines, and of tests. It keeps encoded
// weights rather than snapshots, so that a test with it finds what would break in a folder too.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Memory is a store for the goroutines of one process, with the semantics of [Folder]: weights are encoded and
// checksummed when they are published and decoded when they are fetched, so that readers and the publisher share no
// memory. It keeps nothing beyond the process. A goroutine cannot die alone, so leases are never lost: a goroutine that
// does not release its lease holds the member for ever. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex // guards everything below
	members []*memoryMember
	// files are encoded weights by their paths in Records, as a folder's files would be.
	files map[string][]byte
	// written counts all weights ever, so that no path is used twice.
	written int64
}

// memoryMember is what Memory keeps of one member.
type memoryMember struct {
	holder    *memoryLease  // nil while the member is free
	free      chan struct{} // closed when the holder leaves
	heartbeat *Heartbeat    // the last one, nil before the first
	seen      time.Time     // when that was given
	records   map[int64]Record
	best      *Record // what PublishBest kept, nil before the first
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store. It panics where members is less than 1.
func NewMemory(members int) *Memory {
	if err := checkMembers(members); err != nil {
		panic(err)
	}
	m := &Memory{files: make(map[string][]byte)}
	for range members {
		m.members = append(m.members, &memoryMember{records: make(map[int64]Record)})
	}
	return m
}

// vacate frees a member and wakes up those that wait for it. m.mu is held.
func (m *Memory) vacate(member int) {
	p := m.members[member]
	close(p.free)
	p.holder, p.free = nil, nil
}

// Members is the number of members.
func (m *Memory) Members() int { return len(m.members) }

// Join takes a member's lease, see [Store].
func (m *Memory) Join(ctx context.Context, member int) (Lease, error) {
	if err := checkMember(member, len(m.members)); err != nil {
		return nil, err
	}
	for { // of several goroutines that wait for the same member one gets it, and the others wait again
		m.mu.Lock()
		p := m.members[member]
		if p.holder == nil {
			s := &memoryLease{store: m, member: member}
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

// memoryOwner is the owner in errors of Join: goroutines have no names.
const memoryOwner = "another goroutine"

// taken is the error of a Join that waited until its context ended. It names the owner.
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
	v.Now = time.Now()
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

// decodeWeights verifies size and checksum and decodes the weights. The snapshot shares data's memory.
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

// damaged returns an error that wraps a *checkpoint.DamagedError of the weights at path.
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

// encode returns the bytes of a snapshot, and their size and checksum in Weights without a path.
func encode(snapshot *checkpoint.Snapshot) ([]byte, *Weights, error) {
	var b bytes.Buffer
	if err := checkpoint.EncodeSafetensors(&b, snapshot); err != nil {
		return nil, nil, fmt.Errorf("workspace: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), &Weights{Size: int64(b.Len()), SHA256: hex.EncodeToString(sum[:])}, nil
}

// name returns a path that no other weights have or had, so that a record of replaced weights never finds the new ones.
func (m *Memory) name(folder string, iteration int64) string {
	m.written++
	return fmt.Sprintf("%s/%06d-%d.safetensors", folder, iteration, m.written)
}

// memoryLease is a [Lease] of a Memory. All its state is guarded by the store's mutex.
type memoryLease struct {
	store  *Memory
	member int
}

func (s *memoryLease) Member() int { return s.member }
func (s *memoryLease) Dir() string { return "" }

// Lost is never closed: no other goroutine can take the lease over.
func (s *memoryLease) Lost() <-chan struct{} { return nil }

// mine returns the member's data while the lease is held, and an error once it has been released. The store is locked.
func (s *memoryLease) mine() (*memoryMember, error) {
	if p := s.store.members[s.member]; p.holder == s {
		return p, nil
	}
	return nil, released(s.member)
}

// released is the error of a lease's methods after Release.
func released(member int) error {
	return fmt.Errorf("workspace: the lease of member %d has been released; join again", member)
}

// Publish encodes the weights before it locks the store, so that members do not wait for each other's encoding.
func (s *memoryLease) Publish(r Record, weights *checkpoint.Snapshot) (Record, error) {
	r, err := prepare(r, s.member, s.store.Members())
	if err != nil {
		return r, err
	}
	var data []byte
	if weights != nil {
		if data, r.Weights, err = encode(weights); err != nil {
			return r, err
		}
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	p, err := s.mine()
	if err != nil {
		return r, err
	}
	if r.Weights != nil {
		r.Weights.Path = s.store.name(folderName(s.member), r.Iteration)
		s.store.files[r.Weights.Path] = data
	}
	p.records[r.Iteration] = r
	return r.clone(), nil
}

// folderName is the name of a member's folder, and the beginning of the paths of its weights in memory.
func folderName(member int) string { return fmt.Sprintf("%03d", member) }

// PublishBest keeps the weights where they are better than this member's best, whose weights it then deletes.
func (s *memoryLease) PublishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error {
	if weights == nil {
		return errNoBest
	}
	r, err := prepare(r, s.member, s.store.Members())
	if err != nil {
		return err
	}
	data, reference, err := encode(weights)
	if err != nil {
		return err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	p, err := s.mine()
	if err != nil {
		return err
	}
	if _, ok := r.score(); !ok || p.best != nil && !r.beats(*p.best, minimise) {
		return nil
	}
	if p.best != nil {
		delete(s.store.files, p.best.Weights.Path)
	}
	reference.Path = s.store.name("best/"+folderName(s.member), r.Iteration)
	s.store.files[reference.Path] = data
	r.Weights, p.best = reference, &r
	return nil
}

// Beat replaces the member's heartbeat and notes the time.
func (s *memoryLease) Beat(h Heartbeat) error {
	h, err := h.prepare(s.member, s.store.Members(), "a goroutine")
	if err != nil {
		return err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	p, err := s.mine()
	if err != nil {
		return err
	}
	p.heartbeat, p.seen = &h, time.Now()
	return nil
}

// Prune deletes the records that [Keep] does not keep, and the weights that no record refers to any more. The weights
// of the best lie under "best/" and stay.
func (s *memoryLease) Prune(k Keep) error {
	k, err := k.withDefaults()
	if err != nil {
		return err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	p, err := s.mine()
	if err != nil {
		return err
	}
	iterations := slices.Sorted(maps.Keys(p.records))
	last := newestWithWeights(p.records)
	for _, i := range k.superfluous(iterations) {
		if i != last {
			delete(p.records, i)
		}
	}
	wanted := make(map[string]bool)
	for _, r := range p.records {
		if r.Weights != nil {
			wanted[r.Weights.Path] = true
		}
	}
	maps.DeleteFunc(s.store.files, func(path string, _ []byte) bool {
		return strings.HasPrefix(path, folderName(s.member)+"/") && !wanted[path]
	})
	return nil
}

// newestWithWeights returns the iteration of the newest record with weights, 0 where there is none. Prune never deletes
// that record, because a member that has diverged goes back to its weights.
func newestWithWeights(records map[int64]Record) int64 {
	var newest int64
	for i, r := range records {
		if r.Weights != nil {
			newest = max(newest, i)
		}
	}
	return newest
}

// Release frees the member, and wakes up a goroutine that waits in Join for it.
func (s *memoryLease) Release() error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.store.members[s.member].holder == s {
		s.store.vacate(s.member)
	}
	return nil
}
