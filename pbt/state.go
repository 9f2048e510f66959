// What a member saves: two files, the newest state and one before it, each sealed by a checksum. They refer to
// snapshots in a folder next to them. Either file, or any one snapshot, may be lost or damaged without losing the
// member.

package pbt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
)

const (
	stateFile         = "state.json"
	previousStateFile = "state.previous.json"
	stateSchema       = 1
	// snapshotFolder holds the snapshots that the states refer to.
	snapshotFolder = "state"
)

// savedState is a member in a state file. The key "policy" is the member's number; keys are older than the names.
type savedState struct {
	Schema  int `json:"schema"`
	Policy  int `json:"policy"`
	Members int `json:"members"`
	savedRun
	Phase phase `json:"phase"`
	// Iteration is the interval in progress, Sequence the number of this save.
	Iteration      int64 `json:"iteration"`
	Sequence       int64 `json:"sequence"`
	Copies         int64 `json:"copies"`
	ObjectiveKnown bool  `json:"objective_known"`
	// JournalLength is the journal's length in bytes at this state.
	JournalLength int64 `json:"journal_length"`
	// Best is the best objective that the member's group knows of. Higher is better.
	Best    *number.JSON  `json:"best,omitempty"`
	Member  savedMember   `json:"member"`
	Pending *savedPending `json:"pending,omitempty"`
	// WaitingSince is the time, by the store's clock, at which a member that yields instead of waiting began to wait
	// for its peers.
	WaitingSince *time.Time `json:"waiting_since,omitempty"`
	// Check is the state's checksum.
	Check string `json:"check,omitempty"`
}

// savedRun are the options that must stay the same while a population trains. Their keys are among those of a state.
type savedRun struct {
	Objective     string `json:"objective"`
	IntervalSteps int64  `json:"interval_steps"`
	Seed          int64  `json:"seed"`
	Minimise      bool   `json:"minimise,omitempty"`
}

// savedMember is everything that continuing a member needs besides its snapshot. Objectives are saved as figures, so
// that people can read the file.
type savedMember struct {
	Steps           int64        `json:"steps"`
	Parent          *int         `json:"parent,omitempty"`
	Objective       *number.JSON `json:"objective,omitempty"`
	Failure         string       `json:"failure,omitempty"`
	FailedIteration int64        `json:"failed_iteration,omitempty"`
	Hyperparameters number.Map   `json:"hyperparameters"`
	// CopiedAt are the member's environment steps when it last took over weights, Inherited those behind the weights.
	CopiedAt  int64 `json:"copied_at,omitempty"`
	Inherited int64 `json:"inherited,omitempty"`
	// ChangedAt are the member's environment steps when it last mutated itself, if that was after CopiedAt.
	ChangedAt int64 `json:"changed_at,omitempty"`
	// MeasuredAt is the interval that Objective belongs to.
	MeasuredAt int64         `json:"measured_at,omitempty"`
	Samples    int           `json:"samples,omitempty"`
	Readings   []number.JSON `json:"readings,omitempty"`
	Figure     string        `json:"figure,omitempty"`
	Peak       *number.JSON  `json:"peak,omitempty"`
	Diverged   string        `json:"diverged,omitempty"`
	// Scores are those that the weights went through, the last of them of the interval ScoredAt.
	Scores   []number.JSON `json:"scores,omitempty"`
	ScoredAt int64         `json:"scored_at,omitempty"`
	// Snapshot is the name of the member's snapshot in its folder, "" for none.
	Snapshot string `json:"snapshot,omitempty"`
}

// parent returns the member copied last, -1 for none.
func (s savedMember) parent() int {
	if s.Parent == nil {
		return -1
	}
	return *s.Parent
}

// savedOf returns a member as it is saved; snapshot is the name of its snapshot, "" for none.
func savedOf(m *member, snapshot string) savedMember {
	s := savedMember{
		Steps: m.steps, Failure: m.failure, FailedIteration: m.failedIteration,
		Hyperparameters: number.MapOf(m.hyperparameters), CopiedAt: m.copiedAt, Inherited: m.inherited,
		MeasuredAt: m.measuredAt, Samples: m.samples, Figure: m.figure, Diverged: m.diverged, ScoredAt: m.scoredAt,
		Snapshot:  snapshot,
		Objective: number.Optional(m.opt.Measure.signed(m.objective), m.hasObjective),
		Peak:      number.Optional(m.opt.Measure.signed(m.peak), m.hasPeak),
	}
	if parent := m.parent; parent >= 0 {
		s.Parent = &parent
	}
	if m.changedAt > m.copiedAt {
		s.ChangedAt = m.changedAt
	}
	for _, r := range m.readings {
		s.Readings = append(s.Readings, number.JSON(r))
	}
	for _, x := range m.scores {
		s.Scores = append(s.Scores, number.JSON(m.opt.Measure.signed(x)))
	}
	return s
}

