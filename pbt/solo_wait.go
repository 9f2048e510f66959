package pbt

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// The first and the longest pause of somebody who waits.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 2 * time.Second
)

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
			s.setBack(&view)
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
func (s *Solo) setBack(v *workspace.View) {
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
		if n%4 == 0 && l.record(view.Members[s.place.Policy]) == nil { // what others wait for has got lost
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
		if !slices.ContainsFunc(view.Members, func(p workspace.MemberView) bool {
			return p.Member != s.place.Policy && s.look().live(view.Now, p)
		}) {
			return view, errors.Join(fmt.Errorf("pbt: policy %d: training failed, and nobody is left to rescue it", s.place.Policy), s.m.cause)
		}
		var err error
		if view, err = w.wait(ctx); err != nil || !reflect.DeepEqual(known, news(view)) {
			return view, err
		}
	}
}
