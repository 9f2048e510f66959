// Package journal records what a population decides, one JSON object a line, and reads it back.
//
// A population appends the events of an interval with one write and one sync, after they have happened and before the
// state that follows from them is saved ([Writer]). What a reader finds is therefore at most one interval ahead of the
// state, and never behind it. The next run drops events that its state does not know.
//
// Every member has a journal in its own folder; [Read] merges those of a population's folder. [NewHistory] sorts events
// by member: curves, copies, and the ancestry of weights.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
)

// Kind is what happened to a member.
type Kind string

// The kinds of events in a journal.
const (
	// Population is the first line; its Run says what population this is.
	Population Kind = "population"
	// Start is a member before training; After holds its hyperparameters, and Before those it had before
	// pbt.Options.Diversify mutated them.
	Start Kind = "start"
	// Keep, Replace and SelfMutate are applied decisions. After holds the hyperparameters in effect afterwards where
	// something changed.
	Keep       Kind = "keep"
	Replace    Kind = "replace"
	SelfMutate Kind = "self-mutate"
	// ApplyFailed is a decision that could not be applied; Cause says why. The member is as it was before.
	ApplyFailed Kind = "apply-failed"
	// Failed is a member whose training ended in an error or a panic.
	Failed Kind = "failed"
	// Diverged is a member that trains although its weights are not finite, whatever its objective is.
	Diverged Kind = "diverged"
	// Hopeless is a member at the end of a run that was given up because every member had failed or diverged.
	Hopeless Kind = "hopeless"
	// Final is a member at the end of training.
	Final Kind = "final"
)

// MaxMembers is the largest population that a journal may describe: it bounds what a damaged journal makes its reader
// allocate.
const MaxMembers = 1 << 16

// Schema is the version of the journal's format.
const Schema = 1

// Event is one line of a journal: what happened to one member at one moment.
type Event struct {
	Kind Kind
	// Iteration is the interval at whose end this happened; 0 before training.
	Iteration int64
	// Member is the member concerned, Parent the one whose weights it took, or was to take; -1 for none.
	Member, Parent int
	// Steps is the number of environment steps the member had trained, ParentSteps the same of the parent.
	Steps, ParentSteps int64
	// Objective is the member's figure as it was measured before the decision; it means something where HasObjective is
	// true. RunInfo.Minimise says whether more or less of it is better.
	Objective    float64
	HasObjective bool
	// Before and After are the member's hyperparameters; After is nil if nothing changed.
	Before, After map[string]float64
	// Mutation is what pbt.Options.Evolve did, e.g. "learning_rate" or "head.add_node(layer 0, 32)", and Architecture
	// describes the networks that the member has afterwards. Both are empty for populations that do not evolve.
	Mutation, Architecture string
	// Rebuilt is true if the member was built again through pbt.Options.New.
	Rebuilt bool
	// Seed is the member's, in Start.
	Seed int64
	// Cause explains the event to people: the strategy's reason, or the error. Programs must not parse it.
	Cause string
	// SelfPlay is set in decisions and in Final if members play against each other.
	SelfPlay *SelfPlay
	// Run is set in Population only.
	Run *RunInfo
}

// SelfPlay is whom a member met in the interval that ended, and its Elo rating after these games, before the decision.
type SelfPlay struct {
	Rating float64 `json:"rating"`
	Games  []Games `json:"games,omitempty"`
}

// Games are the games of one interval against one opponent.
type Games struct {
	// Opponent and Interval say whose weights these were, and at the end of which interval. The random player is member
	// -1 at interval 0. Past is true if they were a past self of the lineage.
	Opponent int   `json:"opponent"`
	Interval int64 `json:"interval"`
	Past     bool  `json:"past,omitempty"`
	// Games counts all games, Wins and Draws those that the member won or drew.
	Games int `json:"games"`
	Wins  int `json:"wins"`
	Draws int `json:"draws,omitempty"`
}

// RunInfo says what population a journal belongs to.
type RunInfo struct {
	Schema        int    `json:"schema"`
	Members       int    `json:"members"`
	Objective     string `json:"objective"`
	IntervalSteps int64  `json:"interval_steps"`
	Seed          int64  `json:"seed"`
	// Minimise is true if less of the objective is better.
	Minimise bool `json:"minimise,omitempty"`
	// Strategy is for people.
	Strategy string `json:"strategy"`
	// Tuned are the hyperparameters that were set, sampled or mutated, sorted.
	Tuned []string `json:"tuned,omitempty"`
}

// line is an Event as JSON. Member and Parent are pointers so that member 0 is written and "no parent" is not.
type line struct {
	Event        Kind         `json:"event"`
	Iteration    int64        `json:"iteration"`
	Member       *int         `json:"member,omitempty"`
	Parent       *int         `json:"parent,omitempty"`
	Steps        int64        `json:"steps"`
	ParentSteps  int64        `json:"parent_steps,omitempty"`
	Objective    *number.JSON `json:"objective,omitempty"`
	Before       number.Map   `json:"before,omitempty"`
	After        number.Map   `json:"after,omitempty"`
	Mutation     string       `json:"mutation,omitempty"`
	Architecture string       `json:"architecture,omitempty"`
	Rebuilt      bool         `json:"rebuilt,omitempty"`
	Seed         int64        `json:"seed,omitempty"`
	Cause        string       `json:"cause,omitempty"`
	SelfPlay     *SelfPlay    `json:"self_play,omitempty"`
	Run          *RunInfo     `json:"run,omitempty"`
}

