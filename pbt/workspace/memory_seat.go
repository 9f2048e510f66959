package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// memoryLease is a lease on a store in memory. All its state is guarded by the store's mutex.
type memoryLease struct {
	store  *Memory
	member int
	lost   chan struct{}
}

func (s *memoryLease) Member() int           { return s.member }
func (s *memoryLease) Dir() string           { return "" }
func (s *memoryLease) Lost() <-chan struct{} { return s.lost }

// mine returns the member's data while the lease is held; the store is locked.
func (s *memoryLease) mine() (*memoryMember, error) {
	if p := s.store.members[s.member]; p.holder == s {
		return p, nil
	}
	select {
	case <-s.lost:
		return nil, fmt.Errorf("workspace: member %d: %w", s.member, ErrLeaseLost)
	default:
		return nil, released(s.member)
	}
}

func released(member int) error {
	return fmt.Errorf("workspace: the lease of member %d has been released; join again", member)
}

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

// folderName is a member's folder.
func folderName(member int) string { return fmt.Sprintf("%03d", member) }

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
	p.heartbeat, p.seen = &h, s.store.clock()
	return nil
}

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

// newestWithWeights is the iteration of the newest record with weights, 0 where there is none. Prune never deletes it:
// it is what a member that has diverged can go back to.
func newestWithWeights(records map[int64]Record) int64 {
	var newest int64
	for i, r := range records {
		if r.Weights != nil {
			newest = max(newest, i)
		}
	}
	return newest
}

func (s *memoryLease) Release() error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.store.members[s.member].holder == s {
		s.store.vacate(s.member)
	}
	return nil
}
