package onpolicy

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/exclusive"
)

// Serial lets one method of an algorithm run at a time and refuses every method after Close. An update that an
// [Overlap] makes on its own goroutine does not count as a running method. C is the type of the algorithm's settings.
//
// Name, Spaces, HiddenSizes, Architectures and Ranks never change and are not guarded. NumEnvs, LearningRate,
// Hyperparameters and Settings may be called at any time, by any goroutine and after Close. While another method runs
// they return the values from before it.
type Serial[C any] struct {
	Algorithm

	guard    exclusive.Guard
	settings func() C // returns a copy

	published atomic.Pointer[published[C]]
	training  atomic.Bool
}

// published holds the values that may be read while a method runs.
type published[C any] struct {
	numEnvs         int
	rate            float64
	hyperparameters map[string]float64
	settings        C
}

// The guarded methods that every step calls, as errors name them.
var callAct, callReady, callRecord exclusive.Method = "Act", "Ready", "Record"

// NewSerial returns a guarded algorithm. settings returns a copy of its settings.
func NewSerial[C any](a Algorithm, seed int64, settings func() C) *Serial[C] {
	g := &Serial[C]{Algorithm: a, settings: settings, guard: exclusive.Guard{
		Object: fmt.Sprintf("%s: the %s agent with seed %d", strings.ToLower(a.Name()), a.Name(), seed),
		Advice: "an agent serves one goroutine at a time: put a lock around its methods, or wait until training has " +
			"ended; to act while it trains, give a copy of the policy to package infer",
	}}
	g.training.Store(true)
	g.publish()
	return g
}

// publish stores the values that may be read while a method runs.
func (g *Serial[C]) publish() {
	g.published.Store(&published[C]{g.Algorithm.NumEnvs(), g.Algorithm.LearningRate(), g.Algorithm.Hyperparameters(),
		g.settings()})
}

// leaveAndPublish ends a method that may have changed published values.
func (g *Serial[C]) leaveAndPublish() {
	g.publish()
	g.guard.Leave()
}

// change runs a method that may change published values.
func (g *Serial[C]) change(m *exclusive.Method, f func() error) error {
	if err := g.guard.Enter(m); err != nil {
		return err
	}
	defer g.leaveAndPublish()
	return f()
}

// Do runs a method that changes no published value.
func Do[C any](g *Serial[C], m *exclusive.Method, f func() error) error {
	if err := g.guard.Enter(m); err != nil {
		return err
	}
	defer g.guard.Leave()
	return f()
}

// TryDo is Do for a method that returns no error. It does nothing while another method runs and after Close.
func TryDo[C any](g *Serial[C], m *exclusive.Method, f func()) {
	if g.guard.TryEnter(m) {
		defer g.guard.Leave()
		f()
	}
}

// NumEnvs implements [agents.Binder].
func (g *Serial[C]) NumEnvs() int { return g.published.Load().numEnvs }

// LearningRate returns the policy's learning rate.
func (g *Serial[C]) LearningRate() float64 { return g.published.Load().rate }

// Hyperparameters implements [agents.Tunable].
func (g *Serial[C]) Hyperparameters() map[string]float64 {
	return maps.Clone(g.published.Load().hyperparameters)
}

// Settings returns the settings. They must not be changed.
func (g *Serial[C]) Settings() C { return g.published.Load().settings }

// Act implements [agents.Agent].
func (g *Serial[C]) Act(in agents.Observation) ([]float32, error) {
	if err := g.guard.Enter(&callAct); err != nil {
		return nil, err
	}
	defer g.guard.Leave()
	actions, err := g.Algorithm.Act(in)
	if err == nil && g.published.Load().numEnvs == 0 { // this call has fixed it
		g.publish()
	}
	return actions, err
}

// Record implements [agents.Agent].
func (g *Serial[C]) Record(t agents.Transition) error {
	return Do(g, &callRecord, func() error { return g.Algorithm.Record(t) })
}