// MarshalJSON writes the event as one JSON object; NaN and infinities become strings.
func (e Event) MarshalJSON() ([]byte, error) {
	l := line{
		Event: e.Kind, Iteration: e.Iteration, Steps: e.Steps, Objective: number.Optional(e.Objective, e.HasObjective),
		Before: e.Before, After: e.After, Mutation: e.Mutation, Architecture: e.Architecture,
		Rebuilt: e.Rebuilt, Seed: e.Seed, Cause: e.Cause, SelfPlay: e.SelfPlay, Run: e.Run,
	}
	if e.Run == nil {
		l.Member = &e.Member
		if e.Parent >= 0 {
			l.Parent, l.ParentSteps = &e.Parent, e.ParentSteps
		}
	}
	return json.Marshal(l)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses combinations that no population writes, such as a replacement
// without a parent, so that readers need not check them again.
func (e *Event) UnmarshalJSON(data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	*e = Event{Kind: l.Event, Iteration: l.Iteration, Member: -1, Parent: -1, Steps: l.Steps, Seed: l.Seed,
		ParentSteps: l.ParentSteps, Before: l.Before, After: l.After, Mutation: l.Mutation,
		Architecture: l.Architecture, Rebuilt: l.Rebuilt, Cause: l.Cause, SelfPlay: l.SelfPlay, Run: l.Run}
	if l.Member != nil {
		e.Member = *l.Member
	}
	if l.Parent != nil {
		e.Parent = *l.Parent
	}
	wrong := ""
	switch {
	case !slices.Contains([]Kind{Population, Start, Keep, Replace, SelfMutate, ApplyFailed, Failed, Diverged, Hopeless,
		Final}, e.Kind):
		wrong = "is none of this format"
	case e.Kind == Population && (l.Run == nil || l.Member != nil || l.Parent != nil):
		wrong = "has no run, or a member or a parent"
	case e.Kind != Population && (l.Member == nil || e.Member < 0):
		wrong = "has no member of 0 or more"
	case e.Kind != Population && l.Run != nil:
		wrong = fmt.Sprintf("has a run, which belongs to %q", Population)
	case l.Parent != nil && e.Parent < 0:
		wrong = fmt.Sprintf("has parent %d", e.Parent)
	case e.Parent < 0 && e.ParentSteps != 0:
		wrong = "has a parent's environment steps and no parent"
	case e.Kind == Replace && e.Parent < 0:
		wrong = "has no parent"
	case e.SelfPlay != nil && slices.ContainsFunc(e.SelfPlay.Games, func(g Games) bool {
		return min(g.Games, g.Wins, g.Draws) < 0 || g.Wins+g.Draws > g.Games
	}):
		wrong = fmt.Sprintf("has numbers of games that contradict each other: %+v", e.SelfPlay.Games)
	case min(e.Iteration, e.Steps, e.ParentSteps) < 0:
		wrong = "has a negative iteration or number of environment steps"
	}
	if wrong != "" {
		return fmt.Errorf("event %q %s", e.Kind, wrong)
	}
	e.Objective, e.HasObjective = l.Objective.Known()
	return nil
}

// File is the journal's name in a member's folder.
const File = "journal.jsonl"

// Writer appends events to a file, or, without one, keeps them in memory. Events and Length are only to be read.
type Writer struct {
	path   string
	file   *os.File // nil: memory only
	Length int64
	Events []Event
}

// Open opens the journal in dir for appending after its first keep bytes, which are what the saved state knows of.
// Bytes after them are dropped: an interrupted run wrote them after its last saved state, and the run that continues
// decides again. An empty dir keeps events in memory only. It is an error if the file is shorter than keep, since
// events that the state builds on are lost then.
func Open(dir string, keep int64) (j *Writer, err error) {
	if dir == "" {
		return &Writer{}, nil
	}
	path := filepath.Join(dir, File)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	if info.Size() < keep {
		return nil, fmt.Errorf("pbt: %s is shorter than the %d bytes that the saved state knows of: it has %d; "+
			"restore it or choose another directory", path, keep, info.Size())
	}
	events, err := Decode(io.LimitReader(file, keep))
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	if info.Size() > keep {
		err = file.Truncate(keep)
	}
	if err := errors.Join(err, file.Sync(), durable.SyncDir(dir)); err != nil {
		return nil, fmt.Errorf("pbt: journal: %w", err)
	}
	return &Writer{path: path, file: file, Length: keep, Events: events}, nil
}

// Ended reports whether a member's journal records the end of training after its first keep bytes. It returns the
// journal's length and true, otherwise keep and false.
func Ended(dir string, keep int64) (length int64, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || int64(len(text)) < keep || !bytes.HasSuffix(text, []byte("\n")) {
		return keep, false
	}
	events, err := Decode(bytes.NewReader(text[keep:]))
	if err != nil || !slices.ContainsFunc(events, func(e Event) bool { return e.Kind == Final }) {
		return keep, false
	}
	return int64(len(text)), true
}

// Append writes events with one write and one sync. If that fails the file is cut back to its length before, so that
// it never holds a part of what was appended.
func (j *Writer) Append(events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	if j.file != nil {
		var lines []byte
		for _, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("pbt: journal: %w", err)
			}
			lines = append(append(lines, data...), '\n')
		}
		_, err := j.file.WriteAt(lines, j.Length)
		if err == nil {
			err = j.file.Sync()
		}
		if err != nil {
			return fmt.Errorf("pbt: %s: %w", j.path, errors.Join(err, j.file.Truncate(j.Length)))
		}
		j.Length += int64(len(lines))
	}
	j.Events = append(j.Events, events...)
	return nil
}

// Close closes the journal's file. It may be called twice.
func (j *Writer) Close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}
