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

	settled int64 // the last iteration in which its fate was decided
}

// Replay goes through a whole journal and returns where it leaves every member, in order of their numbers. A
// contradiction is an error that names the event: one that stands there twice or goes back in time, one of a member
// that had already trained to the end, a replacement of a member by itself or by a member that never started.
func Replay(events []journal.Event) ([]Standing, error) {
	if len(events) == 0 || events[0].Run == nil {
		return nil, errors.New("pbt: a replay begins with the event of the population; give the whole journal")
	}
	r := replay{members: events[0].Run.Members, standings: map[int]*Standing{}}
	for i, e := range events[1:] {
		if err := r.add(e); err != nil {
			return nil, fmt.Errorf("pbt: event %d (%s, iteration %d, member %d): %w", i+2, e.Kind, e.Iteration,
				e.Member, err)
		}
	}
	for _, c := range r.sources {
		if r.standings[c] == nil {
			return nil, fmt.Errorf("pbt: member %d is copied and has no event of its own", c)
		}
	}
	var all []Standing
	for _, id := range slices.Sorted(maps.Keys(r.standings)) {
		all = append(all, *r.standings[id])
	}
	return all, nil
}

type replay struct {
	members   int
	standings map[int]*Standing
	sources   []int
}

func (r *replay) add(e journal.Event) error {
	switch {
	case e.Run != nil:
		return errors.New("the population is described twice")
	case e.Member < 0 || e.Member >= r.members || e.Parent >= r.members:
		return fmt.Errorf("member %d and parent %d do not belong to a population of %d", e.Member, e.Parent, r.members)
	}
	s := r.standings[e.Member]
	switch start := e.Kind == journal.Start; {
	case start && s != nil:
		return errors.New("the member starts twice")
	case start:
		r.standings[e.Member] = &Standing{Member: e.Member, Parent: -1, Hyperparameters: maps.Clone(e.After),
			settled: -1}
		return nil
	case s == nil:
		return errors.New("the member never started")
	case s.Final:
		return errors.New("the member had trained to the end")
	case e.Iteration < s.Iteration || e.Steps < s.Steps:
		return fmt.Errorf("the member was at iteration %d with %d environment steps before, and is at %d with %d",
			s.Iteration, s.Steps, e.Iteration, e.Steps)
	}
	switch e.Kind {
	case journal.Keep, journal.Replace, journal.SelfMutate:
		if s.settled >= e.Iteration {
			return errors.New("something was decided twice")
		}
		s.settled = e.Iteration
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
