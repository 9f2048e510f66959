package onpolicy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/tensor"
)

// actingStream keeps the random sequences of an Overlap's actor apart from the learner's.
const actingStream = 0x2545f4914f6cdd1d

// Overlap is an agent that acts while it learns (agents.OnPolicy.Overlap). It has two halves with a rollout each. The
// learner is the algorithm over its Parts. The actor is a second set of Parts with networks and scalers of its own.
// While the learner makes update k from rollout k on a goroutine, the actor records rollout k + 1. When rollout k + 1
// is full, Update waits for the learner, exchanges the rollouts, copies the newest parameters and statistics to the
// actor, and starts update k + 1. Every rollout is therefore collected by the policy of one update ago. Results do
// not depend on how long either half takes.
//
// No tensor is used by both halves during an update. A method that reads or changes the learner waits for the update.
type Overlap struct {
	Algorithm // that learns
	// Fetch, if set, asks the environment for what the next update needs; the update finds it in Learner.Fetched.
	// Update calls Fetch before it starts the learner, because the environment steps during the update.
	Fetch func() ([]float32, error)

	learning, acting Parts // the learner's and the actor's

	stop   context.CancelFunc
	result chan outcome // of the update in progress; nil if there is none
	err    error        // of the update before, if Update or Wait have not returned it yet
	behind bool         // the update of the learner's rollout has failed after the actor took further steps
	random []byte       // the learner's sequence on the host before the last Fetch

	shown *Tracker // the figures of updates that have ended
	rate  float64  // the learning rate when the last update ended
}

// outcome is how an update has ended.
type outcome struct {
	err   error
	panic any
}

// NeedsMake returns the error of an agent with overlap whose networks cannot be made twice. name is the algorithm's.
func NeedsMake(name string) error {
	return fmt.Errorf("%s: \"overlap\" is true, and acting while learning needs a second set of the networks; give "+
		"Options.Models.Make, which makes them, in the place of networks", name)
}

// NewOverlap joins a learner, the algorithm over core, with networks to act with: the policy, value network and
// critics in o, made like the learner's. o.Config is the learner's own. The Overlap owns the learner and the
// networks, even if NewOverlap fails.
func NewOverlap(learner Algorithm, core Parts, o Options) (*Overlap, error) {
	if slices.ContainsFunc(slices.Concat(o.Policy.Parameters(), o.Value.Parameters()), func(p tensor.Parameter) bool {
		return tensor.FlatOf(p.Tensor) == core.Flat
	}) {
		_ = learner.Close() // and the networks
		return nil, core.errorf("\"overlap\" is true, and the second call of Options.Models.Make has returned the " +
			"networks of the first; it must make other ones every time")
	}
	o.Seed ^= actingStream
	o.NumEnvs = core.numEnvs
	actor, err := New(o)
	if err != nil {
		_ = learner.Close()
		return nil, err
	}
	actor.Scheduler = core.Scheduler // an update cannot begin before it knows the length of the run
	v := &Overlap{Algorithm: learner, learning: core, acting: actor, shown: NewTracker(), rate: core.LearningRate(),
		stop: func() {}}
	own, all := actor.Flat.Entries(), core.Flat.Entries()
	if !slices.EqualFunc(own, all[:min(len(own), len(all))], func(a, b tensor.Entry) bool {
		return a.Name == b.Name && a.Offset == b.Offset && slices.Equal(a.Shape, b.Shape)
	}) {
		err = core.errorf("\"overlap\" is true, and the second call of Options.Models.Make has made networks of " +
			"other shapes than the first; it must make the same networks every time")
	} else {
		err = v.copyParameters()
	}
	if err != nil {
		_ = v.Close()
		return nil, err
	}
	return v, nil
}

// Actor is the half that acts.
func (v *Overlap) Actor() *Collector { return v.acting.Collector }

