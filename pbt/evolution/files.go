package evolution

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt"
)

// openStores makes the folders that are written to while training.
func (e *Evolution) openStores() (err error) {
	o := e.opt
	if o.SaveElite {
		path := o.ElitePath
		if path == "" {
			path = filepath.Join(o.Directory, "elite")
		}
		if e.elite, err = checkpoint.NewStore(path, checkpoint.Options{Keep: 1}); err != nil {
			return fmt.Errorf("evolution: ElitePath: %w", err)
		}
	}
	if o.Checkpoint == 0 {
		return nil
	}
	path, keep := o.CheckpointPath, 0
	if path == "" {
		path = filepath.Join(o.Directory, "checkpoints")
	}
	if o.OverwriteCheckpoints {
		keep = 1
	}
	for id := range o.PopulationSize {
		store, err := checkpoint.NewStore(filepath.Join(path, fmt.Sprintf("%03d", id)), checkpoint.Options{Keep: keep})
		if err != nil {
			return fmt.Errorf("evolution: CheckpointPath: %w", err)
		}
		e.checkpoints = append(e.checkpoints, store)
	}
	return nil
}

// write writes what is due at the end of a generation. What a run before has written already is left alone.
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

// latestStep is that of the newest snapshot in a store, 0 where there is none.
func latestStep(s *checkpoint.Store) int64 {
	saved, _, err := s.Latest()
	if err != nil {
		return 0
	}
	return saved.Manifest.Step
}

// LoadElite returns what Options.SaveElite wrote to a folder; see [Build] for what to do with it.
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