// unbuilt returns a member without its trainee: new, or as it was saved.
func (o *Options) unbuilt(id int, saved *savedMember) *member {
	m := &member{opt: o, id: id, parent: -1, seed: seed(o.Seed, streamSeed, int64(id))}
	if saved != nil {
		m.load(*saved)
	}
	return m
}

// load puts the member back to how savedOf saved it.
func (m *member) load(s savedMember) {
	m.steps, m.parent, m.hyperparameters = s.Steps, s.parent(), s.Hyperparameters.Floats()
	m.failure, m.failedIteration = s.Failure, s.FailedIteration
	m.copiedAt, m.inherited, m.measuredAt = s.CopiedAt, s.Inherited, s.MeasuredAt
	m.changedAt = max(s.CopiedAt, s.ChangedAt)
	m.samples, m.figure, m.diverged, m.scoredAt = s.Samples, s.Figure, s.Diverged, s.ScoredAt
	if x, ok := s.Objective.Known(); ok {
		m.objective, m.hasObjective = m.opt.Measure.signed(x), true
	}
	if x, ok := s.Peak.Known(); ok {
		m.peak, m.hasPeak = m.opt.Measure.signed(x), true
	}
	for _, r := range s.Readings {
		m.readings = append(m.readings, float64(r))
	}
	for _, x := range s.Scores {
		m.scores = append(m.scores, m.opt.Measure.signed(float64(x)))
	}
}

// decodeState reads a state file and checks that its parts agree, so that the rest of the package can rely on it.
func decodeState(data []byte) (savedState, error) {
	var s savedState
	if err := durable.UnsealSchema(data, stateSchema, &s, &s.Check); err != nil {
		return s, fmt.Errorf("not a member's state: %w", err)
	}
	if s.Iteration < 1 || s.Sequence < 1 || s.JournalLength < 0 || s.Copies < 0 || s.Members < 1 || s.Policy < 0 ||
		s.Policy >= s.Members {
		return s, fmt.Errorf("member %d of %d, iteration %d, sequence %d, journal length %d and %d copies do not "+
			"make a member", s.Policy, s.Members, s.Iteration, s.Sequence, s.JournalLength, s.Copies)
	}
	switch s.Phase {
	case phaseTraining, phaseTrained, phaseDecided, phaseFinished:
	default:
		return s, fmt.Errorf("phase %q is none of this format", s.Phase)
	}
	if (s.Phase == phaseDecided) != (s.Pending != nil) {
		return s, fmt.Errorf("phase %q, and a pending decision: %t", s.Phase, s.Pending != nil)
	}
	if p := s.Pending; p != nil {
		if err := p.check(s); err != nil {
			return s, err
		}
	}
	if m := s.Member; m.Steps < 0 || m.parent() < -1 || m.parent() >= s.Members || m.CopiedAt < 0 ||
		max(m.CopiedAt, m.ChangedAt) > m.Steps || m.Inherited < 0 {
		return s, fmt.Errorf("environment steps %d, parent %d, took over weights of %d environment steps at %d",
			m.Steps, m.parent(), m.Inherited, m.CopiedAt)
	}
	return s, nil
}

// restored is a state as read, with the snapshots that it refers to.
type restored struct {
	state    savedState
	data     []byte               // the state as read
	snapshot *checkpoint.Snapshot // nil if there was none to keep
	source   *checkpoint.Snapshot // what a pending decision takes over
}

// names returns the names of the snapshots that a state refers to; they must not be deleted.
func (s savedState) names() []string {
	names := []string{s.Member.Snapshot}
	if s.Pending != nil {
		names = append(names, s.Pending.Snapshot)
	}
	return names
}

// files are a member's states and snapshots in its folder. The zero value, for a store in memory, keeps nothing.
type files struct {
	dir      string
	store    *checkpoint.Store
	sequence int64
	last     *restored            // the newest state
	before   *savedState          // in the file of the state before; nil if not known
	kept     string               // the name of the snapshot saved last
	keptOf   *checkpoint.Snapshot // which that is, nil if not known
}

// openFiles opens a member's folder; "" stands for none.
func openFiles(dir string) (files, error) {
	f := files{dir: dir}
	if dir == "" {
		return f, nil
	}
	var err error
	if f.store, err = checkpoint.NewStore(filepath.Join(dir, snapshotFolder), checkpoint.Options{}); err != nil {
		return f, fmt.Errorf("pbt: %w", err)
	}
	return f, nil
}

// load reads the newest state, or the one before if that is damaged; nil if there is none. damage says what is wrong
// with a newest state that was passed over. It is an error if no state can be read, or if one is of another population.
func (f *files) load(o *Options, member int) (r *restored, damage, err error) {
	if f.dir == "" {
		return nil, nil, nil
	}
	for _, name := range []string{stateFile, previousStateFile} {
		path := filepath.Join(f.dir, name)
		r, err := f.read(path, o, member)
		_, absent := os.Stat(path)
		switch {
		case err == nil:
			if name == stateFile {
				if before, _, err := readState(filepath.Join(f.dir, previousStateFile)); err == nil {
					f.before = &before
				}
			}
			return r, damage, nil
		case errors.Is(err, errOtherPopulation):
			return nil, nil, err
		case absent == nil: // a state that is missing is no damage
			damage = errors.Join(damage, err)
		}
	}
	if damage != nil {
		return nil, nil, fmt.Errorf("pbt: member %d cannot be continued; remove %s to begin it from scratch: %w",
			member, f.dir, damage)
	}
	return nil, nil, nil
}