// Update starts the update of the rollout that the actor has completed and returns without waiting for its end.
// Meanwhile the actor acts with the parameters that this update begins with. Update first waits for the update
// before. If that has failed, Update returns its error, and the next call repeats that update. A cancelled context
// ends the waiting. Updates that have started run to completion.
func (v *Overlap) Update(ctx context.Context) error {
	if err := v.Wait(ctx); err != nil {
		return err
	}
	if err := v.acting.checkReady(ctx); err != nil {
		return err
	}
	var err error
	if v.random, err = v.learning.pcg.MarshalBinary(); err != nil {
		return err
	}
	if v.Fetch != nil {
		if v.learning.Fetched, err = v.Fetch(); err != nil {
			return errors.Join(err, v.learning.pcg.UnmarshalBinary(v.random))
		}
	}
	if err := v.copyParameters(); err != nil {
		return err
	}
	if err := v.exchangeRollouts(); err != nil {
		return err
	}
	ctx, v.stop = context.WithCancel(context.WithoutCancel(ctx))
	result := make(chan outcome, 1)
	v.result = result
	go func() {
		o := outcome{err: v.learning.errorf("the update has ended its goroutine (runtime.Goexit)")}
		defer func() { result <- o }()
		defer func() {
			if x := recover(); x != nil {
				o.panic = fmt.Sprintf("%v\n\n%s", x, debug.Stack())
			}
		}()
		o.err = v.Algorithm.Update(ctx)
	}()
	return nil
}

