package pbt

import (
	"maps"
	"math"
	"time"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// look says how one policy looks at a board: at the end of which of its intervals, and what it may see.
type look struct {
	policy    int
	iteration int64
	// exact restricts it to records of this very iteration, as when all wait for each other.
	exact bool
	// slack is how many iterations newer than its own a record may be where exact is false.
	slack int64
	// rescue lets a policy that is lost look at newer records where a peer has none of its age or older.
	rescue bool
	// minimise turns objectives, so that higher is better.
	minimise bool
	// silence is how long a policy may be silent, counted from since at the earliest.
	silence time.Duration
	since   time.Time
	// without are policies whose weights turned out not to be readable.
	without map[int]bool
}

// silent reports whether nothing has been heard of a policy for too long. One that ended properly, or gave its place to
// another for a while, has no need to be heard.
func (l look) silent(now time.Time, p workspace.PolicyView) bool {
	last := l.since
	if h := p.Heartbeat; h != nil {
		switch h.Phase {
		case workspace.Yielded, workspace.Finished:
			return false
		}
		if p.Seen.After(last) {
			last = p.Seen
		}
	}
	return now.Sub(last) > l.silence
}

// live reports whether more can be expected of a policy.
func (l look) live(now time.Time, p workspace.PolicyView) bool {
	if h := p.Heartbeat; h != nil && (h.Phase == workspace.Finished || h.Phase == workspace.Failed) {
		return false
	}
	return !l.silent(now, p)
}

// record is the one of a policy's records, newest first, that may be looked at; nil where there is none.
func (l look) record(records []workspace.Record) *workspace.Record {
	for i := range records {
		switch r := &records[i]; {
		case l.exact && r.Iteration == l.iteration:
			return r
		case !l.exact && r.Iteration <= l.iteration+l.slack:
			return r
		}
	}
	if l.rescue && !l.exact {
		for i := len(records) - 1; i >= 0; i-- { // the nearest in experience
			if records[i].Weights != nil {
				return &records[i]
			}
		}
	}
	return nil
}

// generation is the population as own's policy may see it, and the records behind it by policy, nil where there is none.
// It is a pure function of its arguments. A policy without a record that may be seen, and one that has been silent for
// too long or given up, has no objective.
func (l look) generation(v workspace.View, own Status) (Generation, []*workspace.Record) {
	g := Generation{Iteration: l.iteration, Members: make([]Status, len(v.Policies))}
	records := make([]*workspace.Record, len(v.Policies))
	for i, p := range v.Policies {
		if i == l.policy {
			g.Members[i] = own
			continue
		}
		s := Status{Member: i}
		if h := p.Heartbeat; h != nil {
			s.Steps, s.Hyperparameters = h.Frame, maps.Clone(h.Params)
		}
		gone := p.Heartbeat == nil && len(p.Records) == 0 || l.silent(v.Now, p) || p.Heartbeat != nil && p.Heartbeat.Phase == workspace.Failed
		s.Absent = gone
		// A record of this very iteration counts whatever became of its policy since, so that all decide alike.
		if r := l.record(p.Records); r != nil && (l.exact || !gone) && !l.without[i] {
			s, records[i] = l.status(*r), r
		}
		g.Members[i] = s
	}
	return g, records
}

// status is what a record says of its policy.
func (l look) status(r workspace.Record) Status {
	s := Status{
		Member: r.Policy, Iteration: r.Iteration, Steps: r.Frame, WeightSteps: r.WeightFrame, SinceCopy: r.SinceCopy,
		Objective: oriented(r.Objective, l.minimise), HasObjective: r.HasObjective,
		Peak: oriented(r.Peak, l.minimise), HasPeak: r.HasPeak,
		Samples: r.Samples, Hyperparameters: maps.Clone(r.Params),
	}
	switch {
	case r.Failure != "" && !r.HasObjective:
		s.Failed = true
	case r.Weights == nil && r.HasObjective && finite(r.Objective): // nothing that could be copied
		s.HasObjective = false
	}
	if !s.HasObjective {
		s.Objective = 0
	}
	if !s.HasPeak {
		s.Peak = 0
	}
	return s
}

// oriented is a figure as higher-is-better, and the other way round.
func oriented(figure float64, minimise bool) float64 {
	if minimise && !math.IsNaN(figure) {
		return -figure
	}
	return figure
}

// complete reports whether every policy that more can be expected of has a record of this very iteration, or is beyond it.
func (l look) complete(v workspace.View) bool {
	for i, p := range v.Policies {
		if i == l.policy || !l.live(v.Now, p) {
			continue
		}
		if l.record(p.Records) == nil && reached(p) <= l.iteration {
			return false
		}
	}
	return true
}

// passed reports whether every policy that more can be expected of has decided in this iteration.
func (l look) passed(v workspace.View) bool {
	for i, p := range v.Policies {
		if i != l.policy && l.live(v.Now, p) && reached(p) <= l.iteration {
			return false
		}
	}
	return true
}

// reached is the interval that a policy is in, as far as is known.
func reached(p workspace.PolicyView) int64 {
	reached := int64(0)
	if p.Heartbeat != nil {
		reached = p.Heartbeat.Iteration
	}
	if len(p.Records) > 0 {
		reached = max(reached, p.Records[0].Iteration)
	}
	return reached
}

// hopeful reports whether a peer may yet have weights worth copying: one that more can be expected of, and whose latest
// ones are not known to have diverged.
func (l look) hopeful(v workspace.View) bool {
	for i, p := range v.Policies {
		if i == l.policy || !l.live(v.Now, p) {
			continue
		}
		if len(p.Records) == 0 || !l.status(p.Records[0]).Diverged() {
			return true
		}
	}
	return false
}

// oldest is the least iteration among the newest records of all policies that more can be expected of, own included.
func (l look) oldest(v workspace.View) int64 {
	oldest := l.iteration
	for _, p := range v.Policies {
		if p.Policy != l.policy && l.live(v.Now, p) {
			oldest = min(oldest, reached(p))
		}
	}
	return oldest
}

// news are what makes two views differ for somebody who waits: newest records and phases, not heartbeats.
func news(v workspace.View) []any {
	var n []any
	for _, p := range v.Policies {
		var phase workspace.Phase
		copies, iteration := int64(-1), int64(-1)
		if p.Heartbeat != nil {
			phase, copies = p.Heartbeat.Phase, p.Heartbeat.Copies
		}
		if len(p.Records) > 0 {
			iteration = p.Records[0].Iteration
		}
		n = append(n, phase, copies, iteration)
	}
	return n
}
