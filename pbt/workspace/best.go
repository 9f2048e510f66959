package workspace

import (
	"fmt"
	"os"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Best is the best record there ever was, see Store.
func (f *Folder) Best(minimise bool) (Record, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := os.Stat(f.dir); err != nil {
		return Record{}, false, fmt.Errorf("workspace: %w; is the shared folder mounted?", err)
	}
	var all []Record
	for member := range f.members {
		records, _ := f.records(member, true)
		for _, r := range records {
			if !r.Foreign && r.Weights != nil {
				all = append(all, r)
			}
		}
	}
	best, ok := bestOf(all, minimise)
	return best, ok, nil
}

// PublishBest offers weights for the best of the population, see Lease. One is kept.
func (s *folderLease) PublishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error {
	if weights == nil {
		return errNoBest
	}
	r, err := prepare(r, s.member, s.store.members)
	if err != nil {
		return err
	}
	return s.did("publishing the best", s.publishBest(r, weights, minimise))
}

func (s *folderLease) publishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error {
	if err := s.mine(); err != nil {
		return err
	}
	if _, ok := r.score(); !ok {
		return nil
	}
	s.store.mu.Lock()
	records, _ := s.store.records(s.member, true)
	s.store.mu.Unlock()
	if best, ok := bestOf(records, minimise); ok && !r.beats(best, minimise) {
		return nil
	}
	store, err := checkpoint.NewStore(s.store.path(s.bestFolder), checkpoint.Options{})
	if err != nil {
		return err
	}
	if err := s.publish(&r, weights, store, s.bestFolder); err != nil {
		return err
	}
	return s.sweep(s.bestFolder, func(iteration int64) bool { return iteration == r.Iteration })
}
