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
	// silence is the time without a heartbeat after which a peer counts as dead. It is counted from since at the earliest:
	// when this process joined, or when the first of the processes joined that had to wait and yielded at once.
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

// generation returns the population as this member may see it, and the records behind it by member, nil where there is
// none. own is the member's own status. A peer without a usable record, and one that is silent or gave up, has no
// objective.
func (l peerFilter) generation(v workspace.View, own strategy.Status) (strategy.Generation, []*workspace.Record) {
	g := strategy.Generation{Iteration: l.iteration, Members: make([]strategy.Status, len(v.Members))}
	records := make([]*workspace.Record, len(v.Members))
	for i, p := range v.Members {
		if i == l.member {
			g.Members[i] = own
			continue
		}
		// A peer without a record is known by its heartbeat only: strategies see its steps and hyperparameters, for tables
		// and for decisions that name it in From, but no objective.
		s := strategy.Status{Member: i}
		if h := p.Heartbeat; h != nil {
			s.Steps, s.Hyperparameters = h.Steps, maps.Clone(h.Hyperparameters)
		}
		gone := p.Heartbeat == nil && len(p.Records) == 0 || l.silent(v.Now, p) || p.Heartbeat != nil &&
			p.Heartbeat.Phase == workspace.Failed
		s.Absent = gone
		// In synchronous mode a record of this iteration counts even if its member has died since: all members must decide
		// from the same records.
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
		Member: r.Member, Iteration: r.Iteration, Steps: r.Steps, WeightSteps: r.WeightSteps, SinceCopy: r.SinceCopy, SinceChange: r.SinceCopy,
		Objective: l.measure.signed(r.Objective), HasObjective: r.HasObjective,
		Peak: l.measure.signed(r.Peak), HasPeak: r.HasPeak,
		Samples: r.Samples, Hyperparameters: maps.Clone(r.Hyperparameters),
	}
	if r.SinceChange > 0 {
		s.SinceChange = r.SinceChange
	}
	// A failed peer publishes no weights: with an objective that is not finite it diverged, without one its training ended
	// in an error. A finite objective without weights was published by a process that could not take a snapshot.
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

// changes returns what a member that waits for news compares: newest records and phases, but not the times of
// heartbeats.
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

// The first and the longest pause of a member that waits. Pauses grow by half each time, so that a shared file system
// is not asked more often than it helps.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 2 * time.Second
)

// waiter is one wait for peers, or for the store itself.
type waiter struct {
	worker *Worker
	pause  time.Duration
	told   bool
	brief  bool // the wait is for the store, not for peers: the member does not yield
}

// next pauses and then returns a new view of the store, or the context's cause. A member that takes turns with others
// (WorkerOptions.Slice) yields instead of waiting for peers, because they may need its process.
func (w *waiter) next(ctx context.Context) (workspace.View, error) {
	if !w.brief && w.worker.cfg.Slice > 0 {
		return workspace.View{}, errors.Join(w.worker.yield(), w.worker.keepWaiting())
	}
	if !w.brief && !w.told {
		w.told = true
		if err := w.worker.beat(workspace.Waiting); err != nil {
			return workspace.View{}, err
		}
	}
	w.pause = min(max(w.pause*3/2, firstPause), longestPause)
	select {
	case <-w.worker.cfg.after(w.pause):
	case <-ctx.Done():
		return workspace.View{}, contextError(ctx)
	}
	return w.worker.view(ctx)
}

// view reads the store. An error that may pass, such as a file that another process is replacing, is tried again a few
// times.
func (w *Worker) view(ctx context.Context) (workspace.View, error) {
	pause := firstPause
	for try := 1; ; try++ {
		view, err := w.cfg.Store.View()
		if err == nil {
			w.setBack(&view)
			return view, nil
		}
		if try == 5 {
			return view, fmt.Errorf("pbt: member %d: %w", w.cfg.Member, err)
		}
		select {
		case <-w.cfg.after(pause):
			pause *= 4
		case <-ctx.Done():
			return view, contextError(ctx)
		}
	}
}

// wentOn reports whether the population was at work between a time and now: at no point in between had all members been
// silent for too long.
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

// ahead is a heartbeat with a time in the future, and when it was first seen.
type ahead struct{ seen, since time.Time }

// setBack replaces times that lie in the future, as after the store's clock was set back, by the time when they were
// first seen. Otherwise a peer that died before would count as alive until the clock has caught up.
func (w *Worker) setBack(v *workspace.View) {
	if w.joined.After(v.Now) {
		w.joined = v.Now
	}
	for i := range v.Members {
		p := &v.Members[i]
		if !p.Seen.After(v.Now) {
			continue
		}
		if !w.ahead[i].seen.Equal(p.Seen) {
			if w.ahead == nil {
				w.ahead = make(map[int]ahead)
			}
			w.ahead[i] = ahead{p.Seen, v.Now}
		}
		p.Seen = w.ahead[i].since
	}
}

// gather returns a view of the store: in synchronous mode once all live peers have published this interval's end,
// otherwise at once.
func (w *Worker) gather(ctx context.Context) (workspace.View, error) {
	view, err := w.view(ctx)
	if !w.cfg.Synchronous {
		return view, err
	}
	wait := waiter{worker: w}
	for n := 1; err == nil; n++ {
		l := w.peers()
		if l.complete(view) {
			return view, nil
		}
		if n%4 == 0 && l.record(view.Members[w.cfg.Member]) == nil { // what others wait for has got lost
			if err := w.publish(); err != nil {
				return view, err
			}
			wait.told = false
		}
		view, err = wait.next(ctx)
	}
	return view, err
}

// awaitChange waits until a peer has published something new. Where no live peer is left it returns the error of a
// member that cannot be rescued.
func (w *Worker) awaitChange(ctx context.Context, old workspace.View) (workspace.View, error) {
	known, wait := changes(old), waiter{worker: w}
	for view := old; ; {
		if !slices.ContainsFunc(view.Members, func(p workspace.MemberView) bool {
			return p.Member != w.cfg.Member && w.peers().live(view.Now, p)
		}) {
			return view, errors.Join(fmt.Errorf("pbt: member %d: training failed, and no other member is left to rescue it",
				w.cfg.Member), w.m.cause)
		}
		var err error
		if view, err = wait.next(ctx); err != nil || !reflect.DeepEqual(known, changes(view)) {
			return view, err
		}
	}
}
