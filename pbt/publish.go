// What a group writes for others: events for journals, records and heartbeats for peers. Peers notice a member whose
// heartbeats stop by Filter.silent, in package internal/peers.

package pbt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// begin returns the events that a journal of these members begins with: the population, and the start of each member.
func (o *Options) begin(members []*member) []journal.Event {
	events := []journal.Event{{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{
		Schema: journal.Schema, Members: o.Members, Objective: o.Objective, IntervalSteps: o.IntervalSteps,
		Seed:     o.Seed,
		Minimise: o.Measure.Minimise, Strategy: strategy.Describe(o.Strategy),
		Tuned: o.Tuned(slices.Sorted(maps.Keys(members[0].Hyperparameters))),
	}}}
	for _, m := range members {
		events = append(events, journal.Event{Kind: journal.Start, Member: m.id, Parent: -1, Seed: m.seed,
			Before: m.original,
			After:  maps.Clone(m.Hyperparameters), Mutation: m.mutation, Architecture: m.describe()})
		m.original, m.mutation = nil, ""
	}
	return events
}

// record writes events to the journals of their members, and reports them to Options.Progress. An event without a
// member goes into all journals that do not have it yet.
func (g *group) record(events []journal.Event) error {
	if len(events) == 0 {
		return nil
	}
	of := make(map[int][]journal.Event, len(g.workers)) // by member
	for _, e := range events {
		if e.Member >= 0 {
			of[e.Member] = append(of[e.Member], e)
			continue
		}
		for _, w := range g.workers {
			if len(w.journal.Events) == 0 {
				of[w.id] = append(of[w.id], e)
			}
		}
	}
	if err := g.each(context.Background(), func(w *worker) error {
		own := of[w.id]
		if len(own) == 0 {
			return nil
		}
		if err := w.lost(); err != nil {
			return err
		}
		if g.opt.Asynchronous {
			g.population.mu.Lock()
			defer g.population.mu.Unlock()
		}
		return w.journal.Append(own...)
	}); err != nil {
		return err
	}
	for i := range events {
		if id := events[i].Member; id >= 0 {
			g.worker(id).m.notify(g.iteration, &events[i])
		}
	}
	return nil
}

// troubles returns the events of members that failed or diverged in this interval, unless a journal has them already.
func (g *group) troubles() []journal.Event {
	var events []journal.Event
workers:
	for _, w := range g.workers {
		for _, e := range slices.Backward(w.journal.Events) {
			if e.Iteration < g.iteration {
				break
			}
			if e.Kind == journal.Failed || e.Kind == journal.Diverged {
				continue workers
			}
		}
		events = append(events, w.m.trouble(g.iteration)...)
	}
	return events
}

// good returns a snapshot that is worth keeping, nil if there is none. A trainee that gives no snapshot has failed. A
// group of all members keeps diverged weights, too: a process that continues must come to the same.
func (w *worker) good() *checkpoint.Snapshot {
	m := w.m
	if m.Failure != "" || m.status().Diverged() && !w.group.whole() {
		return nil
	}
	snapshot, err := m.snapshotOf()
	if err != nil {
		m.fail(w.group.iteration, err)
		return nil
	}
	if !w.group.whole() && snapshot != w.files.KeptOf && snapshot.CheckFinite() != nil {
		return nil
	}
	return snapshot
}

// persist saves the private state: snapshots first, then the state that refers to them. The weights of a member that
// failed are not kept: the state then refers to the last good ones. With a store in memory it does nothing.
func (w *worker) persist() error {
	g := w.group
	if w.lease.Dir() == "" {
		return nil
	}
	if err := w.lost(); err != nil {
		return err
	}
	snapshot := w.good() // a member that gives none has failed, which is saved
	s := states.State{
		Phase: g.phase, Iteration: g.iteration, Copies: w.copies, ObjectiveKnown: g.known,
		JournalLength: w.journal.Length, Best: number.Optional(g.objective, g.hasBest), Member: w.m.saved(),
		Pending: w.pending,
	}
	// In a group of all members the state before is always of the interval before, see align.
	return w.files.Save(s, snapshot, g.whole())
}

// checkpoint saves within an interval, if there is something good to save.
func (w *worker) checkpoint() error {
	if err := w.lost(); err != nil {
		return err
	}
	if !w.group.whole() && w.good() == nil {
		return nil
	}
	return w.persist()
}

// saved returns the member as it is saved, sharing no memory with it.
func (m *member) saved() states.Member {
	s := m.Member
	s.Hyperparameters = maps.Clone(s.Hyperparameters)
	s.Readings, s.Scores = slices.Clone(s.Readings), slices.Clone(s.Scores)
	return s
}

// publish puts the records of the members into the store for peers, and offers the best member as the best so far.
func (g *group) publish() error {
	if !g.whole() {
		for _, w := range g.workers {
			if err := w.publish(); err != nil {
				return err
			}
		}
	}
	best, ok := strategy.Generation{Members: g.statuses()}.Best()
	if ok && (!g.hasBest || best.Objective >= g.objective) { // an equal one lets the store clear up after a crash
		w := g.worker(best.Member)
		snapshot, err := w.m.snapshotOf()
		if err != nil {
			return wrapMember(w.id, err)
		}
		r := w.record()
		if err := w.lease.PublishBest(r, snapshot, g.opt.Measure.Minimise); err != nil {
			return fmt.Errorf("pbt: member %d: best: %w", w.id, err)
		}
		if g.whole() && (!g.hasBest || best.Objective > g.objective) {
			g.best = newResult(r, snapshot)
		}
		g.objective, g.hasBest = best.Objective, true
	}
	return g.beat(workspace.Training)
}

