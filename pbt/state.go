package pbt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
)

// The population's state, and the one saved before it. Each refers to snapshots by number, and both their snapshots
// are kept, so that a crash at any moment, or a damaged file, leaves one whole population.
const (
	stateFile         = "state.json"
	previousStateFile = "state.previous.json"
	stateSchema       = 1
)

type savedState struct {
	Schema        int           `json:"schema"`
	Members       []savedMember `json:"members"`
	Objective     string        `json:"objective"`
	IntervalSteps int64         `json:"interval_steps"`
	Seed          int64         `json:"seed"`
	// Iteration is the interval in progress.
	Iteration int64 `json:"iteration"`
	// Sequence is the number of this save.
	Sequence       int64 `json:"sequence"`
	ObjectiveKnown bool  `json:"objective_known"`
	// Finished is set when training ended; the journal's last events follow JournalLength.
	Finished bool `json:"finished"`
	// JournalLength is the journal's length in bytes at this state.
	JournalLength int64      `json:"journal_length"`
	Best          *savedBest `json:"best,omitempty"`
}

type savedMember struct {
	Steps           int64   `json:"steps"`
	Parent          *int    `json:"parent,omitempty"`
	Objective       *number `json:"objective,omitempty"`
	Failure         string  `json:"failure,omitempty"`
	FailedIteration int64   `json:"failed_iteration,omitempty"`
	Hyperparameters numbers `json:"hyperparameters"`
	// Saved is the save that holds the member's snapshot, 0 for none.
	Saved int64 `json:"saved"`
}

func (s savedMember) parent() int {
	if s.Parent == nil {
		return -1
	}
	return *s.Parent
}

type savedBest struct {
	Member          int     `json:"member"`
	Iteration       int64   `json:"iteration"`
	Steps           int64   `json:"steps"`
	Objective       float64 `json:"objective"`
	Hyperparameters numbers `json:"hyperparameters"`
}

// restored is a state with the snapshots that it refers to; a failed member may have none.
type restored struct {
	state     savedState
	snapshots []*checkpoint.Snapshot
	best      *Result
}

// save writes the members' snapshots, then the state that refers to them. Without a directory it does nothing.
func (p *Population) save(finished bool) error {
	if p.opt.Directory == "" {
		return nil
	}
	sequence := p.sequence + 1
	if err := p.each(context.Background(), func(m *member) error {
		if m.failure != "" {
			return nil
		}
		snapshot, err := m.snapshotOf()
		if err == nil {
			err = p.stores.save(m.id, sequence, snapshot)
		}
		return wrapMember(m.id, err)
	}); err != nil {
		return err
	}
	s := savedState{
		Schema: stateSchema, Objective: p.opt.Objective, IntervalSteps: p.opt.IntervalSteps, Seed: p.opt.Seed,
		Iteration: p.iteration, Sequence: sequence, ObjectiveKnown: p.known, Finished: finished, JournalLength: p.journal.length,
	}
	if b := p.best; b != nil {
		if err := p.stores.saveBest(b.Iteration, b.Snapshot); err != nil {
			return fmt.Errorf("pbt: best member: %w", err)
		}
		s.Best = &savedBest{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective, Hyperparameters: toNumbers(b.Hyperparameters)}
	}
	for _, m := range p.members {
		if m.failure == "" {
			m.saved = sequence
		}
		sm := savedMember{Steps: m.steps, Failure: m.failure, FailedIteration: m.failedIteration, Hyperparameters: toNumbers(m.hyperparameters), Saved: m.saved}
		if m.parent >= 0 {
			sm.Parent = &m.parent
		}
		if m.hasObjective {
			o := number(m.objective)
			sm.Objective = &o
		}
		s.Members = append(s.Members, sm)
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	path := filepath.Join(p.opt.Directory, stateFile)
	if earlier, err := os.ReadFile(path); err == nil {
		if err := writeFile(filepath.Join(p.opt.Directory, previousStateFile), earlier); err != nil {
			return err
		}
	}
	if err := writeFile(path, append(data, '\n')); err != nil {
		return err
	}
	p.sequence = sequence
	return nil
}

// load returns the directory's population, or the one before where that is damaged; nil where there is none yet.
func (p *Population) load() (*restored, error) {
	var damage error
	for _, name := range []string{stateFile, previousStateFile} {
		path := filepath.Join(p.opt.Directory, name)
		r, err := p.loadState(path)
		switch {
		case err == nil:
			p.recovered = damage
			return r, nil
		case errors.Is(err, errOtherPopulation):
			return nil, err
		case exists(path):
			damage = errors.Join(damage, err)
		}
	}
	if damage != nil {
		return nil, fmt.Errorf("pbt: the population in %s cannot be continued; choose another directory to begin anew: %w", p.opt.Directory, damage)
	}
	return nil, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// errOtherPopulation is a sound state of a population with other options.
var errOtherPopulation = errors.New("the directory holds another population; choose another directory, or the options it was begun with")

func (p *Population) loadState(path string) (*restored, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	s, err := decodeState(data)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	o := p.opt
	for _, c := range []struct {
		name        string
		saved, want any
	}{
		{"Members", len(s.Members), o.Members}, {"Objective", s.Objective, o.Objective},
		{"IntervalSteps", s.IntervalSteps, o.IntervalSteps}, {"Seed", s.Seed, o.Seed},
	} {
		if c.saved != c.want {
			return nil, fmt.Errorf("pbt: %s: %s is %v there and %v here: %w", path, c.name, c.saved, c.want, errOtherPopulation)
		}
	}
	r := &restored{state: s, snapshots: make([]*checkpoint.Snapshot, len(s.Members))}
	for id, m := range s.Members {
		if m.Saved == 0 {
			continue
		}
		if r.snapshots[id], err = p.stores.load(id, m.Saved); err != nil {
			return nil, wrapMember(id, err)
		}
	}
	if b := s.Best; b != nil {
		snapshot, err := p.stores.loadBest(b.Iteration)
		if err != nil {
			return nil, fmt.Errorf("pbt: best member: %w", err)
		}
		r.best = &Result{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective, Hyperparameters: b.Hyperparameters.floats(), Snapshot: snapshot}
	}
	return r, nil
}

// decodeState reads and checks a state file.
func decodeState(data []byte) (savedState, error) {
	var s savedState
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("not a population's state: %w", err)
	}
	if s.Schema != stateSchema {
		return s, fmt.Errorf("the state's format is %d, this program knows %d", s.Schema, stateSchema)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || len(s.Members) == 0 {
		return s, fmt.Errorf("iteration %d, sequence %d, journal length %d and %d members do not make a population", s.Iteration, s.Sequence, s.JournalLength, len(s.Members))
	}
	for id, m := range s.Members {
		if m.Steps < 0 || m.Saved < 0 || m.Saved > s.Sequence || m.Saved == 0 && m.Failure == "" || m.parent() < -1 || m.parent() >= len(s.Members) {
			return s, fmt.Errorf("member %d: steps %d, save %d of %d, parent %d", id, m.Steps, m.Saved, s.Sequence, m.parent())
		}
	}
	if b := s.Best; b != nil && (b.Member < 0 || b.Member >= len(s.Members) || b.Iteration < 1) {
		return s, fmt.Errorf("best member %d of iteration %d", b.Member, b.Iteration)
	}
	return s, nil
}
