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

// Guarded is the agent that user code gets. It lets one method run at a time and refuses every method after Close. An
// update that an [Overlap] makes on its own goroutine does not count as a running method.
//
// Name, Spaces, HiddenSizes, Architectures and Ranks never change and are not guarded. NumEnvs, LearningRate,
// Hyperparameters and Settings may be called at any time, by any goroutine and after Close. While another method runs
// they return the values from before it.
type Guarded struct {
	agents.Complete // the agent
	// Guard is exported for the methods that only one algorithm has.
	Guard exclusive.Guard

	settings  func() any
	published atomic.Pointer[published]
	training  atomic.Bool
}

// published holds the values that may be read while a method runs.
type published struct {
	numEnvs         int
	rate            float64
	hyperparameters map[string]float64
	settings        any
}

// The guarded methods, as errors name them.
var (
	callAct                exclusive.Method = "Act"
	callBind               exclusive.Method = "Bind"
	callPlan               exclusive.Method = "Plan"
	callReady              exclusive.Method = "Ready"
	callRecord             exclusive.Method = "Record"
	callReseed             exclusive.Method = "Reseed"
	callResetHidden        exclusive.Method = "ResetHidden"
	callRestore            exclusive.Method = "Restore"
	callSetHyperparameters exclusive.Method = "SetHyperparameters"
	callSetStochastic      exclusive.Method = "SetStochastic"
	callSetTraining        exclusive.Method = "SetTraining"
	callSnapshot           exclusive.Method = "Snapshot"
	callTracked            exclusive.Method = "Tracked"
	callUpdate             exclusive.Method = "Update"
	callWait               exclusive.Method = "Wait"
)

// Guard returns an agent with a guard around its methods. settings returns a copy of all settings of the agent.
func Guard(agent agents.Complete, seed int64, settings func() any) *Guarded {
	name := agent.Name()
	g := &Guarded{Complete: agent, settings: settings, Guard: exclusive.Guard{
		Object: fmt.Sprintf("%s: the %s agent with seed %d", strings.ToLower(name), name, seed),
		Advice: "an agent serves one goroutine at a time: put a lock around its methods, or wait until training has " +
			"ended; to act while it trains, give a copy of the policy to package infer",
	}}
	g.training.Store(true)
	g.publish()
	return g
}

// publish stores the values that may be read while a method runs.
func (g *Guarded) publish() {
	g.published.Store(&published{g.Complete.NumEnvs(), g.Complete.LearningRate(), g.Complete.Hyperparameters(),
		g.settings()})
}

// leave ends a method that may have changed published values.
func (g *Guarded) leave() {
	g.publish()
	g.Guard.Leave()
}

// change runs a method that may change published values.
func (g *Guarded) change(m *exclusive.Method, f func() error) error {
	if err := g.Guard.Enter(m); err != nil {
		return err
	}
	defer g.leave()
	return f()
}

// NumEnvs implements [agents.Binder].
func (g *Guarded) NumEnvs() int { return g.published.Load().numEnvs }

// LearningRate implements [agents.Complete].
func (g *Guarded) LearningRate() float64 { return g.published.Load().rate }

// Hyperparameters implements [agents.Tunable].
func (g *Guarded) Hyperparameters() map[string]float64 {
	return maps.Clone(g.published.Load().hyperparameters)
}

// Settings returns what the function settings of [Guard] returned. It must not be changed.
func (g *Guarded) Settings() any { return g.published.Load().settings }

// Act implements [agents.Agent].
func (g *Guarded) Act(in agents.Observation) ([]float32, error) {
	if err := g.Guard.Enter(&callAct); err != nil {
		return nil, err
	}
	defer g.Guard.Leave()
	actions, err := g.Complete.Act(in)
	if err == nil && g.published.Load().numEnvs == 0 { // this call has fixed it
		g.publish()
	}
	return actions, err
}

// Record implements [agents.Agent].
func (g *Guarded) Record(t agents.Transition) error {
	if err := g.Guard.Enter(&callRecord); err != nil {
		return err
	}
	defer g.Guard.Leave()
	return g.Complete.Record(t)
}