// Wait implements [agents.Overlapping].
func (v *Overlap) Wait(ctx context.Context) error {
	if v.result != nil {
		select {
		case o := <-v.result:
			v.finishUpdate(o)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := v.err; err != nil {
		v.err = nil
		return err
	}
	if v.behind {
		if err := v.Algorithm.Update(ctx); err != nil {
			return err
		}
		v.takeFigures()
	}
	return nil
}

// waitForUpdate waits for the update in progress. Its error is kept for Update or Wait.
func (v *Overlap) waitForUpdate() {
	if v.result != nil {
		v.finishUpdate(<-v.result)
	}
}

// finishUpdate records how the update in progress has ended. A failed update has undone itself. If the actor has
// taken no step since that update began, finishUpdate returns the rollout to the actor, so that the agent is as it
// was before Update.
func (v *Overlap) finishUpdate(o outcome) {
	v.stop()
	v.result, v.stop = nil, func() {}
	if o.panic != nil {
		panic(o.panic)
	}
	v.err = o.err
	switch {
	case o.err == nil:
		v.takeFigures()
	case v.acting.acted || v.acting.Rollout.Len() > 0:
		v.behind = true
	default:
		v.learning.Fetched = nil
		v.err = errors.Join(v.err, v.learning.pcg.UnmarshalBinary(v.random), v.exchangeRollouts())
	}
}

// takeFigures moves figures, notes and the learning rate of an update that has ended to where Tracked, Noted and
// LearningRate read them.
func (v *Overlap) takeFigures() {
	v.learning.Fetched, v.behind = nil, false
	v.learning.Figures.Drain(v.shown.Add)
	v.learning.Figures.Notes(v.shown.Note)
	v.rate = v.learning.LearningRate()
}

// copyParameters copies the learner's parameters and statistics to the actor.
func (v *Overlap) copyParameters() error {
	s := tensor.NoGrad().On(v.learning.Device)
	defer s.Close()
	s.Copy(v.acting.Flat.Values, s.Narrow(v.learning.Flat.Values, 0, 0, v.acting.Flat.Len()))
	learned := v.learning.allStatistics()
	for i, x := range v.acting.allStatistics() { // the learner's further scalers are behind the ones that both have
		s.Copy(x, learned[i])
	}
	return s.Err()
}

// exchangeRollouts exchanges the rollouts of actor and learner. The memories of the actor's networks stay with the
// actor.
func (v *Overlap) exchangeRollouts() error {
	a, b := v.acting, v.learning
	if b.Rollout == nil { // before Bind
		return nil
	}
	*a.Experience, *b.Experience = *b.Experience, *a.Experience
	s := tensor.NoGrad().On(b.Device)
	defer s.Close()
	for i, h := range a.hiddens {
		l := b.hiddens[i]
		h.stored, l.stored = l.stored, h.stored
		h.starts, l.starts = l.starts, h.starts
		s.Copy(l.now, h.now) // the values of what follows the rollout are estimated from here
	}
	b.Timestep = a.Timestep
	return s.Err()
}

// handMemories copies the memories of the learner's networks to the actor's.
func (v *Overlap) handMemories() error {
	s := tensor.NoGrad().On(v.learning.Device)
	defer s.Close()
	for i, h := range v.acting.hiddens {
		if v.acting.Rollout != nil {
			s.Copy(h.now, v.learning.hiddens[i].now)
		}
	}
	return s.Err()
}

// Bind implements [agents.Binder].
func (v *Overlap) Bind(numEnvs int) error {
	if err := v.learning.Bind(numEnvs); err != nil {
		return err
	}
	return v.acting.Bind(numEnvs)
}

// SetTraining implements [agents.Agent]. An evaluation waits for the update in progress, because it acts by the
// newest policy.
func (v *Overlap) SetTraining(on bool) (was bool) {
	if was = v.acting.training; on && was {
		return was
	}
	v.waitForUpdate()
	v.acting.Collector.step.Reset() // nothing of its last step is needed
	v.acting.training = on
	v.learning.SetTraining(on)
	return was
}

// Act implements [agents.Agent].
func (v *Overlap) Act(in agents.Observation) ([]float32, error) {
	if v.learning.numEnvs == 0 {
		if err := v.Bind(len(in.Observations) / v.learning.spaces.Observation.Width()); err != nil {
			return nil, err
		}
	}
	return v.half().Act(in)
}

// Record implements [agents.Agent].
func (v *Overlap) Record(t agents.Transition) error {
	return v.half().Record(t)
}

// half returns the half that acts: the actor in training, the learner in evaluation.
func (v *Overlap) half() *Collector {
	if v.acting.training {
		return v.acting.Collector
	}
	return v.learning.Collector
}

// Ready implements [agents.Agent].
func (v *Overlap) Ready() bool { return v.acting.Ready() }

// Tracked implements [agents.Tracker], with the figures of updates that have ended.
func (v *Overlap) Tracked(f func(tag string, value float64)) { v.shown.Drain(f) }

// Noted implements [agents.Noter], with what was noted in updates that have ended.
func (v *Overlap) Noted(f func(note string)) { v.shown.Notes(f) }

// LearningRate returns the learning rate when the last update ended.
func (v *Overlap) LearningRate() float64 { return v.rate }

// SetHyperparameters implements [agents.Tunable].
func (v *Overlap) SetHyperparameters(values map[string]float64) error {
	v.waitForUpdate()
	defer func() { v.rate = v.learning.LearningRate() }()
	return v.Algorithm.SetHyperparameters(values)
}

// Plan implements [agents.Planner].
func (v *Overlap) Plan(timesteps int) (notes []string) {
	v.waitForUpdate()
	defer func() { v.rate = v.learning.LearningRate() }()
	return v.Algorithm.Plan(timesteps)
}

// Reseed implements [agents.Reseeder].
func (v *Overlap) Reseed(seed int64) error {
	v.waitForUpdate()
	if err := v.Algorithm.Reseed(seed); err != nil {
		return err
	}
	return v.acting.Reseed(seed ^ actingStream)
}

// ResetHidden implements [agents.Recurrent].
func (v *Overlap) ResetHidden(environments ...int) {
	v.half().ResetHidden(environments...)
}

// Close implements [agents.Agent]. An update in progress ends after its present minibatch.
func (v *Overlap) Close() error {
	v.stop()
	if v.result != nil {
		<-v.result
		v.result = nil
	}
	_ = v.acting.Close()
	return v.Algorithm.Close()
}
