package trainers

import (
	"errors"
	"fmt"
	"os"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
)

// warmStart begins a run with what Config.WarmStart names. Rank 0 reads it for all.
func (t *Trainer) warmStart() error {
	s, err := snapshotter(t.agent)
	if err != nil {
		return err
	}
	saved := &checkpoint.Saved{}
	if t.rank.Rank() == 0 {
		if saved, err = trained(t.cfg.WarmStart); err != nil {
			return fmt.Errorf("trainers: \"warm_start\": %w", err)
		}
	}
	snap, err := t.rank.shareSnapshot(saved.Snapshot)
	if err != nil {
		return err
	}
	if _, err := agents.WarmStart(s, snap); err != nil {
		return fmt.Errorf("trainers: \"warm_start\" is %s: %w", t.cfg.WarmStart, err)
	}
	if err := t.RestoreStatistics(snap); err != nil {
		return fmt.Errorf("trainers: \"warm_start\" is %s: %w", t.cfg.WarmStart, err)
	}
	return nil
}

// trained loads a checkpoint, or the best one in a run's folder, or the newest where none was saved as the best. A damaged
// best one is an error.
func trained(path string) (*checkpoint.Saved, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return checkpoint.Load(path)
	}
	dir := checkpointsIn(path)
	if _, err := os.Stat(dir); err != nil { // a store would make it
		return nil, fmt.Errorf("%s is not the folder of a run with one agent: %w", path, err)
	}
	store, err := checkpoint.NewStore(dir, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	saved, damaged, err := store.Best()
	if errors.Is(err, checkpoint.ErrNone) && len(damaged) == 0 {
		saved, _, err = store.Latest()
	}
	return saved, err
}
