// Package peers decides what one member of a population may see of the others at the end of an interval: which of their
// published records count, and which peers more can be expected of. This is where a dead member is noticed. All of it
// is pure: it depends on a view of the store and on nothing else, so that tests need neither clocks nor processes.
package peers

import (
	"maps"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Filter says which records of its peers one member may see at the end of one of its intervals, and which peers it
// still expects something of.
type Filter struct {
	// Member is the member's number, Iteration the interval that ends.
	Member    int
	Iteration int64
	// Exact restricts the filter to records of this very iteration, as when all members wait for each other.
	Exact bool
	// Slack is how many iterations newer than its own a record may be if Exact is false.
	Slack int64
	// Rescue lets a member that failed or diverged use newer records of a peer that has none of its own age or older.
	Rescue bool
	// Minimise says that lower figures are better. Strategies see objectives, of which higher ones are better.
	Minimise bool
	// Silence is the time without a heartbeat after which a peer counts as dead. It is counted from Since at the
	// earliest: when this process joined, or when the first of the processes joined that had to wait and yielded at
	// once.
	Silence time.Duration
	Since   time.Time
	// Frames are a member's own environment steps at the end of this iteration, and Total all that it trains. Both may
	// have grown since a peer's last heartbeat.
	Frames, Total int64
	// Without are peers whose weights turned out not to be readable.
	Without map[int]bool
}

// silent reports whether a peer counts as dead: it has sent no heartbeat for longer than silence. A peer that trained
// to the end, or yielded its turn to another member, need not send any.
func (l Filter) silent(now time.Time, p workspace.MemberView) bool {
	last := l.Since
	if h := p.Heartbeat; h != nil {
		if h.Phase == workspace.Yielded || l.finished(h) {
			return false
		}
		if p.Seen.After(last) {
			last = p.Seen
		}
	}
	return now.Sub(last) > l.Silence
}

// finished reports whether a peer has trained all of the steps that this process knows of.
func (l Filter) finished(h *workspace.Heartbeat) bool {
	return h.Phase == workspace.Finished && h.Total >= l.Total
}

// Live reports whether the peer can still publish something. A peer that failed before this process joined may be about
// to be started again, like this one.
func (l Filter) Live(now time.Time, p workspace.MemberView) bool {
	if h := p.Heartbeat; h != nil && (l.finished(h) || h.Phase == workspace.Failed && p.Seen.After(l.Since)) {
		return false
	}
	return !l.silent(now, p)
}

// Record returns the record of a peer that this member may use; nil where there is none. In synchronous mode it is the
// one of this iteration; otherwise the newest of equal or less experience, with slack.
func (l Filter) Record(p workspace.MemberView) *workspace.Record {
	if l.Exact { // those who were early have gone on, perhaps with other weights
		for _, records := range [][]workspace.Record{p.Records, p.Stale} {
			for i := range records {
				if r := &records[i]; r.Iteration == l.Iteration && (r.Steps >= l.Frames || r.Failure != "") {
					return r
				}
			}
		}
		return nil
	}
	for i := range p.Records {
		if p.Records[i].Iteration <= l.Iteration+l.Slack {
			return &p.Records[i]
		}
	}
	if l.Rescue {
		for i := len(p.Records) - 1; i >= 0; i-- { // the nearest in experience
			if p.Records[i].Weights != nil {
				return &p.Records[i]
			}
		}
	}
	return nil
}

// Generation returns the population as this group may see it, and the records of peers behind it, nil if there is none.
// own are the statuses of the group's members. A peer without a usable record, and one that is silent or gave up, has
// no objective.
func (l Filter) Generation(v workspace.View, own ...strategy.Status) (strategy.Generation, []*workspace.Record) {
	n := max(len(v.Members), len(own)) // a group of all members has no view
	g := strategy.Generation{Iteration: l.Iteration, Members: make([]strategy.Status, n)}
	records := make([]*workspace.Record, n)
	for _, s := range own {
		g.Members[s.Member] = s
	}
	for i, p := range v.Members {
		if i == l.Member {
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
		if r := l.Record(p); r != nil && (l.Exact || !gone) && !l.Without[i] {
			s, records[i] = l.status(*r), r
		}
		g.Members[i] = s
	}
	return g, records
}

// signed turns a figure into an objective, of which more is better.
func (l Filter) signed(x float64) float64 {
	if l.Minimise {
		return -x
	}
	return x
}

// status returns what strategies see of the member that published a record.
func (l Filter) status(r workspace.Record) strategy.Status {
	s := strategy.Status{
		Member: r.Member, Iteration: r.Iteration, Steps: r.Steps, WeightSteps: r.WeightSteps, SinceCopy: r.SinceCopy,
		SinceChange: r.SinceCopy,
		Objective:   l.signed(r.Objective), HasObjective: r.HasObjective, Peak: l.signed(r.Peak), HasPeak: r.HasPeak,
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

// Complete reports whether every live peer has published a record of this iteration, or is past it. Synchronous members
// wait until it is true; a dead peer is not waited for.
func (l Filter) Complete(v workspace.View) bool {
	for i, p := range v.Members {
		if i == l.Member || !l.Live(v.Now, p) {
			continue
		}
		if l.Record(p) == nil && Reached(p) <= l.Iteration {
			return false
		}
	}
	return true
}

// Reached returns the interval that a peer is in, by its heartbeat and its newest records.
func Reached(p workspace.MemberView) int64 {
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

// Hopeful reports whether a peer may yet have weights worth copying: one that more can be expected of, and whose latest
// ones are not known to have diverged.
func (l Filter) Hopeful(v workspace.View) bool {
	for i, p := range v.Members {
		if i == l.Member || !l.Live(v.Now, p) {
			continue
		}
		if len(p.Records) == 0 || !l.status(p.Records[0]).Diverged() {
			return true
		}
	}
	return false
}

// Oldest returns the least iteration that any live member is in, this one included. Records older than that are not
// needed any more.
func (l Filter) Oldest(v workspace.View) int64 {
	oldest := l.Iteration
	for _, p := range v.Members {
		if p.Member != l.Member && l.Live(v.Now, p) {
			oldest = min(oldest, Reached(p))
		}
	}
	return oldest
}

// WentOn reports whether the population was at work between a time and now: at no point in between had all members been
// silent for too long.
func WentOn(v workspace.View, since time.Time, silence time.Duration) bool {
	times := []time.Time{v.Now}
	for _, p := range v.Members {
		if p.Seen.After(since) && p.Seen.Before(v.Now) {
			times = append(times, p.Seen)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, t := range times {
		if t.Sub(since) > silence {
			return false
		}
		since = t
	}
	return true
}

// News is what a member that waits for news compares: newest records and phases, but not the times of heartbeats.
func News(v workspace.View) []any {
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

// Ahead are the heartbeats with times in the future, by member.
type Ahead map[int]struct{ seen, since time.Time }

// SetBack replaces times that lie in the future, as after the store's clock was set back, by the time when they were
// first seen. Otherwise a peer that died before would count as alive until the clock has caught up. It returns the time
// when the member joined, by that clock.
func (a Ahead) SetBack(v *workspace.View, joined time.Time) time.Time {
	for i := range v.Members {
		p := &v.Members[i]
		if !p.Seen.After(v.Now) {
			continue
		}
		if !a[i].seen.Equal(p.Seen) {
			a[i] = struct{ seen, since time.Time }{p.Seen, v.Now}
		}
		p.Seen = a[i].since
	}
	if joined.After(v.Now) {
		return v.Now
	}
	return joined
}
