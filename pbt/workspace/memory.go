package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Memory is a store for the goroutines of one process. It keeps nothing beyond the process. Snapshots are passed on by
// reference: neither the publisher nor a reader may change one. A goroutine cannot die alone, so leases are never lost,
// and a goroutine that does not release its lease holds the member for ever. Memory is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex // guards everything below
	members []*memoryMember
	// snapshots are by their paths in Records, as a folder's files would be.
	snapshots map[string]*checkpoint.Snapshot
	// written counts all weights ever, so that no path is used twice.
	written int64
}

// memoryMember is what Memory keeps of one member.
type memoryMember struct {
	seat      chan struct{} // full while a lease is held
	heartbeat *Heartbeat    // the last one, nil before the first
	seen      time.Time     // when that was given
	records   map[int64]Record
	best      *Record // what PublishBest kept, nil before the first
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store. It panics if members is less than 1.
func NewMemory(members int) *Memory {
	if err := checkMembers(members); err != nil {
		panic(err)
	}
	m := &Memory{snapshots: make(map[string]*checkpoint.Snapshot)}
	for range members {
		m.members = append(m.members, &memoryMember{seat: make(chan struct{}, 1), records: make(map[int64]Record)})
	}
	return m
}

// Members is the number of members.
func (m *Memory) Members() int { return len(m.members) }

// Join takes a member's lease, see [Store].
func (m *Memory) Join(ctx context.Context, member int) (Lease, error) {
	if err := checkMember(member, len(m.members)); err != nil {
		return nil, err
	}
	p := m.members[member]
	select {
	case p.seat <- struct{}{}:
	default:
		select {
		case p.seat <- struct{}{}:
		case <-ctx.Done():
			return nil, taken(ctx, member, memoryOwner)
		}
	}
	return &memoryLease{store: m, member: member}, nil
}

// memoryOwner is the owner in errors of Join: goroutines have no names.
const memoryOwner = "another goroutine"

// taken is the error of a Join that waited until its context ended. It names the owner.
func taken(ctx context.Context, member int, owner string) error {
	return fmt.Errorf("workspace: member %d belongs to %s: %w (%w); end that process, or give this one another member",
		member, owner, ErrTaken, context.Cause(ctx))
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
		pv.Records, pv.Stale = present(slices.Collect(maps.Values(p.records)), p.heartbeat)
		v.Members = append(v.Members, pv)
	}
	v.Now = time.Now()
	return v, nil
}

// Fetch returns the weights of a record, see Store.
func (m *Memory) Fetch(r Record) (*checkpoint.Snapshot, error) {
	if err := noWeights(r); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	snapshot, ok := m.snapshots[r.Weights.Path]
	if !ok {
		return nil, fmt.Errorf("workspace: %s: %w; it has been pruned or replaced", r.Weights.Path, fs.ErrNotExist)
	}
	return snapshot, nil
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

// put keeps weights, unless they are nil, under a path that no other weights have or had, so that a record of replaced
// weights never finds the new ones. m.mu is held.
func (m *Memory) put(folder string, r *Record, weights *checkpoint.Snapshot) {
	if weights != nil {
		m.written++
		r.Weights = &Weights{Path: fmt.Sprintf("%s/%06d-%d.safetensors", folder, r.Iteration, m.written)}
		m.snapshots[r.Weights.Path] = weights
	}
}

// memoryLease is a [Lease] of a Memory. All its state is guarded by the store's mutex.
type memoryLease struct {
	store    *Memory
	member   int
	released bool
}

func (s *memoryLease) Dir() string { return "" }

// Lost is never closed: no other goroutine can take the lease over.
func (s *memoryLease) Lost() <-chan struct{} { return nil }

// released is the error of a lease's methods after Release.
func released(member int) error {
	return fmt.Errorf("workspace: the lease of member %d has been released; join again", member)
}

// change calls f with the member's data while the store is locked; it is an error once the lease has been released.
func (s *memoryLease) change(f func(p *memoryMember)) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.released {
		return released(s.member)
	}
	f(s.store.members[s.member])
	return nil
}

// Publish keeps a reference to the weights.
func (s *memoryLease) Publish(r Record, weights *checkpoint.Snapshot) (Record, error) {
	r, err := prepare(r, s.member, s.store.Members())
	if err != nil {
		return r, err
	}
	err = s.change(func(p *memoryMember) {
		s.store.put(folderName(s.member), &r, weights)
		p.records[r.Iteration] = r
	})
	return r.clone(), err
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
	return s.change(func(p *memoryMember) {
		if _, ok := r.score(); !ok || p.best != nil && !r.beats(*p.best, minimise) {
			return
		}
		if p.best != nil {
			delete(s.store.snapshots, p.best.Weights.Path)
		}
		s.store.put("best/"+folderName(s.member), &r, weights)
		p.best = &r
	})
}

// Beat replaces the member's heartbeat and notes the time.
func (s *memoryLease) Beat(h Heartbeat) error {
	h, err := h.prepare(s.member, s.store.Members(), "a goroutine")
	if err != nil {
		return err
	}
	return s.change(func(p *memoryMember) { p.heartbeat, p.seen = &h, time.Now() })
}

// Prune deletes old records, and the weights that no record refers to any more. The weights of the best lie under
// "best/" and stay.
func (s *memoryLease) Prune(oldest int64) error {
	return s.change(func(p *memoryMember) {
		last := newestWithWeights(p.records)
		for _, i := range superfluous(slices.Sorted(maps.Keys(p.records)), oldest) {
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
		maps.DeleteFunc(s.store.snapshots, func(path string, _ *checkpoint.Snapshot) bool {
			return strings.HasPrefix(path, folderName(s.member)+"/") && !wanted[path]
		})
	})
}

// newestWithWeights returns the iteration of the newest record with weights, 0 if there is none. Prune never deletes
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
	_ = s.change(func(p *memoryMember) { // once
		s.released = true
		<-p.seat
	})
	return nil
}
