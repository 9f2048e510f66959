// How a saved population is read, checked and compared with the options, and how a member continues from it.

package pbt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
)

// restored is a state as read, with the snapshots that it refers to; a failed member may have none.
type restored struct {
	state     savedState
	data      []byte // the state as read
	snapshots []*checkpoint.Snapshot
	best      *Result
	damage    error // why there is no best although the state names one
}

// load returns the directory's population, or the one before where that is damaged; nil where there is none yet.
func (p *Population) load() (*restored, error) {
	r, name, damage, err := loadState(p.opt.Directory, p.loadState)
	switch {
	case err != nil:
		return nil, err
	case r != nil:
		if p.recovered = errors.Join(damage, r.damage); name != stateFile {
			break
		}
		// Delete the snapshots that an interrupted save left.
		states := []savedState{r.state}
		if data, err := os.ReadFile(filepath.Join(p.opt.Directory, previousStateFile)); err == nil {
			previous, err := decodeState(data)
			if err != nil || len(previous.Members) != len(r.state.Members) {
				break
			}
			states = append(states, previous)
		}
		if err := p.stores.prune(states...); err != nil {
			return nil, err
		}
	case damage != nil:
		return nil, fmt.Errorf("pbt: the population in %s cannot be continued; choose another directory to begin anew: %w",
			p.opt.Directory, damage)
	}
	return r, nil
}

// loadState reads one state file with all snapshots that it refers to, and compares it with the options. Only the best
// member may be missing.
func (p *Population) loadState(path string) (*restored, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	s, err := decodeState(data)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	if err := p.opt.sameRun(path, s.savedRun,
		setting{"the number of members", len(s.Members), p.opt.Members}); err != nil {
		return nil, err
	}
	r := &restored{state: s, data: data, snapshots: make([]*checkpoint.Snapshot, len(s.Members))}
	for id, m := range s.Members {
		if m.Snapshot == "" {
			continue
		}
		if r.snapshots[id], err = get(p.stores.members[id], m.Snapshot); err != nil {
			return nil, fmt.Errorf("pbt: %s: member %d: %w", path, id, err)
		}
	}
	if b := s.Best; b != nil {
		snapshot, err := get(p.stores.best, b.Snapshot)
		if err != nil { // training can go on without it
			r.damage = fmt.Errorf("pbt: %s: best member: %w", path, err)
			return r, nil
		}
		r.best = &Result{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective,
			Hyperparameters: b.Hyperparameters.Floats(), Snapshot: snapshot, file: b.Snapshot}
	}
	return r, nil
}

// loadState reads the state in dir, or, where that is damaged, the one before, and returns which file it was. r is nil
// where neither can be read; damage says what is wrong with the files passed over. err is that of another population's
// state.
func loadState[T any](dir string, read func(path string) (*T, error)) (r *T, name string, damage, err error) {
	for _, name := range []string{stateFile, previousStateFile} {
		path := filepath.Join(dir, name)
		r, err := read(path)
		switch {
		case err == nil:
			return r, name, damage, nil
		case errors.Is(err, errOtherPopulation):
			return nil, name, nil, err
		case exists(path):
			damage = errors.Join(damage, err)
		}
	}
	return nil, "", damage, nil
}

// exists reports whether there is a file at path: a state that is missing is no damage.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openState reads a state and verifies its checksum. A state without one was written before there were any.
func openState(data []byte, state any, check *string) error {
	err := durable.UnsealSchema(data, stateSchema, state, check)
	if errors.Is(err, durable.ErrUnsealed) {
		return nil
	}
	return err
}

// decodeState reads a state file and checks that its parts agree, so that the rest of the package can rely on it.
func decodeState(data []byte) (savedState, error) {
	var s savedState
	if err := openState(data, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a population's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || len(s.Members) == 0 {
		return s, fmt.Errorf("iteration %d, sequence %d, journal length %d and %d members do not make a population",
			s.Iteration, s.Sequence, s.JournalLength, len(s.Members))
	}
	for id, m := range s.Members {
		if m.Steps < 0 || m.Snapshot == "" && m.Failure == "" || m.parent() < -1 || m.parent() >= len(s.Members) ||
			m.CopiedAt < 0 || max(m.CopiedAt, m.ChangedAt) > m.Steps || m.Inherited < 0 {
			return s, fmt.Errorf("member %d: environment steps %d, snapshot %q, parent %d, took over weights of %d environment steps at %d", id, m.Steps, m.Snapshot, m.parent(), m.Inherited, m.CopiedAt)
		}
	}
	if b := s.Best; b != nil && (b.Member < 0 || b.Member >= len(s.Members) || b.Iteration < 1) {
		return s, fmt.Errorf("best member %d of iteration %d", b.Member, b.Iteration)
	}
	return s, nil
}

// errOtherPopulation is a sound state of a population with other options.
var errOtherPopulation = errors.New("the directory holds another population; choose another directory, or the options it was begun with")

// setting is an option that a population may not change while it trains, as it was saved and as it is given now.
type setting struct {
	name        string
	saved, want any
}

// sameRun returns an error that wraps errOtherPopulation where a saved state has another value than the options, in
// saved or in one of the settings.
func (o *Options) sameRun(path string, saved savedRun, settings ...setting) error {
	for _, s := range append(settings,
		setting{"the objective", saved.Objective, o.Objective},
		setting{"the interval in environment steps", saved.IntervalSteps, o.IntervalSteps},
		setting{"the seed", saved.Seed, o.Seed}, setting{"measure.minimise", saved.Minimise, o.Measure.Minimise},
	) {
		if s.saved != s.want {
			return fmt.Errorf("pbt: %s: %s is %v there and %v here: %w", path, s.name, s.saved, s.want, errOtherPopulation)
		}
	}
	return nil
}

// load puts the member back to how state saved it.
func (m *member) load(s savedMember) {
	m.steps, m.parent, m.saved = s.Steps, s.parent(), s.Snapshot
	m.failure, m.failedIteration = s.Failure, s.FailedIteration
	m.copiedAt, m.inherited, m.measuredAt = s.CopiedAt, s.Inherited, s.MeasuredAt
	m.changedAt = max(s.CopiedAt, s.ChangedAt)
	m.samples, m.figure, m.diverged = s.Samples, s.Figure, s.Diverged
	if s.Objective != nil {
		m.objective, m.hasObjective = m.opt.Measure.signed(float64(*s.Objective)), true
	}
	if s.Peak != nil {
		m.peak, m.hasPeak = m.opt.Measure.signed(float64(*s.Peak)), true
	}
	for _, r := range s.Readings {
		m.readings = append(m.readings, float64(r))
	}
	m.scoredAt = s.ScoredAt
	for _, x := range s.Scores {
		m.scores = append(m.scores, m.opt.Measure.signed(float64(x)))
	}
}

// parent returns the member copied last, -1 for none.
func (s savedMember) parent() int {
	if s.Parent == nil {
		return -1
	}
	return *s.Parent
}

// get loads a snapshot by the name that a state has for it. A name with a path in it is refused, because state files
// can be edited.
func get(store *checkpoint.Store, name string) (*checkpoint.Snapshot, error) {
	if name != filepath.Base(name) {
		return nil, fmt.Errorf("%q is not the name of a snapshot", name)
	}
	saved, err := store.Load(name)
	if err != nil {
		return nil, err
	}
	return saved.Snapshot, nil
}
