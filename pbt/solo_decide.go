package pbt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// The first and the longest pause of somebody who waits.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 2 * time.Second
)

// conclude is what becomes of the policy at an interval's end, once its weights are published.
func (s *Solo) conclude(ctx context.Context) error {
	last := s.iteration >= s.opt.lastIteration()
	if last && !s.m.status().Diverged() {
		return s.finish()
	}
	view, err := s.gather(ctx)
	if err != nil {
		return err
	}
	for {
		l := s.look()
		if l, view, err = s.consider(ctx, l, view); err != nil {
			return err
		}
		if last {
			return s.finish()
		}
		events, err := s.decide(ctx, l, view)
		if err != nil {
			return err
		}
		if s.m.failure == "" || s.place.Synchronous {
			return s.goOn(view, events)
		}
		// It cannot train, and nobody has rescued it: when others have something new that may change.
		if slices.ContainsFunc(events, func(e Event) bool { return e.Kind == EventKeep || e.Kind == EventSelfMutate }) {
			events = nil
		}
		if err := s.record(events); err != nil {
			return err
		}
		if err := s.persist(); err != nil {
			return err
		}
		if view, err = s.news(ctx, view); err != nil {
			return err
		}
	}
}

// look is how the policy looks at the board as it stands.
func (s *Solo) look() look {
	return look{
		policy: s.place.Policy, iteration: s.iteration, exact: s.place.Synchronous, slack: s.place.Slack, measure: s.opt.Measure,
		silence: s.place.Silence, since: s.joined, frames: s.opt.target(s.iteration), total: s.opt.TotalSteps,
	}
}

// waiter pauses ever longer.
type waiter struct {
	s     *Solo
	pause time.Duration
	told  bool
	brief bool // the wait is not for others
}

// wait pauses and then returns the board as it stands, or the context's cause. A policy that takes turns with others
// yields instead of waiting for them.
func (w *waiter) wait(ctx context.Context) (workspace.View, error) {
	if !w.brief && w.s.place.Slice > 0 {
		return workspace.View{}, w.s.yield()
	}
	if !w.brief && !w.told {
		w.told = true
		if err := w.s.beat(workspace.Waiting); err != nil {
			return workspace.View{}, err
		}
	}
	w.pause = min(max(w.pause*3/2, firstPause), longestPause)
	select {
	case <-w.s.place.Clock.After(w.pause):
	case <-ctx.Done():
		return workspace.View{}, context.Cause(ctx)
	}
	return w.s.view(ctx)
}

// view is the board; what keeps it from being read for a moment is waited for.
func (s *Solo) view(ctx context.Context) (workspace.View, error) {
	pause := firstPause
	for try := 1; ; try++ {
		view, err := s.place.Board.View()
		if err == nil {
			return view, nil
		}
		if try == 5 {
			return view, fmt.Errorf("pbt: policy %d: %w", s.place.Policy, err)
		}
		select {
		case <-s.place.Clock.After(pause):
			pause *= 4
		case <-ctx.Done():
			return view, context.Cause(ctx)
		}
	}
}

