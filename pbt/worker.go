package pbt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/pbt/internal/peers"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/internal/streams"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// worker is a member's place in the population: its lease on the store, its heartbeat, its journal and its private
// state. What it trains is the [member].
type worker struct {
	group *group
	id    int
	m     *member

	lease     workspace.Lease
	heartbeat workspace.Pulse
	journal   *journal.Writer
	files     states.Files

	published []workspace.Record // the latest, or what an earlier process left

	copies  int64  // how often the member took over weights
	cause   string // of the last decision
	pending *states.Pending
	ended   bool // the journal has the end of training, and these options ask for no more steps
}

// open takes the leases, starts the heartbeats, reads the private states and builds the members, in this order: a
// process that does not hold a lease must not write, and building may take long, so peers must see heartbeats before.
func (g *group) open(ctx context.Context) (err error) {
	for _, w := range g.workers {
		if w.lease, err = g.cfg.Store.Join(ctx, w.id); err != nil {
			return fmt.Errorf("pbt: %w", err)
		}
	}
	// Silence of peers is counted from now, by the store's clock: this process cannot know for how long it was away.
	view, err := g.cfg.Store.View()
	if err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	g.joined = view.Now
	cfg, found := g.cfg, make([]*states.Restored, len(g.workers))
	next := func() <-chan time.Time { return cfg.after(cfg.Heartbeat) }
	for i, w := range g.workers {
		if w.lease.Dir() != "" || !g.whole() { // otherwise nobody sees them
			w.heartbeat.Begin(w.lease, view.Members[w.id].Heartbeat, next)
		}
		o := g.opt
		if w.files, err = states.Open(w.lease.Dir(), states.Identity{Policy: w.id, Members: o.Members,
			Objective: o.Objective, IntervalSteps: o.IntervalSteps, Seed: o.Seed,
			Minimise: o.Measure.Minimise}); err != nil {
			return err
		}
		var damage error
		if found[i], damage, err = w.files.Load(); err != nil {
			return err
		}
		g.recovered = errors.Join(g.recovered, damage)
	}
	if g.whole() {
		if err := g.loadBest(view); err != nil {
			return err
		}
		if err := g.align(found); err != nil {
			return err
		}
	} else if s := found[0]; s != nil {
		g.phase, g.iteration = s.State.Phase, s.State.Iteration
		g.objective, g.hasBest = s.State.Best.Known()
		// A member that yielded at once because it had to wait has been waiting ever since: silence is counted from
		// then.
		own := view.Members[g.workers[0].id]
		if h := own.Heartbeat; s.State.WaitingSince != nil && h != nil && h.Phase == workspace.Yielded &&
			peers.WentOn(view, own.Seen, g.cfg.Silence) {
			g.joined = *s.State.WaitingSince
		}
	}
	for i, w := range g.workers {
		w.published = view.Members[w.id].Records
		if err := w.restore(found[i], view.Members[w.id]); err != nil {
			return err
		}
	}
	if g.whole() {
		g.done = !slices.ContainsFunc(g.workers, func(w *worker) bool { return !w.ended })
		return nil
	}
	// If the last process had trained the interval to its end, this one publishes and decides.
	w := g.workers[0]
	switch {
	case g.phase == states.Training:
	case w.m.trains(g.iteration): // TotalSteps has grown
		g.phase = states.Training
	default:
		g.phase = states.Trained
		if !w.m.status().Diverged() { // what is published is what was trained
			w.m.snapshot = found[0].Snapshot
		}
	}
	w.files.KeptOf = w.m.snapshot
	return g.beat(workspace.Training)
}