// Ready implements [agents.Agent]. It is false after Close.
func (g *Guarded) Ready() bool {
	if !g.Guard.TryEnter(&callReady) {
		return false
	}
	defer g.Guard.Leave()
	return g.Complete.Ready()
}

// Update implements [agents.Agent].
func (g *Guarded) Update(ctx context.Context) error {
	return g.change(&callUpdate, func() error { return g.Complete.Update(ctx) })
}

// Wait implements [agents.Overlapping].
func (g *Guarded) Wait(ctx context.Context) error {
	return g.change(&callWait, func() error { return g.Complete.Wait(ctx) })
}

// SetTraining implements [agents.Agent]. After Close it changes nothing.
func (g *Guarded) SetTraining(on bool) (was bool) {
	if !g.Guard.TryEnter(&callSetTraining) {
		return g.training.Load()
	}
	if g.training.Swap(on) == on { // no published value changes
		defer g.Guard.Leave()
	} else {
		defer g.leave()
	}
	return g.Complete.SetTraining(on)
}

// SetStochastic implements [agents.Stochastic]. After Close it changes nothing.
func (g *Guarded) SetStochastic(on bool) {
	if g.Guard.TryEnter(&callSetStochastic) {
		defer g.Guard.Leave()
		g.Complete.SetStochastic(on)
	}
}

// Tracked implements [agents.Tracker]. f may call methods of the agent. After Close there are no figures.
func (g *Guarded) Tracked(f func(tag string, value float64)) {
	type figure struct {
		tag   string
		value float64
	}
	var all []figure
	if g.Guard.TryEnter(&callTracked) {
		g.Complete.Tracked(func(tag string, value float64) { all = append(all, figure{tag, value}) })
		g.Guard.Leave()
	}
	for _, x := range all {
		f(x.tag, x.value)
	}
}

// Bind implements [agents.Binder].
func (g *Guarded) Bind(numEnvs int) error {
	return g.change(&callBind, func() error { return g.Complete.Bind(numEnvs) })
}

// SetHyperparameters implements [agents.Tunable].
func (g *Guarded) SetHyperparameters(values map[string]float64) error {
	return g.change(&callSetHyperparameters, func() error { return g.Complete.SetHyperparameters(values) })
}

// Plan implements [agents.Planner]. After Close it changes nothing.
func (g *Guarded) Plan(timesteps int) (notes []string) {
	if !g.Guard.TryEnter(&callPlan) {
		return nil
	}
	defer g.leave()
	return g.Complete.Plan(timesteps)
}

// Snapshot implements [agents.Snapshotter].
func (g *Guarded) Snapshot(opt agents.SnapshotOptions) (snap *checkpoint.Snapshot, err error) {
	err = g.change(&callSnapshot, func() error {
		snap, err = g.Complete.Snapshot(opt)
		return err
	})
	return snap, err
}

// Restore implements [agents.Snapshotter].
func (g *Guarded) Restore(snap *checkpoint.Snapshot) error {
	return g.change(&callRestore, func() error { return g.Complete.Restore(snap) })
}

// Reseed implements [agents.Reseeder].
func (g *Guarded) Reseed(seed int64) error {
	return g.change(&callReseed, func() error { return g.Complete.Reseed(seed) })
}

// ResetHidden implements [agents.Recurrent]. After Close it changes nothing.
func (g *Guarded) ResetHidden(environments ...int) {
	if g.Guard.TryEnter(&callResetHidden) {
		defer g.Guard.Leave()
		g.Complete.ResetHidden(environments...)
	}
}

// Close implements [agents.Agent]. If a method is running, Close returns an error and closes nothing. It does not
// wait, because the method may be waiting for the caller of Close.
func (g *Guarded) Close() error {
	first, err := g.Guard.EnterClose()
	if !first {
		return err
	}
	defer g.Guard.LeaveClose()
	return g.Complete.Close()
}
