package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// memorySeat is a seat on a board in memory. All its state is guarded by the board's mutex.
type memorySeat struct {
	board  *Memory
	policy int
	lost   chan struct{}
}

func (s *memorySeat) Policy() int           { return s.policy }
func (s *memorySeat) Dir() string           { return "" }
func (s *memorySeat) Lost() <-chan struct{} { return s.lost }

// mine returns the policy's data while the seat is held; the board is locked.
func (s *memorySeat) mine() (*memoryPolicy, error) {
	if p := s.board.policies[s.policy]; p.holder == s {
		return p, nil
	}
	select {
	case <-s.lost:
		return nil, fmt.Errorf("workspace: policy %d: %w", s.policy, ErrLeaseLost)
	default:
		return nil, released(s.policy)
	}
}

func released(policy int) error {
	return fmt.Errorf("workspace: the seat of policy %d has been released; join again", policy)
}

func (s *memorySeat) Publish(r Record, weights *checkpoint.Snapshot) (Record, error) {
	r, err := prepare(r, s.policy, s.board.Policies())
	if err != nil {
		return r, err
	}
	var data []byte
	if weights != nil {
		if data, r.Weights, err = encode(weights); err != nil {
			return r, err
		}
	}
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	p, err := s.mine()
	if err != nil {
		return r, err
	}
	if r.Weights != nil {
		r.Weights.Path = s.board.name(folderName(s.policy), r.Iteration)
		s.board.files[r.Weights.Path] = data
	}
	p.records[r.Iteration] = r
	return r.clone(), nil
}

// folderName is a policy's folder.
func folderName(policy int) string { return fmt.Sprintf("%03d", policy) }

func (s *memorySeat) PublishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error {
	if weights == nil {
		return errNoBest
	}
	r, err := prepare(r, s.policy, s.board.Policies())
	if err != nil {
		return err
	}
	data, reference, err := encode(weights)
	if err != nil {
		return err
	}
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	p, err := s.mine()
	if err != nil {
		return err
	}
	if _, ok := r.score(); !ok || p.best != nil && !r.beats(*p.best, minimise) {
		return nil
	}
	if p.best != nil {
		delete(s.board.files, p.best.Weights.Path)
	}
	reference.Path = s.board.name("best/"+folderName(s.policy), r.Iteration)
	s.board.files[reference.Path] = data
	r.Weights, p.best = reference, &r
	return nil
}

func (s *memorySeat) Beat(h Heartbeat) error {
	h, err := h.prepare(s.policy, s.board.Policies(), "a goroutine")
	if err != nil {
		return err
	}
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	p, err := s.mine()
	if err != nil {
		return err
	}
	p.heartbeat, p.seen = &h, s.board.clock()
	return nil
}

func (s *memorySeat) Prune(k Keep) error {
	k, err := k.withDefaults()
	if err != nil {
		return err
	}
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
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
	maps.DeleteFunc(s.board.files, func(path string, _ []byte) bool {
		return strings.HasPrefix(path, folderName(s.policy)+"/") && !wanted[path]
	})
	return nil
}

// newestWithWeights is the iteration of the newest record with weights, 0 where there is none. Prune never deletes it:
// it is what a policy that has diverged can go back to.
func newestWithWeights(records map[int64]Record) int64 {
	var newest int64
	for i, r := range records {
		if r.Weights != nil {
			newest = max(newest, i)
		}
	}
	return newest
}

func (s *memorySeat) Release() error {
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	if s.board.policies[s.policy].holder == s {
		s.board.vacate(s.policy)
	}
	return nil
}