// read reads one state file with its snapshots, and compares it with the options.
func (f *files) read(path string, o *Options, member int) (*restored, error) {
	s, data, err := readState(path)
	if err != nil {
		return nil, err
	}
	if err := o.sameRun(path, s, member); err != nil {
		return nil, err
	}
	r := &restored{state: s, data: data}
	if r.snapshot, err = f.get(s.Member.Snapshot); err == nil && s.Pending != nil {
		r.source, err = f.get(s.Pending.Snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return r, nil
}

// readState reads a state file.
func readState(path string) (s savedState, data []byte, err error) {
	if data, err = os.ReadFile(path); err != nil {
		return s, nil, fmt.Errorf("pbt: %w", err)
	}
	if s, err = decodeState(data); err != nil {
		return s, nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return s, data, nil
}

// get loads a snapshot by the name that a state has for it; "" names none. A name with a path in it is refused, because
// state files can be edited.
func (f *files) get(name string) (*checkpoint.Snapshot, error) {
	switch {
	case name == "":
		return nil, nil
	case name != filepath.Base(name):
		return nil, fmt.Errorf("%q is not the name of a snapshot", name)
	}
	saved, err := f.store.Load(name)
	if err != nil {
		return nil, err
	}
	return saved.Snapshot, nil
}

// begin makes r the state that the next save follows; nil stands for none.
func (f *files) begin(r *restored) {
	f.last = r
	if r != nil {
		f.sequence, f.kept = r.state.Sequence, r.state.Member.Snapshot
	}
}

// keep returns the name of a snapshot to refer to in the next state. It saves the snapshot, unless that is nil or is
// the one saved last; then the state refers to the same file as the one before.
func (f *files) keep(snapshot *checkpoint.Snapshot, steps int64) error {
	if snapshot == nil || snapshot == f.keptOf && f.kept != "" {
		return nil
	}
	// Snapshots of a failed save with the same number go first, so that names do not depend on failures.
	prefix := fmt.Sprintf("%06d", f.sequence+1)
	if err := f.remove(func(name string) bool {
		return strings.HasPrefix(name, prefix) && name != stem(f.kept)
	}); err != nil {
		return err
	}
	name, err := f.put(steps, snapshot)
	if err == nil {
		f.kept, f.keptOf = name, snapshot
	}
	return err
}

// put saves a snapshot for the next state and returns its file's name.
func (f *files) put(steps int64, snapshot *checkpoint.Snapshot) (string, error) {
	path, err := f.store.Save(fmt.Sprintf("%06d", f.sequence+1), steps, snapshot)
	return filepath.Base(path), err
}

// write makes s the newest state. The one before it is kept if rotate is true. At last write deletes the snapshots that
// neither of the two refers to. A crash in between leaves one whole state.
func (f *files) write(s savedState, rotate bool) error {
	data, err := durable.Seal(&s, &s.Check)
	if err != nil {
		return fmt.Errorf("pbt: state: %w", err)
	}
	if f.last != nil && rotate { // not what the file holds, which may be damaged
		if err := writeFile(filepath.Join(f.dir, previousStateFile), f.last.data); err != nil {
			return err
		}
		f.before = &f.last.state
	}
	if err := writeFile(filepath.Join(f.dir, stateFile), data); err != nil {
		return err
	}
	f.sequence, f.last = s.Sequence, &restored{state: s, data: data}
	keep := s.names()
	if f.before != nil {
		keep = append(keep, f.before.names()...)
	}
	return f.remove(func(name string) bool {
		return !slices.ContainsFunc(keep, func(file string) bool { return stem(file) == name })
	})
}

// remove deletes the snapshots whose names, without suffixes, are not wanted. The store removes its temporary files.
func (f *files) remove(unwanted func(name string) bool) error {
	entries, err := os.ReadDir(f.store.Dir())
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	for _, suffix := range []string{".json", ".safetensors"} { // data without a manifest is not reported as damaged
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), suffix)
			if !ok || strings.Contains(name, durable.Temporary) || !unwanted(name) {
				continue
			}
			if err := os.Remove(filepath.Join(f.store.Dir(), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("pbt: %w", err)
			}
		}
	}
	return nil
}

// stem returns the common part of the names of a snapshot's two files.
func stem(name string) string { return strings.TrimSuffix(name, ".safetensors") }

// writeFile replaces a file as a whole, see internal/durable.
func writeFile(path string, data []byte) error {
	if err := checkpoint.WriteFile(path, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}
