package pbt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
)

// StateFile is the name of the population's state in its directory. Where it exists New continues.
const StateFile = "state.json"

// The population's state, and the one saved before it. Each refers to snapshots by number, and both their snapshots
// are kept, so that a crash at any moment, or a damaged file, leaves one whole population.
const (
	stateFile         = StateFile
	previousStateFile = "state.previous.json"
	stateSchema       = 1
)

type savedState struct {
	Schema        int           `json:"schema"`
	Members       []savedMember `json:"members"`
	Objective     string        `json:"objective"`
	IntervalSteps int64         `json:"interval_steps"`
	Seed          int64         `json:"seed"`
	Minimise      bool          `json:"minimise,omitempty"`
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
	// Check is the state's checksum.
	Check string `json:"check,omitempty"`
}

type savedBest struct {
	Member          int        `json:"member"`
	Iteration       int64      `json:"iteration"`
	Steps           int64      `json:"steps"`
	Objective       float64    `json:"objective"`
	Hyperparameters number.Map `json:"hyperparameters"`
	// Snapshot is the name of the snapshot in the folder "best".
	Snapshot string `json:"snapshot"`
}

// restored is a state with the snapshots that it refers to; a failed member may have none.
type restored struct {
	state     savedState
	data      []byte // the state as read
	snapshots []*checkpoint.Snapshot
	best      *Result
	damage    error // why there is no best although the state names one
}

// save writes the members' snapshots, then the state that refers to them, then deletes what neither it nor the state
// before it refers to. Without a directory it does nothing.
func (p *Population) save(finished bool) error {
	if p.opt.Directory == "" {
		return nil
	}
	sequence := p.sequence + 1
	names := make([]string, len(p.members))
	if err := p.each(context.Background(), func(m *member) error {
		if m.failure != "" { // what it is now cannot be trusted
			names[m.id] = m.saved
			return nil
		}
		snapshot, err := m.snapshotOf()
		if err == nil {
			names[m.id], err = put(p.stores.members[m.id], sequence, m.steps, snapshot)
		}
		return wrapMember(m.id, err)
	}); err != nil {
		return err
	}
	if b := p.best; b != nil && b.file == "" {
		var err error
		if b.file, err = put(p.stores.best, b.Iteration, b.Steps, b.Snapshot); err != nil {
			b.file = ""
			return fmt.Errorf("pbt: best member: %w", err)
		}
	}
	state := p.state(sequence, finished, names)
	data, err := durable.Seal(&state, &state.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	states := []savedState{state}
	if p.last != nil { // not what the file holds, which may be damaged
		if err := writeFile(filepath.Join(p.opt.Directory, previousStateFile), p.last.data); err != nil {
			return err
		}
		states = append(states, p.last.state)
	}
	if err := writeFile(filepath.Join(p.opt.Directory, stateFile), data); err != nil {
		return err
	}
	for i, m := range p.members {
		m.saved = names[i]
	}
	p.sequence, p.last = sequence, &restored{state: state, data: data}
	return p.stores.prune(states...)
}

// state is the population's, with its members' snapshots by name.
func (p *Population) state(sequence int64, finished bool, names []string) savedState {
	s := savedState{
		Schema: stateSchema, Objective: p.opt.Objective, IntervalSteps: p.opt.IntervalSteps, Seed: p.opt.Seed, Minimise: p.opt.Measure.Minimise,
		Iteration: p.iteration, Sequence: sequence, ObjectiveKnown: p.known, Finished: finished, JournalLength: p.journal.Length,
	}
	if b := p.best; b != nil {
		s.Best = &savedBest{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective, Hyperparameters: number.MapOf(b.Hyperparameters), Snapshot: b.file}
	}
	for i, m := range p.members {
		s.Members = append(s.Members, m.state(names[i]))
	}
	return s
}

func writeFile(path string, data []byte) error {
	if err := checkpoint.WriteFile(path, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
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
			p.recovered = errors.Join(damage, r.damage)
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
		{"Measure.Minimise", s.Minimise, o.Measure.Minimise},
	} {
		if c.saved != c.want {
			return nil, fmt.Errorf("pbt: %s: %s is %v there and %v here: %w", path, c.name, c.saved, c.want, errOtherPopulation)
		}
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
		r.best = &Result{Member: b.Member, Iteration: b.Iteration, Steps: b.Steps, Objective: b.Objective, Hyperparameters: b.Hyperparameters.Floats(), Snapshot: snapshot, file: b.Snapshot}
	}
	return r, nil
}

// openState reads a state and verifies its checksum. A state without one was written before there were any.
func openState(data []byte, state any, check *string) error {
	err := durable.UnsealSchema(data, stateSchema, state, check)
	if errors.Is(err, durable.ErrUnsealed) {
		return nil
	}
	return err
}

// decodeState reads and checks a state file.
func decodeState(data []byte) (savedState, error) {
	var s savedState
	if err := openState(data, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a population's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || len(s.Members) == 0 {
		return s, fmt.Errorf("iteration %d, sequence %d, journal length %d and %d members do not make a population", s.Iteration, s.Sequence, s.JournalLength, len(s.Members))
	}
	for id, m := range s.Members {
		if m.Steps < 0 || m.Snapshot == "" && m.Failure == "" || m.parent() < -1 || m.parent() >= len(s.Members) || m.CopiedAt < 0 || max(m.CopiedAt, m.ChangedAt) > m.Steps || m.Inherited < 0 {
			return s, fmt.Errorf("member %d: steps %d, snapshot %q, parent %d, took over weights of %d steps at %d", id, m.Steps, m.Snapshot, m.parent(), m.Inherited, m.CopiedAt)
		}
	}
	if b := s.Best; b != nil && (b.Member < 0 || b.Member >= len(s.Members) || b.Iteration < 1) {
		return s, fmt.Errorf("best member %d of iteration %d", b.Member, b.Iteration)
	}
	return s, nil
}
