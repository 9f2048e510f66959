// Package journalcheck replays journals for tests: it finds events that contradict each other.
package journalcheck

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Standing is where a journal leaves a member.
type Standing struct {
	Member int
	// Iteration is that of the member's last event, Steps its own environment steps then.
	Iteration, Steps int64
	// Parent is the member whose weights it took over last, -1 for none; Copies how often it took over weights.
	Parent int
	Copies int64
	// Objective is the last one known of the present weights; it means something where HasObjective is true.
	Objective    float64
	HasObjective bool
	// Hyperparameters are those in effect after its last event.
	Hyperparameters map[string]float64
	// Failed is true where its training failed and nobody has rescued it, Final where it trained to the end.
	Failed, Final bool
}

// Replay goes through a whole journal and returns where it leaves every member, in order of their numbers. A
// contradiction is an error that names the event: one that stands there twice or goes back in time, one of a member
// that had already trained to the end, a replacement of a member by itself or by a member that never started.
func Replay(events []journal.Event) ([]Standing, error) {
	if len(events) == 0 || events[0].Run == nil {
		return nil, errors.New("pbt: a replay begins with the event of the population; give the whole journal")
	}
	members := events[0].Run.Members
	if members < 1 || members > journal.MaxMembers {
		return nil, fmt.Errorf("pbt: the journal is of a population of %d; there can be 1 to %d", members,
			journal.MaxMembers)
	}
	r := replay{standings: make([]Standing, 0, min(members, len(events))), started: make(map[int]int),
		settled: make(map[int]int64), members: members}
	for i, e := range events[1:] {
		if err := r.add(e); err != nil {
			return nil, fmt.Errorf("pbt: event %d (%s, iteration %d, member %d): %w", i+2, e.Kind, e.Iteration,
				e.Member, err)
		}
	}
	for _, c := range r.sources {
		if _, ok := r.started[c]; !ok {
			return nil, fmt.Errorf("pbt: member %d is copied and has no event of its own", c)
		}
	}
	slices.SortFunc(r.standings, func(a, b Standing) int { return a.Member - b.Member })
	return r.standings, nil
}

type replay struct {
	members   int
	standings []Standing
	started   map[int]int   // where in standings a member is
	settled   map[int]int64 // the last iteration in which the member's fate was decided
	sources   []int
}

func (r *replay) add(e journal.Event) error {
	switch {
	case e.Run != nil:
		return errors.New("the population is described twice")
	case e.Member < 0 || e.Member >= r.members || e.Parent >= r.members:
		return fmt.Errorf("member %d and parent %d do not belong to a population of %d", e.Member, e.Parent, r.members)
	}
	at, ok := r.started[e.Member]
	if e.Kind == journal.Start {
		if ok {
			return errors.New("the member starts twice")
		}
		r.started[e.Member] = len(r.standings)
		r.standings = append(r.standings, Standing{Member: e.Member, Parent: -1, Hyperparameters: maps.Clone(e.After)})
		return nil
	}
	if !ok {
		return errors.New("the member never started")
	}
	s := &r.standings[at]
	switch {
	case s.Final:
		return errors.New("the member had trained to the end")
	case e.Iteration < s.Iteration || e.Steps < s.Steps:
		return fmt.Errorf("the member was at iteration %d with %d environment steps before, and is at %d with %d",
			s.Iteration, s.Steps, e.Iteration, e.Steps)
	}
	switch e.Kind {
	case journal.Keep, journal.Replace, journal.SelfMutate:
		if settled, ok := r.settled[e.Member]; ok && settled >= e.Iteration {
			return errors.New("something was decided twice")
		}
		r.settled[e.Member] = e.Iteration
	}
	s.Iteration, s.Steps = e.Iteration, e.Steps
	if e.Before != nil {
		s.Hyperparameters = maps.Clone(e.Before)
	}
	if e.After != nil {
		s.Hyperparameters = maps.Clone(e.After)
	}
	s.Objective, s.HasObjective = e.Objective, e.HasObjective
	switch e.Kind {
	case journal.Replace:
		if e.Parent == e.Member {
			return errors.New("the member is replaced by itself")
		}
		r.sources = append(r.sources, e.Parent)
		s.Parent, s.Failed = e.Parent, false
		s.Copies++
		s.Objective, s.HasObjective = 0, false
	case journal.Failed:
		s.Failed = true
	case journal.Final:
		s.Final = true
	}
	return nil
}
