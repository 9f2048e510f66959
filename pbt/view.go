package pbt

import (
	"maps"
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
	// measure turns figures into objectives, of which more is better.
	measure Measure
	// silence is how long a policy may be silent, counted from since at the earliest: when this process joined, or the
	// first of those that have had to wait and yielded at once.
	silence time.Duration
	since   time.Time
	// frames are a policy's own steps at the end of this iteration, total all that it trains. Both may have grown since
	// a policy was last heard of.
	frames, total int64
	// without are policies whose weights turned out not to be readable.
	without map[int]bool
}

// silent reports whether nothing has been heard of a policy for too long. One that trained to the end, or gave its place
// to another for a while, has no need to be heard.
func (l look) silent(now time.Time, p workspace.MemberView) bool {
	last := l.since
	if h := p.Heartbeat; h != nil {
		if h.Phase == workspace.Yielded || l.finished(h) {
			return false
		}
		if p.Seen.After(last) {
			last = p.Seen
		}
	}
	return now.Sub(last) > l.silence
}

// finished reports whether a policy trained as far as all are to.
func (l look) finished(h *workspace.Heartbeat) bool {
	return h.Phase == workspace.Finished && h.Total >= l.total
}

// live reports whether more can be expected of a policy. One that failed before this process joined may be about to be
// started again like this one.
func (l look) live(now time.Time, p workspace.MemberView) bool {
	if h := p.Heartbeat; h != nil && (l.finished(h) || h.Phase == workspace.Failed && p.Seen.After(l.since)) {
		return false
	}
	return !l.silent(now, p)
}

// record is the one of a policy's records that may be looked at; nil where there is none.
func (l look) record(p workspace.MemberView) *workspace.Record {
	if l.exact { // those who were early have gone on, perhaps with other weights
		for _, records := range [][]workspace.Record{p.Records, p.Stale} {
			for i := range records {
				if r := &records[i]; r.Iteration == l.iteration && (r.Steps >= l.frames || r.Failure != "") {
					return r
				}
			}
		}
		return nil
	}
	for i := range p.Records {
		if p.Records[i].Iteration <= l.iteration+l.slack {
			return &p.Records[i]
		}
	}
	if l.rescue {
		for i := len(p.Records) - 1; i >= 0; i-- { // the nearest in experience
			if p.Records[i].Weights != nil {
				return &p.Records[i]
			}
		}
	}
	return nil
}

// generation is the population as own's policy may see it, and the records behind it by policy, nil where there is none.
// It is a pure function of its arguments. A policy without a record that may be seen, and one that has been silent for
// too long or given up, has no objective.
func (l look) generation(v workspace.View, own Status) (Generation, []*workspace.Record) {
	g := Generation{Iteration: l.iteration, Members: make([]Status, len(v.Members))}
	records := make([]*workspace.Record, len(v.Members))
	for i, p := range v.Members {
		if i == l.policy {
			g.Members[i] = own
			continue
		}
		s := Status{Member: i}
		if h := p.Heartbeat; h != nil {
			s.Steps, s.Hyperparameters = h.Steps, maps.Clone(h.Hyperparameters)
		}
		gone := p.Heartbeat == nil && len(p.Records) == 0 || l.silent(v.Now, p) || p.Heartbeat != nil && p.Heartbeat.Phase == workspace.Failed
		s.Absent = gone
		// A record of this very iteration counts whatever became of its policy since, so that all decide alike.
		if r := l.record(p); r != nil && (l.exact || !gone) && !l.without[i] {
			s, records[i] = l.status(*r), r
		}
		g.Members[i] = s
	}
	return g, records
}

// status is what a record says of its policy.
func (l look) status(r workspace.Record) Status {
	s := Status{
		Member: r.Member, Iteration: r.Iteration, Steps: r.Steps, WeightSteps: r.WeightSteps, SinceCopy: r.SinceCopy, SinceChange: r.SinceCopy,
		Objective: l.measure.signed(r.Objective), HasObjective: r.HasObjective,
		Peak: l.measure.signed(r.Peak), HasPeak: r.HasPeak,
		Samples: r.Samples, Hyperparameters: maps.Clone(r.Hyperparameters),
	}
	if r.SinceChange > 0 {
		s.SinceChange = r.SinceChange
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

// complete reports whether every policy that more can be expected of has a record of this very iteration, or is beyond it.
func (l look) complete(v workspace.View) bool {
	for i, p := range v.Members {
		if i == l.policy || !l.live(v.Now, p) {
			continue
		}
		if l.record(p) == nil && reached(p) <= l.iteration {
			return false
		}
	}
	return true
}

// reached is the interval that a policy is in, as far as is known.
func reached(p workspace.MemberView) int64 {
	reached := int64(0)
	if p.Heartbeat != nil {
		reached = p.Heartbeat.Iteration
	}
	for _, records := range [][]workspace.Record{p.Records, p.Stale} {
		if len(records) > 0 {
			reached = max(reached, records[0].Iteration)
		}
	}
	return reached
}

// hopeful reports whether a peer may yet have weights worth copying: one that more can be expected of, and whose latest
// ones are not known to have diverged.
func (l look) hopeful(v workspace.View) bool {
	for i, p := range v.Members {
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
	for _, p := range v.Members {
		if p.Member != l.policy && l.live(v.Now, p) {
			oldest = min(oldest, reached(p))
		}
	}
	return oldest
}

// news are what makes two views differ for somebody who waits: newest records and phases, not heartbeats.
func news(v workspace.View) []any {
	var n []any
	for _, p := range v.Members {
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
