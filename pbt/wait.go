// How a member waits for its peers: it polls the store. A group of all members has no peers: its views are empty, and
// so no wait finds anything to wait for.

package pbt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/pbt/internal/peers"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// The first and the longest pause of a member that waits. Pauses grow by half each time, so that a shared file system
// is not asked more often than it helps.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 2 * time.Second
)

// filter returns the filter of peers' records for the present interval.
func (g *group) filter() peers.Filter {
	return peers.Filter{
		Member: g.workers[0].id, Iteration: g.iteration, Exact: g.exact(), Slack: g.opt.Slack,
		Minimise: g.opt.Measure.Minimise, Silence: g.cfg.Silence, Since: g.joined,
		Frames: g.opt.target(g.iteration), Total: g.opt.TotalSteps,
	}
}

// waiter is one wait for peers, or for the store itself.
type waiter struct {
	group     *group
	pause     time.Duration
	announced bool
	brief     bool // the wait is for the store, not for peers: the member does not yield
}

// next pauses and then returns a new view of the store, or the context's cause. A member that takes turns with others
// (ProcessOptions.Slice) yields instead of waiting for peers, because they may need its process.
func (w *waiter) next(ctx context.Context) (workspace.View, error) {
	g := w.group
	if !w.brief && g.cfg.Slice > 0 {
		return workspace.View{}, errors.Join(g.yield(), g.workers[0].files.Waits(g.joined))
	}
	if !w.brief && !w.announced {
		w.announced = true
		if err := g.beat(workspace.Waiting); err != nil {
			return workspace.View{}, err
		}
	}
	w.pause = min(max(w.pause*3/2, firstPause), longestPause)
	if err := g.sleep(ctx, w.pause); err != nil {
		return workspace.View{}, err
	}
	return g.view(ctx)
}

// sleep pauses, or returns the error of a context that ends meanwhile.
func (g *group) sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-g.cfg.after(pause):
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// yield returns the error that ends a turn.
func (g *group) yield() error {
	return fmt.Errorf("pbt: %sin interval %d: %w", g.name(), g.iteration, ErrYield)
}

// view reads the store. An error that may pass, such as a file that another process is replacing, is tried again a few
// times.
func (g *group) view(ctx context.Context) (workspace.View, error) {
	if g.whole() {
		return workspace.View{}, nil
	}
	for pause := firstPause; ; pause *= 4 {
		view, err := g.cfg.Store.View()
		if err == nil {
			g.joined = g.ahead.SetBack(&view, g.joined)
			return view, nil
		}
		if pause > time.Second {
			return view, wrapMember(g.workers[0].id, err)
		}
		if err := g.sleep(ctx, pause); err != nil {
			return view, err
		}
	}
}

// gather returns a view of the store: once all live peers have published this interval's end, or at once if members do
// not wait for each other.
func (g *group) gather(ctx context.Context) (workspace.View, error) {
	view, err := g.view(ctx)
	if !g.exact() {
		return view, err
	}
	wait := waiter{group: g}
	for n := 1; err == nil; n++ {
		l := g.filter()
		if l.Complete(view) {
			return view, nil
		}
		if w := g.workers[0]; n%4 == 0 && l.Record(view.Members[w.id]) == nil { // what others wait for has been lost
			w.published = nil
			if err := w.publish(); err != nil {
				return view, err
			}
			wait.announced = false
		}
		view, err = wait.next(ctx)
	}
	return view, err
}

// awaitChange waits until a peer has published something new. If no live peer is left it returns the error of a member
// that cannot be rescued.
func (g *group) awaitChange(ctx context.Context, old workspace.View) (workspace.View, error) {
	known, wait, w := peers.News(old), waiter{group: g}, g.workers[0]
	for view := old; ; {
		if !slices.ContainsFunc(view.Members, func(p workspace.MemberView) bool {
			return p.Member != w.id && g.filter().Live(view.Now, p)
		}) {
			return view, errors.Join(fmt.Errorf("pbt: member %d: training failed, and no other member is left to "+
				"rescue it", w.id), w.m.cause)
		}
		var err error
		if view, err = wait.next(ctx); err != nil || !reflect.DeepEqual(known, peers.News(view)) {
			return view, err
		}
	}
}

// awaitHealthy lets members that have all failed or diverged wait until there is a healthy peer to copy, as long as one
// may still appear. It returns the filter and the view to decide by; without hope it gives up.
func (g *group) awaitHealthy(ctx context.Context, l peers.Filter, view workspace.View) (peers.Filter, workspace.View,
	error) {
	wait, own := waiter{group: g}, g.statuses()
	diverged := !slices.ContainsFunc(own, func(s strategy.Status) bool { return !s.Diverged() })
	healthy := func() bool {
		generation, _ := l.Generation(view, own...)
		for _, m := range generation.Members {
			g.known = g.known || m.HasObjective
		}
		return slices.ContainsFunc(generation.Members, strategy.Status.Healthy)
	}
	for {
		saved := healthy() || !diverged
		if err := g.checkKnown(l, view); err != nil {
			return l, view, err
		}
		if saved {
			return l, view, nil
		}
		// No peer of equal or less experience is healthy. A newer record is better than none: the member has lost its
		// own weights.
		if !l.Exact {
			if l.Rescue = true; healthy() {
				return l, view, nil
			}
			l.Rescue = false
		}
		if !l.Hopeful(view) {
			return l, view, g.giveUp()
		}
		// Members that wait for each other must all decide now, this one too: it is kept, and rescued in a later
		// interval.
		if l.Exact {
			return l, view, nil
		}
		var err error
		if view, err = wait.next(ctx); err != nil {
			return l, view, err
		}
	}
}

// checkKnown makes it an error that no member has an objective although Options.InitialDelay is over and all live peers
// have published something: the objective's name is probably wrong.
func (g *group) checkKnown(l peers.Filter, view workspace.View) error {
	if g.known || g.opt.target(g.iteration) < g.opt.InitialDelay && g.iteration < g.opt.lastIteration() ||
		!slices.ContainsFunc(g.workers, func(w *worker) bool { return w.m.Failure == "" }) {
		return nil
	}
	has := func(r workspace.Record) bool { return r.HasObjective }
	for _, p := range view.Members {
		if p.Member != l.Member && (l.Live(view.Now, p) && len(p.Records) == 0 ||
			slices.ContainsFunc(p.Records, has) || slices.ContainsFunc(p.Stale, has)) {
			return nil
		}
	}
	return g.unknownObjective()
}

// giveUp ends members that no peer can rescue. Their last good states remain as they were saved.
func (g *group) giveUp() error {
	events := g.troubles()
	err := fmt.Errorf("pbt: %w after interval %d", ErrNoHealthyMember, g.iteration)
	for _, w := range g.workers {
		m := w.m
		figure, _ := m.Objective.Known()
		value := fmt.Sprintf("%s is %v", g.opt.Objective, figure)
		what := cmp.Or(m.Failure, m.Diverged, value)
		if m.Failure != "" && m.cause != nil {
			err = fmt.Errorf("%w; member %d: %w", err, w.id, m.cause)
		} else {
			err = fmt.Errorf("%w; member %d: %s", err, w.id, what)
		}
		events = append(events, m.event(g.iteration, journal.Hopeless, what))
	}
	return errors.Join(err, g.record(events))
}
