package pbt

import (
	"maps"
	"time"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// peerFilter says which records of its peers one member may see at the end of one of its intervals, and which peers it
// still expects something of: this is where a dead member is noticed. Its methods are pure functions of a view of the
// store, so that tests need neither clocks nor processes.
type peerFilter struct {
	member    int
	iteration int64
	// exact restricts it to records of this very iteration, as when all wait for each other.
	exact bool
	// slack is how many iterations newer than its own a record may be where exact is false.
	slack int64
	// rescue lets a member that failed or diverged use newer records of a peer that has none of its own age or older.
	rescue bool
	// measure turns figures into objectives, of which more is better.
	measure Measure
	// silence is the time without a heartbeat after which a peer counts as dead. It is counted from since at the
	// earliest: when this process joined, or when the first of the processes joined that had to wait and yielded at
	// once.
	silence time.Duration
	since   time.Time
	// frames are a member's own environment steps at the end of this iteration, and total all that it trains. Both may
	// have grown since a peer's last heartbeat.
	frames, total int64
	// without are peers whose weights turned out not to be readable.
	without map[int]bool
}

// silent reports whether a peer counts as dead: it has sent no heartbeat for longer than silence. A peer that trained
// to the end, or yielded its turn to another member, need not send any.
func (l peerFilter) silent(now time.Time, p workspace.MemberView) bool {
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

// finished reports whether a peer has trained all of the steps that this process knows of.
func (l peerFilter) finished(h *workspace.Heartbeat) bool {
	return h.Phase == workspace.Finished && h.Total >= l.total
}

// live reports whether the peer can still publish something. A peer that failed before this process joined may be about
// to be started again, like this one.
func (l peerFilter) live(now time.Time, p workspace.MemberView) bool {
	if h := p.Heartbeat; h != nil && (l.finished(h) || h.Phase == workspace.Failed && p.Seen.After(l.since)) {
		return false
	}
	return !l.silent(now, p)
}

// record returns the record of a peer that this member may use; nil where there is none. In synchronous mode it is the
// one of this iteration; otherwise the newest of equal or less experience, with slack.
func (l peerFilter) record(p workspace.MemberView) *workspace.Record {
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

// generation returns the population as this group may see it, and the records of peers behind it, nil if there is none.
// own are the statuses of the group's members. A peer without a usable record, and one that is silent or gave up, has
// no objective.
func (l peerFilter) generation(v workspace.View, own ...strategy.Status) (strategy.Generation, []*workspace.Record) {
	n := max(len(v.Members), len(own)) // a group of all members has no view
	g := strategy.Generation{Iteration: l.iteration, Members: make([]strategy.Status, n)}
	records := make([]*workspace.Record, n)
	for _, s := range own {
		g.Members[s.Member] = s
	}
	for i, p := range v.Members {
		if i == l.member {
			continue
		}
		// A peer without a record is known by its heartbeat only: strategies see its steps and hyperparameters, for
		// tables and for decisions that name it in From, but no objective.
		s := strategy.Status{Member: i}
		if h := p.Heartbeat; h != nil {
			s.Steps, s.Hyperparameters = h.Steps, maps.Clone(h.Hyperparameters)
		}
		gone := p.Heartbeat == nil && len(p.Records) == 0 || l.silent(v.Now, p) || p.Heartbeat != nil &&
			p.Heartbeat.Phase == workspace.Failed
		s.Absent = gone
		// In synchronous mode a record of this iteration counts even if its member has died since: all members must
		// decide from the same records.
		if r := l.record(p); r != nil && (l.exact || !gone) && !l.without[i] {
			s, records[i] = l.status(*r), r
		}
		g.Members[i] = s
	}
	return g, records
}

// status returns what strategies see of the member that published a record.
func (l peerFilter) status(r workspace.Record) strategy.Status {
	s := strategy.Status{
		Member: r.Member, Iteration: r.Iteration, Steps: r.Steps, WeightSteps: r.WeightSteps, SinceCopy: r.SinceCopy,
		SinceChange: r.SinceCopy,
		Objective:   l.measure.signed(r.Objective), HasObjective: r.HasObjective,
		Peak: l.measure.signed(r.Peak), HasPeak: r.HasPeak,
		Samples: r.Samples, Hyperparameters: maps.Clone(r.Hyperparameters),
	}
	if r.SinceChange > 0 {
		s.SinceChange = r.SinceChange
	}
	// A failed peer publishes no weights: with an objective that is not finite it diverged, without one its training
	// ended in an error. A finite objective without weights was published by a process that could not take a snapshot.
	switch {
	case r.Failure != "" && !r.HasObjective:
		s.Failed = true
	case r.Weights == nil && r.HasObjective && number.Finite(r.Objective): // nothing that could be copied
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

// complete reports whether every live peer has published a record of this iteration, or is past it. Synchronous members
// wait until it is true; a dead peer is not waited for.
func (l peerFilter) complete(v workspace.View) bool {
	for i, p := range v.Members {
		if i == l.member || !l.live(v.Now, p) {
			continue
		}
		if l.record(p) == nil && reached(p) <= l.iteration {
			return false
		}
	}
	return true
}

// reached returns the interval that a peer is in, by its heartbeat and its newest records.
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
func (l peerFilter) hopeful(v workspace.View) bool {
	for i, p := range v.Members {
		if i == l.member || !l.live(v.Now, p) {
			continue
		}
		if len(p.Records) == 0 || !l.status(p.Records[0]).Diverged() {
			return true
		}
	}
	return false
}

// oldest returns the least iteration that any live member is in, this one included. Records older than that are not
// needed any more.
func (l peerFilter) oldest(v workspace.View) int64 {
	oldest := l.iteration
	for _, p := range v.Members {
		if p.Member != l.member && l.live(v.Now, p) {
			oldest = min(oldest, reached(p))
		}
	}
	return oldest
}