// Ready implements [agents.Agent]. It is false after Close.
func (g *Serial[C]) Ready() (ready bool) {
	TryDo(g, &callReady, func() { ready = g.Algorithm.Ready() })
	return ready
}

// Update implements [agents.Agent].
func (g *Serial[C]) Update(ctx context.Context) error {
	return g.change(new(exclusive.Method("Update")), func() error { return g.Algorithm.Update(ctx) })
}

// Wait implements [agents.Overlapping].
func (g *Serial[C]) Wait(ctx context.Context) error {
	return g.change(new(exclusive.Method("Wait")), func() error { return g.Algorithm.Wait(ctx) })
}

// SetTraining implements [agents.Agent]. After Close it changes nothing.
func (g *Serial[C]) SetTraining(on bool) (was bool) {
	if !g.guard.TryEnter(new(exclusive.Method("SetTraining"))) {
		return g.training.Load()
	}
	defer g.leaveAndPublish()
	g.training.Store(on)
	return g.Algorithm.SetTraining(on)
}

// SetStochastic implements [agents.Stochastic]. After Close it changes nothing.
func (g *Serial[C]) SetStochastic(on bool) {
	TryDo(g, new(exclusive.Method("SetStochastic")), func() { g.Algorithm.SetStochastic(on) })
}

// Tracked implements [agents.Tracker]. f may call methods of the agent. After Close there are no figures.
func (g *Serial[C]) Tracked(f func(tag string, value float64)) {
	var all []func()
	TryDo(g, new(exclusive.Method("Tracked")), func() {
		g.Algorithm.Tracked(func(tag string, value float64) { all = append(all, func() { f(tag, value) }) })
	})
	for _, call := range all {
		call()
	}
}

// Bind implements [agents.Binder].
func (g *Serial[C]) Bind(numEnvs int) error {
	return g.change(new(exclusive.Method("Bind")), func() error { return g.Algorithm.Bind(numEnvs) })
}

// SetHyperparameters implements [agents.Tunable].
func (g *Serial[C]) SetHyperparameters(values map[string]float64) error {
	return g.change(new(exclusive.Method("SetHyperparameters")), func() error {
		return g.Algorithm.SetHyperparameters(values)
	})
}

// Plan implements [agents.Planner]. After Close it changes nothing.
func (g *Serial[C]) Plan(timesteps int) (notes []string) {
	if !g.guard.TryEnter(new(exclusive.Method("Plan"))) {
		return nil
	}
	defer g.leaveAndPublish()
	return g.Algorithm.Plan(timesteps)
}

// Snapshot implements [agents.Snapshotter].
func (g *Serial[C]) Snapshot(opt agents.SnapshotOptions) (snap *checkpoint.Snapshot, err error) {
	err = g.change(new(exclusive.Method("Snapshot")), func() error {
		snap, err = g.Algorithm.Snapshot(opt)
		return err
	})
	return snap, err
}

// Restore implements [agents.Snapshotter].
func (g *Serial[C]) Restore(snap *checkpoint.Snapshot) error {
	return g.change(new(exclusive.Method("Restore")), func() error { return g.Algorithm.Restore(snap) })
}

// Reseed implements [agents.Reseeder].
func (g *Serial[C]) Reseed(seed int64) error {
	return g.change(new(exclusive.Method("Reseed")), func() error { return g.Algorithm.Reseed(seed) })
}

// ResetHidden implements [agents.Recurrent]. After Close it changes nothing.
func (g *Serial[C]) ResetHidden(environments ...int) {
	TryDo(g, new(exclusive.Method("ResetHidden")), func() { g.Algorithm.ResetHidden(environments...) })
}

// Close implements [agents.Agent]. If a method is running, Close returns an error and closes nothing. It does not
// wait, because the method may be waiting for the caller of Close.
func (g *Serial[C]) Close() error {
	first, err := g.guard.EnterClose()
	if !first {
		return err
	}
	defer g.guard.LeaveClose()
	return g.Algorithm.Close()
}
