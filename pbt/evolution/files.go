package evolution

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt"
)

// openStores opens the folders that [Evolution.write] writes to.
func (e *Evolution) openStores() (err error) {
	o := e.opt
	if o.SaveElite {
		path := cmp.Or(o.ElitePath, filepath.Join(o.Directory, "elite"))
		if e.elite, err = checkpoint.NewStore(path, checkpoint.Options{Keep: 1}); err != nil {
			return fmt.Errorf("evolution: elite_path: %w", err)
		}
	}
	if o.Checkpoint == 0 {
		return nil
	}
	var keep checkpoint.Options
	if o.OverwriteCheckpoints {
		keep.Keep = 1
	}
	folder := cmp.Or(o.CheckpointPath, filepath.Join(o.Directory, "checkpoints"))
	for id := range o.Members {
		store, err := checkpoint.NewStore(filepath.Join(folder, fmt.Sprintf("%03d", id)), keep)
		if err != nil {
			return fmt.Errorf("evolution: checkpoint_path: %w", err)
		}
		e.checkpoints = append(e.checkpoints, store)
	}
	return nil
}

// write is called at the end of every generation, before its mutations. It writes a new elite, and a checkpoint of
// every member that has passed a multiple of Options.Checkpoint since its last one. A run that continues calls it
// again for a generation whose files may be there already, so it compares with what the stores hold before it writes.
func (e *Evolution) write(p *pbt.Population) error {
	if best := p.Best(); e.elite != nil && best != nil && best.Iteration != e.written {
		if latestStep(e.elite) != best.Steps || e.written > 0 {
			if _, err := e.elite.Save(fmt.Sprintf("elite_%d", best.Steps), best.Steps, best.Snapshot); err != nil {
				return fmt.Errorf("evolution: elite: %w", err)
			}
		}
		e.written = best.Iteration
	}
	for id, store := range e.checkpoints {
		m := p.Generation().Members[id]
		if m.Failed || m.Steps/e.opt.Checkpoint <= latestStep(store)/e.opt.Checkpoint {
			continue
		}
		snap, err := p.Trainee(id).Snapshot()
		if err == nil {
			_, err = store.Save(fmt.Sprintf("member_%d_%d", id, m.Steps), m.Steps, snap)
		}
		if err != nil {
			return fmt.Errorf("evolution: checkpoint of member %d: %w", id, err)
		}
	}
	return nil
}

// latestStep returns the step of the newest snapshot in a store, 0 if there is none.
func latestStep(s *checkpoint.Store) int64 {
	saved, _, err := s.Latest()
	if err != nil {
		return 0
	}
	return saved.Manifest.Step
}

// LoadElite reads the elite that Options.SaveElite wrote to the folder path. Pass its snapshot to [Build] to get the
// agent. A folder that does not exist is an error that wraps os.ErrNotExist, and is not created.
func LoadElite(path string) (*checkpoint.Saved, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("evolution: no elite: %w", err)
	}
	store, err := checkpoint.NewStore(path, checkpoint.Options{Keep: 1})
	if err != nil {
		return nil, fmt.Errorf("evolution: %w", err)
	}
	saved, _, err := store.Latest()
	if err != nil {
		return nil, fmt.Errorf("evolution: no elite in %s: %w", path, err)
	}
	return saved, nil
}