// publish puts the member's weights and objective into the store, unless they are there already. Weights that failed or
// diverged are not published: the record then says why, so that peers do not wait.
func (w *worker) publish() error {
	m, snapshot, r := w.m, w.good(), w.record()
	if snapshot == nil {
		status := m.status()
		r.Failure = cmp.Or(m.Failure, m.Diverged, status.Trouble())
		r.Objective, r.HasObjective = math.NaN(), !status.Failed
	}
	if err := w.lost(); err != nil {
		return err
	}
	// A process that was killed after publishing finds its own record here, and does not publish it twice.
	for _, old := range w.published {
		if old.Iteration == r.Iteration {
			if old.Copies == r.Copies && old.Steps == r.Steps && old.Weights != nil && r.Failure == "" {
				return nil
			}
			break
		}
	}
	r, err := w.lease.Publish(r, snapshot)
	if err == nil {
		w.published = []workspace.Record{r}
	}
	return wrapMember(w.id, err)
}

// record returns what the member publishes of itself.
func (w *worker) record() workspace.Record {
	m, g := w.m, w.group
	r := workspace.Record{
		Member: w.id, Iteration: g.iteration, Copies: w.copies, Steps: m.Steps, WeightSteps: m.weightSteps(),
		SinceCopy: m.Steps - m.CopiedAt, Samples: m.Samples, Parent: m.CopiedFrom(),
		Hyperparameters: maps.Clone(m.Hyperparameters), Experiment: g.cfg.Experiment,
	}
	r.Objective, r.HasObjective = m.Objective.Known()
	r.Peak, r.HasPeak = m.Peak.Known()
	maps.DeleteFunc(r.Hyperparameters, func(_ string, v float64) bool { return !number.Finite(v) })
	if m.ChangedAt > m.CopiedAt {
		r.SinceChange = m.Steps - m.ChangedAt
	}
	return r
}

// result returns the best member so far, nil if there is none. Its snapshot is nil if it cannot be read.
func (g *group) result() (*Result, error) {
	if g.whole() {
		return g.best, nil
	}
	return g.fetchBest()
}

// fetchBest reads the best member so far from the store, as result returns it. Damage is noted.
func (g *group) fetchBest() (found *Result, err error) {
	for range 4 { // its member may be replacing it by a better one
		best, ok, err := g.cfg.Store.Best(g.opt.Measure.Minimise)
		if err != nil {
			return nil, fmt.Errorf("pbt: best: %w", err)
		}
		if !ok {
			return nil, nil
		}
		snapshot, err := g.cfg.Store.Fetch(best)
		if found = newResult(best, snapshot); err == nil {
			break
		}
		g.recovered = errors.Join(g.recovered, fmt.Errorf("pbt: best: %w", err))
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return found, nil
}

// newResult converts a record of the best member.
func newResult(r workspace.Record, snapshot *checkpoint.Snapshot) *Result {
	return &Result{Member: r.Member, Iteration: r.Iteration, Steps: r.Steps, Objective: r.Objective,
		Hyperparameters: r.Hyperparameters, Snapshot: snapshot}
}

// describe puts where the member stands into the next heartbeat, without sending it.
func (w *worker) describe() {
	m, g := w.m, w.group
	w.heartbeat.Update(func(h *workspace.Heartbeat) {
		h.Member, h.Iteration, h.Copies, h.Steps, h.Total = w.id, g.iteration, w.copies, m.Steps, g.opt.TotalSteps
		h.Objective, h.HasObjective = m.Objective.Known()
		h.Hyperparameters, h.Parent, h.Note = maps.Clone(m.Hyperparameters), m.CopiedFrom(), w.cause
	})
}

// beat sends a heartbeat of every member with a phase now.
func (g *group) beat(phase workspace.Phase) error {
	for _, w := range g.workers {
		if err := w.beat(phase); err != nil {
			return err
		}
	}
	return nil
}

// beat sends a heartbeat of the member with a phase now.
func (w *worker) beat(phase workspace.Phase) error {
	w.describe()
	w.heartbeat.Update(func(h *workspace.Heartbeat) { h.Phase = phase })
	if err := w.heartbeat.Send(); err != nil {
		return fmt.Errorf("pbt: %w", err)
	}
	return nil
}

// fail publishes, as far as possible, that the member could not be joined, so that peers do not wait for it. Without a
// lease the member is another process's. With options of another population the member is well, and only these options
// are wrong. A member that is broken is joined again by another process.
func (g *group) fail(cause error) {
	if errors.Is(cause, states.ErrOtherPopulation) || errors.Is(cause, ErrBroken) {
		return
	}
	for _, w := range g.workers {
		w.heartbeat.Update(func(h *workspace.Heartbeat) {
			h.Member, h.Phase, h.Note = w.id, workspace.Failed, cause.Error()
		})
		_ = w.heartbeat.Send()
	}
}

// lost returns an error once another process has taken over the member; nil while this one holds the lease.
func (w *worker) lost() error {
	select {
	case <-w.lease.Lost():
		return fmt.Errorf("pbt: member %d: %w", w.id, workspace.ErrLeaseLost)
	default:
		return nil
	}
}

// lost returns the error of the first member that another process has taken over.
func (g *group) lost() error {
	for _, w := range g.workers {
		if err := w.lost(); err != nil {
			return err
		}
	}
	return nil
}