// align chooses the states that a group of all members continues from: all of the same interval. A process may have
// died while the members saved the beginning of an interval. Those that had done so then go back to their state
// before, which is in the interval before, train its rest again and come to the same. All members go back so if the
// newest state of one is damaged.
func (g *group) align(found []*states.Restored) error {
	iteration := func(r *states.Restored) int64 {
		if r == nil {
			return 1 // a member without a state begins
		}
		return r.State.Iteration
	}
	g.iteration = iteration(slices.MinFunc(found,
		func(a, b *states.Restored) int { return int(iteration(a) - iteration(b)) }))
	finished := g.best != nil
	standing := strategy.Generation{Iteration: g.iteration}
	for i, w := range g.workers {
		if iteration(found[i]) > g.iteration {
			r, err := w.files.Previous()
			switch {
			case w.files.Before == nil && g.iteration == 1 &&
				found[i].State.Iteration == 2: // it had saved nothing before
			case err != nil:
				return fmt.Errorf("pbt: member %d cannot go back to interval %d, in which other members are; choose "+
					"another directory: %w", w.id, g.iteration, err)
			case r.State.Iteration != g.iteration:
				return fmt.Errorf("pbt: members of %s are in intervals %d and %d; continue them with "+
					"Options.Asynchronous (in a file: pbt.asynchronous: true), or choose another "+
					"directory", g.opt.Directory, g.iteration, found[i].State.Iteration)
			}
			found[i] = r
		}
		if finished = finished && found[i] != nil && found[i].State.Phase == states.Finished; finished {
			m := g.opt.unbuilt(w.id, found[i])
			standing.Members = append(standing.Members, m.status())
			finished = !m.trains(g.iteration)
		}
	}
	// Training goes on if it has not ended, or if TotalSteps or the target has grown since.
	if g.phase = states.Training; finished && (g.iteration >= g.opt.lastIteration() || g.opt.reached(standing)) {
		g.phase = states.Finished
	}
	return nil
}

// loadBest reads the best member so far from the store. Damage is noted: training can go on without it.
func (g *group) loadBest(view workspace.View) error {
	for _, m := range view.Members {
		g.recovered = errors.Join(append([]error{g.recovered}, m.Damaged...)...)
	}
	best, err := g.fetchBest()
	if err != nil || best == nil || best.Snapshot == nil {
		return err
	}
	g.best, g.objective, g.hasBest = best, g.opt.Measure.signed(best.Objective), true
	return nil
}

// restore opens the journal, builds the member, as new or as saved, and carries out a pending decision.
func (w *worker) restore(saved *states.Restored, published workspace.MemberView) (err error) {
	g := w.group
	var length int64
	if saved != nil {
		length = saved.State.JournalLength
		if saved.State.Phase == states.Finished && g.whole() && g.phase == states.Finished {
			length, w.ended = journal.Ended(w.lease.Dir(), length)
		}
	}
	// Events after the saved state's length belong to decisions that are made again. After the end of training they are
	// the last events, which are written again, too. The journal is opened before the member is built, because a
	// pending decision that building applies is written to it.
	if w.journal, err = journal.Open(w.lease.Dir(), length); err != nil {
		return err
	}
	w.files.Begin(saved)
	w.m = g.opt.unbuilt(w.id, saved)
	if saved != nil {
		w.copies, g.known = saved.State.Copies, g.known || saved.State.ObjectiveKnown
		// Records that the member published after this state, as after damage to the newest one, are stale: copies
		// counts the generations of weights, and peers ignore records of older ones.
		for _, r := range published.Records {
			if r.Copies > w.copies {
				w.copies = r.Copies + 1
			}
		}
	}
	// Building may take long, so a heartbeat comes before.
	if err := w.beat(workspace.Training); err != nil {
		return err
	}
	if saved != nil && saved.State.Pending != nil {
		return w.resume(saved)
	}
	w.m, err = w.build(saved)
	return err
}

// build builds the member, see [newMember].
func (w *worker) build(saved *states.Restored) (*member, error) {
	m, err := newMember(w.group.opt, w.id, saved)
	if m != nil {
		m.restartProcess = w.group.cfg.RestartProcess
	}
	return m, err
}

// unbuilt returns a member without its trainee: new, or as it was saved.
func (o *Options) unbuilt(id int, saved *states.Restored) *member {
	m := &member{opt: o, id: id, seed: streams.Seed(o.Seed, streams.MemberSeed, int64(id))}
	if saved != nil {
		m.Member = saved.State.Member
		m.Member = m.saved()
	}
	return m
}

// close leaves the population and releases the trainee.
func (w *worker) close() error {
	w.heartbeat.End()
	var errs []error
	if w.m != nil && w.m.trainee != nil {
		errs = append(errs, wrapMember(w.id, guarded(w.m.trainee.Close)))
	}
	if w.journal != nil {
		errs = append(errs, w.journal.Close())
	}
	if w.lease != nil {
		errs = append(errs, w.lease.Release())
	}
	return errors.Join(errs...)
}
