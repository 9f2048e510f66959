package pbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// look says how one policy looks at a board: at the end of which of its intervals, and what it may see.
type peerFilter struct {
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

// finished reports whether a policy trained as far as all are to.
func (l peerFilter) finished(h *workspace.Heartbeat) bool {
	return h.Phase == workspace.Finished && h.Total >= l.total
}

// live reports whether more can be expected of a policy. One that failed before this process joined may be about to be
// started again like this one.
func (l peerFilter) live(now time.Time, p workspace.MemberView) bool {
	if h := p.Heartbeat; h != nil && (l.finished(h) || h.Phase == workspace.Failed && p.Seen.After(l.since)) {
		return false
	}
	return !l.silent(now, p)
}

// record is the one of a policy's records that may be looked at; nil where there is none.
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

// generation is the population as own's policy may see it, and the records behind it by policy, nil where there is none.
// It is a pure function of its arguments. A policy without a record that may be seen, and one that has been silent for
// too long or given up, has no objective.
func (l peerFilter) generation(v workspace.View, own strategy.Status) (strategy.Generation, []*workspace.Record) {
	g := strategy.Generation{Iteration: l.iteration, Members: make([]strategy.Status, len(v.Members))}
	records := make([]*workspace.Record, len(v.Members))
	for i, p := range v.Members {
		if i == l.policy {
			g.Members[i] = own
			continue
		}
		s := strategy.Status{Member: i}
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
func (l peerFilter) status(r workspace.Record) strategy.Status {
	s := strategy.Status{
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

// complete reports whether every policy that more can be expected of has a record of this very iteration, or is beyond it.
func (l peerFilter) complete(v workspace.View) bool {
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
func (l peerFilter) hopeful(v workspace.View) bool {
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
func (l peerFilter) oldest(v workspace.View) int64 {
	oldest := l.iteration
	for _, p := range v.Members {
		if p.Member != l.policy && l.live(v.Now, p) {
			oldest = min(oldest, reached(p))
		}
	}
	return oldest
}

// news are what makes two views differ for somebody who waits: newest records and phases, not heartbeats.
func changes(v workspace.View) []any {
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

// The first and the longest pause of somebody who waits.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 2 * time.Second
)

// waiter pauses ever longer.
type waiter struct {
	s     *Worker
	pause time.Duration
	told  bool
	brief bool // the wait is not for others
}

// wait pauses and then returns the board as it stands, or the context's cause. A policy that takes turns with others
// yields instead of waiting for them.
func (w *waiter) wait(ctx context.Context) (workspace.View, error) {
	if !w.brief && w.s.cfg.Slice > 0 {
		return workspace.View{}, errors.Join(w.s.yield(), w.s.keepWaiting())
	}
	if !w.brief && !w.told {
		w.told = true
		if err := w.s.beat(workspace.Waiting); err != nil {
			return workspace.View{}, err
		}
	}
	w.pause = min(max(w.pause*3/2, firstPause), longestPause)
	select {
	case <-w.s.cfg.after(w.pause):
	case <-ctx.Done():
		return workspace.View{}, context.Cause(ctx)
	}
	return w.s.view(ctx)
}

// view is the board; what keeps it from being read for a moment is waited for.
func (s *Worker) view(ctx context.Context) (workspace.View, error) {
	pause := firstPause
	for try := 1; ; try++ {
		view, err := s.cfg.Store.View()
		if err == nil {
			s.setBack(&view)
			return view, nil
		}
		if try == 5 {
			return view, fmt.Errorf("pbt: member %d: %w", s.cfg.Member, err)
		}
		select {
		case <-s.cfg.after(pause):
			pause *= 4
		case <-ctx.Done():
			return view, context.Cause(ctx)
		}
	}
}

// wentOn reports whether the population has been at work since a time: nowhere in between had all been silent for too long.
func wentOn(v workspace.View, since time.Time, silence time.Duration) bool {
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

// ahead is a heartbeat from the future, and when it was first seen.
type ahead struct{ seen, since time.Time }

// setBack makes silence count from now where it would begin in the future, as when the board's clock has been set back.
func (s *Worker) setBack(v *workspace.View) {
	if s.joined.After(v.Now) {
		s.joined = v.Now
	}
	for i := range v.Members {
		p := &v.Members[i]
		if !p.Seen.After(v.Now) {
			continue
		}
		if !s.ahead[i].seen.Equal(p.Seen) {
			if s.ahead == nil {
				s.ahead = make(map[int]ahead)
			}
			s.ahead[i] = ahead{p.Seen, v.Now}
		}
		p.Seen = s.ahead[i].since
	}
}

// gather returns the board as it stands, in synchronous mode once all have published their interval's end.
func (s *Worker) gather(ctx context.Context) (workspace.View, error) {
	view, err := s.view(ctx)
	if !s.cfg.Synchronous {
		return view, err
	}
	w := waiter{s: s}
	for n := 1; err == nil; n++ {
		l := s.peers()
		if l.complete(view) {
			return view, nil
		}
		if n%4 == 0 && l.record(view.Members[s.cfg.Member]) == nil { // what others wait for has got lost
			if err := s.publish(); err != nil {
				return view, err
			}
			w.told = false
		}
		view, err = w.wait(ctx)
	}
	return view, err
}

// news waits until the others have published something new. When nothing can come any more the policy gives up.
func (s *Worker) awaitChange(ctx context.Context, old workspace.View) (workspace.View, error) {
	known, w := changes(old), waiter{s: s}
	for view := old; ; {
		if !slices.ContainsFunc(view.Members, func(p workspace.MemberView) bool {
			return p.Member != s.cfg.Member && s.peers().live(view.Now, p)
		}) {
			return view, errors.Join(fmt.Errorf("pbt: member %d: training failed, and nobody is left to rescue it", s.cfg.Member), s.m.cause)
		}
		var err error
		if view, err = w.wait(ctx); err != nil || !reflect.DeepEqual(known, changes(view)) {
			return view, err
		}
	}
}