// gather returns the board as it stands, in synchronous mode once all have published their interval's end.
func (s *Solo) gather(ctx context.Context) (workspace.View, error) {
	view, err := s.view(ctx)
	if !s.place.Synchronous {
		return view, err
	}
	w := waiter{s: s}
	for n := 1; err == nil; n++ {
		l := s.look()
		if l.complete(view) {
			return view, nil
		}
		if n%4 == 0 && l.record(view.Policies[s.place.Policy]) == nil { // what others wait for has got lost
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
func (s *Solo) news(ctx context.Context, old workspace.View) (workspace.View, error) {
	known, w := news(old), waiter{s: s}
	for view := old; ; {
		if !slices.ContainsFunc(view.Policies, func(p workspace.PolicyView) bool {
			return p.Policy != s.place.Policy && s.look().live(view.Now, p)
		}) {
			return view, errors.Join(fmt.Errorf("pbt: policy %d: training failed, and nobody is left to rescue it", s.place.Policy), s.m.cause)
		}
		var err error
		if view, err = w.wait(ctx); err != nil || !reflect.DeepEqual(known, news(view)) {
			return view, err
		}
	}
}

// consider lets a policy that failed or diverged wait until there is somebody healthy, as long as there is hope. What it
// returns is how to look at which board.
func (s *Solo) consider(ctx context.Context, l look, view workspace.View) (look, workspace.View, error) {
	w := waiter{s: s}
	for {
		own := s.m.status()
		g, _ := l.generation(view, own)
		for _, m := range g.Members {
			s.known = s.known || m.HasObjective
		}
		if err := s.checkKnown(l, view); err != nil {
			return l, view, err
		}
		if !own.Diverged() || slices.ContainsFunc(g.Members, Status.Healthy) {
			return l, view, nil
		}
		if !l.exact {
			l.rescue = true
			if g, _ := l.generation(view, own); slices.ContainsFunc(g.Members, Status.Healthy) {
				return l, view, nil
			}
			l.rescue = false
		}
		if !l.hopeful(view) {
			return l, view, s.giveUp()
		}
		if l.exact {
			return l, view, nil
		}
		var err error
		if view, err = w.wait(ctx); err != nil {
			return l, view, err
		}
	}
}

// checkKnown makes it an error that nobody has an objective although it is time and everybody has published something.
func (s *Solo) checkKnown(l look, view workspace.View) error {
	if s.known || s.opt.target(s.iteration) < s.opt.InitialDelay && s.iteration < s.opt.lastIteration() || s.m.status().Failed {
		return nil
	}
	for _, p := range view.Policies {
		if p.Policy != s.place.Policy && (l.live(view.Now, p) && len(p.Records) == 0 || slices.ContainsFunc(p.Records, func(r workspace.Record) bool { return r.HasObjective })) {
			return nil
		}
	}
	return s.opt.unknownObjective([]*member{s.m}, s.iteration)
}

// giveUp ends a policy that nobody can rescue, and leaves its state as it was.
func (s *Solo) giveUp() error {
	what := s.m.failure
	if what == "" {
		what = s.m.status().Trouble()
	}
	err := fmt.Errorf("pbt: %w after interval %d; policy %d: %s", ErrNoHealthyMember, s.iteration, s.place.Policy, what)
	if s.m.failure != "" && s.m.cause != nil {
		err = fmt.Errorf("%w: %w", err, s.m.cause)
	}
	return errors.Join(err, s.record(append(s.troubles(), s.m.event(&s.opt, s.iteration, EventHopeless, what))))
}

// troubles are the events of a member that failed or diverged, where they do not stand in the journal already.
func (s *Solo) troubles() []Event {
	for _, e := range slices.Backward(s.journal.events) {
		if e.Iteration < s.iteration {
			break
		}
		if e.Kind == EventFailed || e.Kind == EventDiverged {
			return nil
		}
	}
	return s.m.trouble(&s.opt, s.iteration)
}

// decide asks the strategy and carries out what it says of this policy. It returns the events to write. A source whose
// weights cannot be read is left out, and the strategy asked again.
func (s *Solo) decide(ctx context.Context, l look, view workspace.View) ([]Event, error) {
	events := s.troubles()
	l.without = make(map[int]bool)
	for {
		g, records := l.generation(view, s.m.status())
		parts := []int64{s.opt.Seed, streamDecide, s.iteration}
		if !s.place.Synchronous {
			parts = append(parts, int64(s.place.Policy))
		}
		decisions, err := s.opt.decide(g, stream(parts...))
		if err != nil {
			return nil, err
		}
		d := decisions[s.place.Policy]
		s.cause = d.Reason
		var source inheritance
		switch {
		case d.Action != Replace && len(l.without) > 0: // what was decided could not be done
			return events, nil
		case d.Action == Replace:
			source, err = s.fetch(ctx, l, *records[d.Source])
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				e := s.announced(d, records[d.Source].Frame)
				e.Kind, e.Cause = EventApplyFailed, fmt.Sprintf("%s (%s) could not be applied: source: %v", d.Action, d.Reason, err)
				events, l.without[d.Source] = append(events, e), true
				continue
			}
		}
		return s.carryOut(g, decisions, records, source, events)
	}
}

// announced is the event of a decision before it is carried out.
func (s *Solo) announced(d Decision, sourceSteps int64) Event {
	e := s.m.event(&s.opt, s.iteration, EventKind(d.Action), d.Reason)
	if d.Action == Replace {
		e.Parent, e.ParentSteps = d.Source, sourceSteps
	}
	return e
}

// carryOut does what was decided. Where that takes a new process it is saved for it.
func (s *Solo) carryOut(g Generation, decisions []Decision, records []*workspace.Record, source inheritance, before []Event) ([]Event, error) {
	var fault error
	known := func() []Event {
		events, err := s.learnt(g, decisions, records, before)
		fault = errors.Join(fault, err)
		return events
	}
	var moved *elsewhereError
	if s.opt.elsewhere != nil {
		s.opt.elsewhere = func(values map[string]float64) error {
			moved = &elsewhereError{values: values}
			return moved
		}
	}
	d := decisions[s.place.Policy]
	announced := s.announced(d, source.steps)
	events := s.m.carryOut(&s.opt, s.iteration, d, source, known)
	switch {
	case fault != nil:
		return nil, fault
	case moved != nil:
		s.phase, s.pending = phaseDecided, &pending{events: before, event: announced, values: moved.values, source: source}
		if err := s.persist(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("pbt: policy %d, interval %d: %w", s.place.Policy, s.iteration, ErrRestart)
	}
	if events[0].Kind == EventReplace {
		s.copies++
	}
	return append(before, events...), nil
}

// learnt is what an explorer that learns is told, see [Informed]: the journals of all, and where members stand. Members
// that wait for each other all know the same, and so can tell what those before them were given.
func (s *Solo) learnt(g Generation, decisions []Decision, records []*workspace.Record, before []Event) ([]Event, error) {
	known, err := s.everybody()
	if err != nil {
		return nil, err
	}
	stands := func(i int) Event {
		m := g.Members[i]
		return Event{
			Kind: EventKeep, Iteration: s.iteration, Member: i, Parent: -1, Steps: m.Steps,
			Objective: s.opt.Measure.signed(m.Objective), HasObjective: m.HasObjective, Before: m.Hyperparameters,
		}
	}
	own := s.place.Policy
	if !s.place.Synchronous {
		return append(append(known, before...), stands(own)), nil
	}
	// Others may be ahead: what they have written since must not make a difference.
	known = slices.DeleteFunc(known, func(e Event) bool { return e.Iteration >= s.iteration })
	known = append(known, before...)
	var waiting []Event
	for i := range g.Members {
		waiting = append(waiting, stands(i))
	}
	for i, d := range decisions[:own] {
		e := waiting[i]
		e.Kind, e.Cause = EventKind(d.Action), d.Reason
		values := e.Before
		if d.Action == Replace {
			e.Parent, e.ParentSteps = d.Source, g.Members[d.Source].Steps
			if !d.OwnHyperparameters {
				values = g.Members[d.Source].Hyperparameters
			}
		}
		if d.Action != Keep {
			if e.After = values; !d.Unmutated {
				e.After = s.opt.mutate(i, s.iteration, values, func() []Event { return slices.Concat(known, waiting[i:]) })
			}
		}
		known = append(known, e)
	}
	return append(known, waiting[own:]...), nil
}

// everybody is what the journals of all policies hold, as far as this process can read them.
func (s *Solo) everybody() ([]Event, error) {
	switch {
	case s.place.journals != nil:
		return s.place.journals(), nil
	case s.seat.Dir() != "":
		return ReadWorkspace(filepath.Dir(s.seat.Dir()))
	}
	return s.Journal(), nil
}

// fetch reads a peer's weights, which are verified by the board. What is damaged or gone is looked for again: its owner
// may have been replacing it.
func (s *Solo) fetch(ctx context.Context, l look, r workspace.Record) (inheritance, error) {
	w := waiter{s: s, brief: true}
	for try := 1; ; try++ {
		snapshot, err := s.place.Board.Fetch(r)
		if err == nil {
			if err = snapshot.CheckFinite(); err == nil {
				return inheritance{member: r.Policy, snapshot: snapshot, hyperparameters: r.Params, steps: r.Frame, weightSteps: r.WeightFrame}, nil
			}
		}
		if try == 4 {
			return inheritance{}, err
		}
		view, wrong := w.wait(ctx)
		if wrong != nil {
			return inheritance{}, wrong
		}
		again := l.record(view.Policies[r.Policy])
		if again == nil || again.Weights == nil {
			return inheritance{}, err
		}
		r = *again
	}
}

// goOn writes what became of the policy, and begins the next interval.
func (s *Solo) goOn(view workspace.View, events []Event) error {
	oldest := s.look().oldest(view)
	if err := s.proceed(events); err != nil {
		return err
	}
	// From now on the scores of weights that were given up are stale for everybody.
	if err := s.beat(workspace.Training); err != nil {
		return err
	}
	if err := s.seat.Prune(workspace.Keep{Oldest: oldest}); err != nil {
		return fmt.Errorf("pbt: policy %d: %w", s.place.Policy, err)
	}
	return nil
}

// proceed writes events and saves the policy at the beginning of the next interval.
func (s *Solo) proceed(events []Event) error {
	if err := s.record(events); err != nil {
		return err
	}
	s.iteration++
	s.phase, s.pending = phaseTraining, nil
	s.m.nextInterval()
	return s.persist()
}

// finish saves the end of training; the last events are written after, and again when this is repeated.
func (s *Solo) finish() error {
	s.phase = phaseFinished
	if err := s.persist(); err != nil {
		return err
	}
	if err := s.record(append(s.troubles(), s.m.event(&s.opt, s.iteration, EventFinal, ""))); err != nil {
		return err
	}
	s.done = true
	return s.beat(workspace.Finished)
}

func newResult(r workspace.Record, snapshot *checkpoint.Snapshot) *Result {
	objective := r.Objective
	if r.HasEvaluation {
		objective = r.Evaluation
	}
	return &Result{Member: r.Policy, Iteration: r.Iteration, Steps: r.Frame, Objective: objective, Hyperparameters: r.Params, Snapshot: snapshot}
}
